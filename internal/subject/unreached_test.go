package subject

import (
	"strings"
	"testing"
)

// What drivers of databases write when nobody serves leads to a need.
func TestUnreached(t *testing.T) {
	for line, want := range map[string]string{
		"failed to connect to `user=root database=`: 127.0.0.1:5432 (localhost): dial error: dial tcp 127.0.0.1:5432: connect: connection refused": "127.0.0.1:5432 needs: {db: {postgres: {}}}",
		"dial tcp [::1]:6379: connect: connection refused":                                     "[::1]:6379 needs: {cache: {redis: {}}}",
		"nats: dial tcp localhost:4222: connect: connection refused":                           "localhost:4222 needs: {bus: {nats: {}}}",
		"/tmp/.s.PGSQL.5432 (/tmp): dial error: dial unix: connect: no such file or directory": "/tmp/.s.PGSQL.5432 needs: {db: {postgres: {}}}",
		"Get \"http://users:8081/\": dial tcp 10.0.0.1:8081: connect: connection refused":      "10.0.0.1:8081 needs: {NAME: {command:",
		"panic: open config.yaml: no such file or directory":                                   "",
		"dial tcp 127.0.0.1:4317: connect: connection refused\n\tpanic: nil map":               "",
		"listening on 127.0.0.1:5432":                                                          "",
		"2026/11/29 06:00:00 connection refused by policy":                                     "",
	} {
		where, cure := unreached("\t" + line)
		if got := strings.TrimSpace(where + " " + cure); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s:\n got %q\nwant %q", line, got, want)
		}
	}
}
