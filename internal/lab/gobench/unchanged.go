package gobench

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// Functions are the benchmark functions of a package that all settings have, by name.
type Functions struct {
	Same  []string // the same code in all settings
	Other []string
}

// leaveOut finds the benchmarks that are the same code in all settings, which cannot have changed.
func (w *Run) leaveOut(ctx context.Context) error {
	if w.SameCode == nil || w.e.Bench.All || !w.onlyRevisions() {
		return nil
	}
	w.step(Step{Phase: "compare code"})
	var packages [][]*subject.TestPackage
	for _, s := range w.sides {
		packages = append(packages, s.packages)
	}
	found, err := w.SameCode(ctx, packages)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		w.sides[0].warnings.Add(dyno.WarnSameCode, "benchmarks are run that cannot have changed, as dyno does not know which they are: %v", err)
		return nil
	}
	w.same = map[string][]string{}
	for path, f := range found {
		same, other := w.matching(f.Same), w.matching(f.Other)
		if len(same) == 0 {
			continue
		}
		w.same[path] = same
		for _, s := range w.sides {
			s.packages = slices.DeleteFunc(s.packages, func(p *subject.TestPackage) bool { return p.ImportPath == path && len(other) == 0 })
		}
	}
	return nil
}

// onlyRevisions reports whether settings differ in nothing but the source.
func (w *Run) onlyRevisions() bool {
	others := func(s *side) string {
		return slices.DeleteFunc(slices.Clone(s.trial.Setting), func(l dyno.Level) bool { return dyno.OfSource(l.Factor) }).String()
	}
	for _, s := range w.sides[1:] {
		if others(s) != others(w.sides[0]) || s.packages[0] == w.sides[0].packages[0] || s.packages[0].Go != w.sides[0].packages[0].Go {
			return false
		}
	}
	return len(w.sides) > 1 && w.e.Subject.Prepare == ""
}

// matching returns those of functions that Bench.Match may mean.
func (w *Run) matching(functions []string) (matching []string) {
	first, _, _ := strings.Cut(w.e.Bench.Match, "/")
	means, err := regexp.Compile(first)
	for _, f := range functions {
		if err != nil || means.MatchString(f) || strings.Contains(w.e.Bench.Match, "|") && strings.Contains(w.e.Bench.Match, "/") {
			matching = append(matching, strings.TrimPrefix(f, "Benchmark"))
		}
	}
	return matching
}
