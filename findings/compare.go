package findings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// ErrBenchmarks is the error of Compare for runs of benchmarks.
var ErrBenchmarks = errors.New("benchmarks of two runs were not measured side by side")

// Compare returns a table for each setting that both runs have. The first run is the baseline.
func Compare(first, second *Dir) ([]*Table, error) {
	a, b := first.Path, second.Path
	if first.Run.Plan.Bench != nil || second.Run.Plan.Bench != nil {
		return nil, fmt.Errorf("%w (consider: dyno bench --vary rev=a,b, or dyno compare %s %s)", ErrBenchmarks, filepath.Join(a, BenchFile), filepath.Join(b, BenchFile))
	}
	names := RunNames(a, b)
	runs := []*Dir{first, second}
	results := [][]*dyno.Result{first.Results(), second.Results()}
	e := first.Run.Plan
	var tables []*Table
	for _, s := range e.Levels() {
		has := func(t dyno.Setting) bool { return t.String() == s.String() }
		if !slices.ContainsFunc(second.Run.Plan.Levels(), has) {
			continue
		}
		opt := compare.Options{Name: e.Name, Negligible: e.Negligible, Separate: true}
		var both []*dyno.Result
		profiles := map[string][]profiles.Profiled{}
		for i, name := range names {
			labelled := append(dyno.Setting{{Factor: "run", Value: name}}, s...)
			opt.Settings = append(opt.Settings, labelled)
			rs := slices.DeleteFunc(slices.Clone(results[i]), func(r *dyno.Result) bool { return !has(r.Trial.Setting) })
			both = append(both, compare.Label(rs, name)...)
			for kind, ps := range profilesByKind(&opt, runs[i], rs) {
				for _, p := range ps {
					p.Setting = labelled.String()
					profiles[kind] = append(profiles[kind], p)
				}
			}
		}
		addCauses(&opt, profiles, opt.Settings[0].String())
		t := compare.Tabulate(both, opt)
		t.Apart()
		t.Doubts = slices.Concat(t.Doubts, differences(first, second), dirDoubts(first, second))
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("%s and %s have no setting in common: %q and %q", a, b, first.Run.Settings, second.Run.Settings)
	}
	return tables, nil
}

// differences returns how two experiments differ, apart from what they vary.
func differences(a, b *Dir) (ds []compare.Doubt) {
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"subject", a.Run.Plan.Subject, b.Run.Plan.Subject},
		{"load", a.Run.Plan.Load, b.Run.Plan.Load},
		{"host", a.Run.Host, b.Run.Host},
	} {
		x, y := keys(part.a), keys(part.b)
		of := slices.Sorted(maps.Keys(x))
		for _, k := range slices.Sorted(maps.Keys(y)) {
			if _, both := x[k]; !both {
				of = append(of, k)
			}
		}
		for _, k := range of {
			if x[k] != y[k] {
				ds = append(ds, compare.Doubt{Kind: dyno.WarnRunsDiffer, Said: []string{part.name + "." + k, x[k], y[k]}})
			}
		}
	}
	return ds
}

func keys(v any) map[string]string {
	data, err := json.Marshal(v)
	var raw map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &raw)
	}
	if err != nil {
		panic(err) // it came from such JSON
	}
	text := map[string]string{}
	for k, r := range raw {
		text[k] = string(r)
	}
	return text
}

// RunNames returns the last elements of two paths, or the paths if their last elements are equal.
func RunNames(a, b string) []string {
	names := []string{filepath.Base(filepath.Clean(a)), filepath.Base(filepath.Clean(b))}
	if names[0] == names[1] {
		return []string{a, b}
	}
	return names
}
