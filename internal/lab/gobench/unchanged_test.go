package gobench

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// What is the same code in two revisions is left out, and packages that have nothing else are not built.
func TestLeaveOut(t *testing.T) {
	revisions := func(change func(*dyno.Experiment)) *dyno.Experiment {
		e := &dyno.Experiment{Seed: new(uint64(1)), Factors: dyno.Factors{{Name: "rev", Levels: []string{"a", "b"}}}, Bench: &dyno.Bench{Blocks: 2}}
		if change != nil {
			change(e)
		}
		return e
	}
	all := []string{"Other/sub", "Same", "Same2"}
	for _, c := range []struct {
		name     string
		change   func(*dyno.Experiment)
		found    map[string]Functions
		err      error
		measured []string
		left     map[string][]string
		warned   string
	}{
		{"some", nil, map[string]Functions{"x": {Same: []string{"BenchmarkSame"}, Other: []string{"BenchmarkOther"}}, "y": {Same: []string{"BenchmarkSame2"}}}, nil,
			[]string{"Other/sub"}, map[string][]string{"x": {"Same"}, "y": {"Same2"}}, ""},
		{"all", nil, map[string]Functions{"x": {Same: []string{"BenchmarkSame", "BenchmarkOther"}}, "y": {Same: []string{"BenchmarkSame2"}}}, nil,
			nil, map[string][]string{"x": {"Same", "Other"}, "y": {"Same2"}}, ""},
		{"all that match", func(e *dyno.Experiment) { e.Bench.Match = "Same/x" },
			map[string]Functions{"x": {Same: []string{"BenchmarkSame"}, Other: []string{"BenchmarkOther"}}, "y": {Same: []string{"BenchmarkSame2"}}}, nil,
			nil, map[string][]string{"x": {"Same"}, "y": {"Same2"}}, ""},
		{"none", nil, map[string]Functions{"x": {Other: []string{"BenchmarkSame"}}}, nil, all, nil, ""},
		{"unknown", nil, nil, errors.New("data.txt differs"), all, nil, "data.txt differs"},
		{"all are wanted", func(e *dyno.Experiment) { e.Bench.All = true }, map[string]Functions{"x": {Same: []string{"BenchmarkSame"}}}, nil, all, nil, ""},
		{"a variable differs, too", func(e *dyno.Experiment) {
			e.Factors = append(e.Factors, dyno.Factor{Name: "W", Levels: []string{"1", "2"}})
		}, map[string]Functions{"x": {Same: []string{"BenchmarkSame"}}}, nil, all, nil, ""},
		{"something is prepared", func(e *dyno.Experiment) { e.Subject.Prepare = "true" }, map[string]Functions{"x": {Same: []string{"BenchmarkSame"}}}, nil, all, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeBinaries{packages: map[string][]string{"": {"x", "y"}}, benches: []fakeBench{
				{name: "Same", sec: 1e-6, pkg: "x"}, {name: "Other/sub", sec: 1e-6, pkg: "x"}, {name: "Same2", sec: 1e-6, pkg: "y"},
			}}
			rs, err := runBench(t, f, revisions(c.change), func(b *Bencher) {
				b.SameCode = func(_ context.Context, settings [][]*subject.TestPackage) (map[string]Functions, error) {
					if len(settings) != 2 || len(settings[0]) != 2 || settings[0][0] == settings[1][0] {
						t.Errorf("asked for %v", settings)
					}
					return c.found, c.err
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			var measured []string
			for _, r := range rs {
				for _, b := range r.Benchmarks {
					if !slices.Contains(measured, b.Name) {
						measured = append(measured, b.Name)
					}
				}
			}
			slices.Sort(measured)
			if !slices.Equal(measured, c.measured) {
				t.Errorf("measured %v, want %v", measured, c.measured)
			}
			if !maps.EqualFunc(rs[0].SameCode, c.left, slices.Equal) || rs[1].SameCode != nil {
				t.Errorf("left out %v and %v, want %v", rs[0].SameCode, rs[1].SameCode, c.left)
			}
			if got := rs[0].Warnings; (len(got) > 0) != (c.warned != "") || len(got) > 0 && !strings.Contains(got[0].Text, c.warned) {
				t.Errorf("warned of %q, want %q", got, c.warned)
			}
		})
	}
}
