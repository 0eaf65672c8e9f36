package check

import (
	"maps"
	"regexp"
	"slices"

	"github.com/dynolab/dyno"
)

func trialUses(t *dyno.Trial, arg string) bool {
	texts := slices.AppendSeq(append(slices.Clone(t.Subject.Args), t.Subject.Addr), maps.Values(t.Subject.Env))
	texts = slices.AppendSeq(texts, maps.Values(t.Subject.Files))
	return slices.ContainsFunc(texts, func(s string) bool { return usesArg(s, arg) }) || Uses(&t.Load, arg)
}

// Uses reports whether any step or the command of the load uses {{.arg.NAME}}.
func Uses(l *dyno.Load, arg string) bool {
	if l.GRPC != nil && grpcUses(l.GRPC, arg) || usesArg(l.Command, arg) || slices.ContainsFunc(l.Args, func(s string) bool { return usesArg(s, arg) }) {
		return true
	}
	for s := range l.Client.Requests() {
		texts := slices.AppendSeq([]string{s.Path, s.Body}, maps.Values(s.Headers))
		if slices.ContainsFunc(texts, func(s string) bool { return usesArg(s, arg) }) {
			return true
		}
	}
	return false
}

// usesArg reports whether a template uses .arg.NAME, or .arg as a whole.
func usesArg(text, name string) bool {
	for _, m := range argUse.FindAllStringSubmatch(text, -1) {
		if m[1] == name || m[1] == "" {
			return true
		}
	}
	return false
}

var argUse = regexp.MustCompile(`\.arg\b(?:\.([A-Za-z_][A-Za-z0-9_]*))?`)

func grpcUses(g *dyno.GRPC, arg string) bool {
	return slices.ContainsFunc(slices.AppendSeq(slices.Clone(g.Data), maps.Values(g.Metadata)), func(s string) bool { return usesArg(s, arg) })
}
