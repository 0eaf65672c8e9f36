package gobench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/subject"
)

// build finds the test packages that all settings have.
func (w *Run) build(ctx context.Context) error {
	w.step(Step{Phase: "build"})
	in := map[string]int{} // settings that have a package
	for _, s := range w.sides {
		found, err := w.Tests(ctx, s.trial.Subject, w.e.Bench.Packages)
		if err != nil {
			return fmt.Errorf("find the tests of %s under %s: %w", strings.Join(w.e.Bench.Packages, " "), s.trial.Setting.Label(), err)
		}
		s.packages = found
		for _, p := range found {
			in[p.ImportPath]++
		}
	}
	for _, s := range w.sides {
		s.packages = slices.DeleteFunc(s.packages, func(p *subject.TestPackage) bool {
			n := in[p.ImportPath]
			if n < len(w.sides) {
				s.warnings.AddOf(dyno.WarnLeftOut, p.ImportPath, "package %s is left out: it has tests in %d of %d settings", p.ImportPath, n, len(w.sides))
			}
			return n < len(w.sides)
		})
	}
	if len(w.sides[0].packages) == 0 {
		return &dyno.PlanError{
			Msg: fmt.Sprintf("no package of %s has tests in every setting", strings.Join(w.e.Bench.Packages, " ")),
			Key: []string{"bench", "packages"},
		}
	}
	return nil
}

// pair finds the benchmarks that every setting has, and leaves out the others.
func (w *Run) pair() error {
	paired := map[*benchmark]bool{}
	for _, first := range w.sides[0].leaves {
		p := &pairing{pkg: first.Package, name: first.Name}
		for _, s := range w.sides {
			// If two have one name with a "*" in it, the first is taken.
			i := slices.IndexFunc(s.leaves, func(l *benchmark) bool { return l.Package == p.pkg && l.Name == p.name })
			if i >= 0 && !paired[s.leaves[i]] {
				p.in = append(p.in, s.leaves[i])
			}
		}
		if len(p.in) < len(w.sides) {
			continue
		}
		w.pairings = append(w.pairings, p)
		for _, l := range p.in {
			paired[l] = true
		}
	}
	if len(w.pairings) == 0 {
		return w.noPair()
	}
	for _, s := range w.sides {
		var out []string
		s.leaves = slices.DeleteFunc(s.leaves, func(l *benchmark) bool {
			if !paired[l] {
				out = append(out, l.Printed)
			}
			return !paired[l]
		})
		if len(out) > 0 {
			s.warnings.Add(dyno.WarnLeftOut, "left out, as not every setting has them: %s", some(out))
		}
	}
	return nil
}

// noPair is the mistake of a plan that compares nothing, unless a test binary ended too early.
func (w *Run) noPair() error {
	if w.died != nil {
		return w.died
	}
	var names []string
	for _, s := range w.sides {
		names = append(names, s.names...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	matching := ""
	if match := w.e.Bench.Match; match != "." {
		matching = fmt.Sprintf(" that matches %q", match)
	}
	there := fmt.Sprintf(" (there are %s)", some(names))
	mistake := &dyno.PlanError{Msg: fmt.Sprintf("no benchmark%s is in every setting%s", matching, there), Key: []string{"bench", "match"}}
	if len(names) == 0 {
		mistake.Msg = fmt.Sprintf("there is no benchmark%s in %s", matching, strings.Join(w.e.Bench.Packages, " "))
		return mistake
	}
	for _, s := range w.sides {
		if level := levelOf(s.trial.Setting); level != "" && len(s.leaves) == 0 {
			mistake.Msg, mistake.Key = fmt.Sprintf("no benchmark has %q as an element of its name%s", level, there), []string{"vary", dyno.BenchFactor}
			return mistake
		}
	}
	return mistake
}

func some(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
