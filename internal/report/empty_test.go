package report

import (
	"io"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// A run of which nothing is known is shown in every form without a panic.
func TestNothingMeasured(t *testing.T) {
	setting := dyno.Setting{{Factor: "env.GOGC", Value: "50"}}
	limits := []dyno.Threshold{{Name: "p99", Op: "<", Literal: "1s"}, {Name: "sec_per_op", Op: "<", Literal: "1s"}, {Name: "p99", Change: true, Op: "<", Literal: "5%"}}
	failed := &dyno.Result{Trial: dyno.Trial{N: 1, Block: 1}, Err: "exited"}
	other := &dyno.Result{Trial: dyno.Trial{N: 2, Block: 1, Setting: setting}, Err: "exited"}
	empty := &dyno.Result{Trial: dyno.Trial{N: 3, Block: 2}}
	bench := &dyno.Result{Trial: dyno.Trial{N: 4, Block: 2}, Benchmarks: []dyno.Benchmark{{Package: "p", Name: "X", Err: "panic"}}}
	survey := &dyno.Result{Trial: dyno.Trial{N: 5, For: dyno.ForSurvey, Setting: setting}, Surveys: []dyno.Survey{{Package: "p", Name: "Y", Err: "panic"}}}
	for name, rs := range map[string][]*dyno.Result{
		"none": nil, "failed": {failed}, "both failed": {failed, other}, "empty": {empty}, "bench": {bench}, "survey": {survey, bench, other},
	} {
		for _, kind := range []compare.Kind{compare.OfService, compare.OfBenchmarks} {
			e := &dyno.Experiment{Name: "x", Thresholds: limits}
			f := &findings.Findings{Plan: e, Results: rs}
			if kind == compare.OfBenchmarks {
				e.Bench = &dyno.Bench{}
				f.Table = compare.TabulateBenchmarks(e, rs)
			} else {
				f = findings.Unwritten(e, rs)
			}
			for _, d := range []compare.Demands{{}, {Strict: true, NotWorse: true}} {
				if r := f.Refuse(d); r != nil {
					tables.Refused(f.Table, r)
				}
			}
			for _, format := range Formats(kind) {
				if format == "html" || format == "hgrm" { // of a run directory; of a run that measured something
					continue
				}
				t.Run(name+"/"+string(kind)+"/"+format, func(t *testing.T) {
					if err := Write(io.Discard, f, format, layout.Options{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}
