// Package help lays out what --help prints: commands and flags in groups, topics, and the name
// that an unknown one was most likely meant to be.
package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
)

// commands are the groups of commands, in order.
var commands = []struct {
	title string
	names []string
}{
	{"Measure", []string{"run", "tune", "capacity", "bench", "bisect", "track", "upgrade", "load", "watch", "agent", "demo"}},
	{"Read", []string{"report", "slow", "compare", "predict", "receipt", "profile", "gc", "view"}},
	{"Prepare", []string{"init", "image", "schema", "certify", "man"}},
}

// flags are the groups of flags, in order. A flag that is in none is of the command itself.
var flags = []struct {
	title string
	names []string
}{
	{"Comparison", []string{"vary", "pair", "aa", "arg", "repeat", "blocks", "within", "turn", "alone", "relink", "awake", "allow-overridden", "slice", "overhead", "seed", "primary", "negligible", "all", "precision", "error", "baseline", "cache", "resume", "more"}},
	{"Service", []string{"addr", "ready", "ready-timeout", "env", "limit", "on", "image", "deployment", "go", "rev", "build", "prepare", "copy", "inject", "idle", "memory"}},
	{"Load", []string{"concurrency", "rate", "arrival", "max-in-flight", "requests", "duration", "warmup", "path", "method", "header", "body", "data", "targets", "replay", "log-format", "speed", "replay-secrets", "grpc-method", "grpc-data", "grpc-metadata", "grpc-descriptors", "grpc-authority", "grpc-connections", "grpc-messages", "load-program", "load-arg", "command",
		"timeout", "connect-timeout", "read-timeout", "deadline", "max-failures", "http", "insecure", "load"}},
	{"Probes and profiles", []string{"probe", "every", "profile", "profile-repeat", "profile-heap", "trace", "why-slow", "trace-repeat", "pprof", "expvar", "prometheus", "metrics", "keep-requests", "max-requests-kept", "otlp"}},
	{"Result", []string{"out", "format", "json", "full", "threshold", "fail-worse", "strict"}},
}

// owners are the commands that a flag of this name is of itself, in none of the groups.
var owners = map[string][]string{
	"requests": {"gc", "report", "predict", "check"}, "baseline": {}, "duration": {"watch", "bench", "predict", "check"}, "addr": {"view"}, "limit": {"predict"},
}

// Set groups the commands of root and the flags of each, and adds dyno man and the topics.
func Set(root *cobra.Command) {
	root.AddCommand(manual())
	for _, g := range commands {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, name := range g.names {
			if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
				cmd.GroupID = g.title
			}
		}
	}
	root.AddCommand(topics()...)
	cobra.AddTemplateFunc("grouped", grouped)
	const plain = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), plain, "{{grouped .}}"))
}

// grouped are the flags of a command; those of its own come first.
func grouped(cmd *cobra.Command) string {
	taken := map[string]bool{}
	set := func(names []string) *pflag.FlagSet {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SortFlags = false
		for _, name := range names {
			f := cmd.LocalFlags().Lookup(name)
			if f == nil || f.Hidden || taken[name] || slices.Contains(owners[name], cmd.Name()) {
				continue
			}
			taken[name] = true
			fs.AddFlag(f)
		}
		return fs
	}
	var parts []string
	for _, g := range flags {
		if fs := set(g.names); fs.HasFlags() {
			parts = append(parts, g.title+":\n"+fs.FlagUsages())
		}
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !taken[f.Name] {
			own.AddFlag(f)
		}
	})
	return strings.TrimRight("Flags:\n"+own.FlagUsages()+"\n"+strings.Join(parts, "\n"), "\n")
}

// Meant is the flag or command that an unknown one was most likely meant to be, in brackets, or "".
func Meant(cmd *cobra.Command, word string) string {
	var names []string
	if !strings.HasPrefix(word, "-") {
		for _, c := range cmd.Root().Commands() {
			names = append(names, c.Name())
		}
	} else {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	}
	if near := dyno.Nearest(word, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
