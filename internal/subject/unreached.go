package subject

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	refused  = regexp.MustCompile(`dial tcp (\S+:([0-9]+)): connect: connection refused`) // of package net
	noSocket = regexp.MustCompile(`(\S*/\.s\.PGSQL\.([0-9]+)).*no such file or directory`)
)

// servers are the ports of servers that dyno can start: their kind, and a name.
var servers = map[string]struct{ kind, name string }{
	"5432": {"postgres", "db"}, "6379": {"redis", "cache"}, "4222": {"nats", "bus"},
}

// unreached says what a program that ended could not connect to, by its own last line, and the cure; "" if that
// does not say so.
func unreached(lines string) (where, cure string) {
	last := lines[strings.LastIndexByte(strings.TrimRight(lines, "\n"), '\n')+1:] // what comes before may be of something it can do without
	m := refused.FindStringSubmatch(last)
	if m == nil {
		if m = noSocket.FindStringSubmatch(last); m == nil {
			return "", ""
		}
	}
	server, known := servers[m[2]]
	if !known {
		return m[1], "needs: {NAME: {command: [PROGRAM, ARGUMENT]}}, so that dyno starts what serves there"
	}
	return m[1], fmt.Sprintf("needs: {%s: {%s: {}}}, or --need %[1]s=%[2]s, and {{.needs.%[1]s.URL}} in the subject's environment", server.name, server.kind)
}
