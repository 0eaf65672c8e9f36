package report

import (
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/stats"
)

// A versusOf is a comparison as a table has it.
type versusOf struct {
	ratio, half float64 // half the interval's width, as a share
	p           float64
	verdict     stats.Verdict
}

var (
	never  = versusOf{1, 0, 1, stats.Same} // differed
	little = versusOf{1.001, 0.004, 0.9, stats.Same}
	vague  = versusOf{0.995, 0.013, 0.41, stats.Unclear}
	slower = versusOf{1.031, 0.009, 0.00098, stats.Worse}
	faster = versusOf{0.53, 0.01, 0.00004, stats.Better}
)

// A benchTable is a table of benchmarks as tests write it: unit by unit.
type benchTable struct {
	Name                                      string
	Settings                                  []dyno.Setting
	Blocks, Comparisons                       int
	Seconds                                   float64
	Error, FalseChance, Negligible, Precision float64
	Looks                                     []int
	Rows                                      []benchmark
	Pitfalls                                  []pitfall.Found
	Notes                                     []string
	judged                                    []judgement
}

type benchmark struct {
	Package, Name, Err string // Err is what it says in every setting, or a fault of one
	Fault              *compare.Fault
	Blocks             int
	Settled            bool
	Units              []oneUnit
}

type oneUnit struct {
	Unit    string
	Better  int
	Centers []stats.Summary
	Versus  []compare.Versus
}

type judgement struct {
	name string
	compare.Judgement
}

// table makes the table that is reported on.
func (b *benchTable) table() *compare.Table {
	t := &compare.Table{Kind: compare.OfBenchmarks, Name: b.Name, Blocks: b.Blocks, Negligible: b.Negligible}
	for _, note := range b.Notes {
		t.Doubts = append(t.Doubts, compare.Doubt{Said: []string{note}})
	}
	t.Elapsed, t.Comparisons, t.FalseChance, t.Error = time.Duration(b.Seconds*1e9), b.Comparisons, b.FalseChance, b.Error
	t.Precision, t.Looks, t.Pitfalls = b.Precision, b.Looks, b.Pitfalls
	for i, s := range b.Settings {
		t.Settings = append(t.Settings, compare.Setting{Setting: s, Baseline: i == 0, Values: map[string]compare.Summary{}, Versus: map[string]compare.Versus{}})
	}
	for _, r := range b.Rows {
		x := &compare.Benchmark{Package: r.Package, Name: r.Name, Blocks: r.Blocks, Settled: r.Settled}
		switch {
		case r.Fault != nil:
			x.Faults = []compare.Fault{*r.Fault}
		case r.Err != "":
			for i := range b.Settings {
				x.Faults = append(x.Faults, compare.Fault{Setting: i, Kind: compare.FaultFailed, Said: r.Err})
			}
		}
		for _, u := range r.Units {
			row := compare.Row{Metric: dyno.Metric{Name: u.Unit, Better: u.Better}, Key: x.Full() + " " + u.Unit, Benchmark: x}
			x.Units = append(x.Units, row)
			for i, c := range u.Centers {
				if c.N > 0 {
					t.Settings[i].Values[row.Key] = compare.Summary{Center: c.Center, Lo: c.Lo, Hi: c.Hi, Trials: make([]float64, c.N)}
				}
			}
			for i, v := range u.Versus {
				t.Settings[i+1].Versus[row.Key] = v
			}
		}
		for _, j := range b.judged {
			if j.name == r.Name {
				j.Benchmark = x
				t.Thresholds = append(t.Thresholds, j.Judgement)
			}
		}
		t.Benchmarks, t.Rows = append(t.Benchmarks, x), append(t.Rows, x.Units...)
	}
	return t
}

// benchUnit makes a unit of a median and comparisons with it.
func benchUnit(name string, base float64, vs ...versusOf) oneUnit {
	m, _ := dyno.MetricByName(name)
	around := func(x, share float64) stats.Summary {
		return stats.Summary{N: 18, Center: x, Lo: x * (1 - share), Hi: x * (1 + share)}
	}
	u := oneUnit{Unit: name, Better: m.Better, Centers: []stats.Summary{around(base, 0.02)}}
	if name == "B/s" {
		u.Better = 1
	}
	for _, v := range vs {
		c := stats.Comparison{Ratio: v.ratio, Lo: v.ratio - v.half, Hi: v.ratio + v.half, Diff: base * (v.ratio - 1), P: v.p, Adjusted: v.p, Tests: 8, N: 18, SD: v.half * 2, DF: 17, Method: "signed ranks"}
		if base == 0 {
			c.Ratio, c.Lo, c.Hi = math.NaN(), math.NaN(), math.NaN()
		}
		if v == never {
			u.Centers[0] = around(base, 0)
		}
		u.Centers = append(u.Centers, around(base*v.ratio, v.half))
		u.Versus = append(u.Versus, compare.Versus{Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, P: v.p, Diff: c.Diff, Comparison: c, Verdict: v.verdict})
	}
	return u
}

func benchRow(name string, units ...oneUnit) benchmark {
	return benchmark{Package: "example.com/json", Name: name, Blocks: 18, Settled: true, Units: units}
}

func revs(names ...string) (out []dyno.Setting) {
	for _, n := range names {
		out = append(out, dyno.Setting{{Factor: "rev", Value: n}})
	}
	return out
}

// fewBenchmarks has every outcome of two settings.
func fewBenchmarks() *benchTable {
	fromZero := benchUnit("allocs/op", 0, never)
	fromZero.Centers[1] = stats.Summary{N: 18, Center: 2, Lo: 2, Hi: 2}
	fromZero.Versus[0].Diff, fromZero.Versus[0].Comparison.SD = 2, 0
	fromZero.Versus[0].P, fromZero.Versus[0].Verdict = 0.00006, stats.Worse
	failed := benchRow("Unmarshal/deep")
	failed.Err = "--- FAIL: BenchmarkUnmarshal/deep\n    decode_test.go:12: \x1b[31munexpected end\x1b[0m"
	failed.Blocks = 0
	vagueRow := benchRow("Scanner", benchUnit("sec/op", 12.4e-9, vague), benchUnit("B/op", 0, never), benchUnit("allocs/op", 0, never))
	vagueRow.Blocks, vagueRow.Settled = 88, false
	return &benchTable{
		Name: "json", Settings: revs("main", "HEAD"), Blocks: 88, Seconds: 272, Error: 0.001, Comparisons: 7, FalseChance: 0.007, Negligible: 0.01, Precision: 0.01,
		Rows: []benchmark{
			benchRow("CodeMarshal", benchUnit("sec/op", 3.412e-3, slower), benchUnit("B/op", 1.2e6, never), benchUnit("allocs/op", 1, never), benchUnit("B/s", 5e8, versusOf{0.97, 0.009, 0.00098, stats.Worse})),
			benchRow("Valid", benchUnit("sec/op", 41.2e-6, little), benchUnit("B/op", 48, never), benchUnit("allocs/op", 1, never)),
			vagueRow,
			benchRow("Pipeline", benchUnit("sec/op", 18.1e-6, faster), benchUnit("B/op", 4096, versusOf{1.125, 0, 0.00006, stats.Worse}), fromZero, benchUnit("tokens/op", 20, never)),
			failed,
			benchRow("Encode/size=1<<20|map[string]*T/with_a_name_that_does_not_end", benchUnit("sec/op", 0.25e-9, versusOf{2.4, 0.3, 0.00006, stats.Worse})),
		},
		Pitfalls: []pitfall.Found{
			{Kind: pitfall.Empty, Package: "example.com/json", Name: "Encode/size=1<<20|map[string]*T/with_a_name_that_does_not_end", Sec: 0.25e-9, Setting: -1},
			setUp("CodeMarshal", 2e-3), setUp("Valid", 2e-3), setUp("Scanner", 2e-3), setUp("Pipeline", 2e-3), setUp("Unmarshal/deep", 3e-3),
			{Kind: pitfall.SetUp, Package: "elsewhere", Name: "Other", Once: 1e-3, Share: 0.1, FewN: 10},
		},
		Notes: []string{"the CPU was shared: 12% of the time was stolen"},
	}
}

// threeSettings are benchmarks of two packages.
func threeSettings() *benchTable {
	t := &benchTable{
		Settings: revs("v1.0", "v1.1", "v1.2"), Blocks: 14, Seconds: 41, Error: 0.001, Comparisons: 7, FalseChance: 0.007, Negligible: 0.01, Precision: 0.01,
		Rows: []benchmark{
			benchRow("Encode", benchUnit("sec/op", 2e-6, little, slower), benchUnit("p99-sec", 1e-5, little, little)),
			benchRow("Decode", benchUnit("sec/op", 5e-6, faster, vague), benchUnit("hits/op", 3, slower, little)),
			benchRow("Decode", benchUnit("sec/op", 5e-6, little, little)),
		},
	}
	t.Rows[1].Package = "example.com/json/v2"
	t.Rows[2].Package = "example.com/json/v2"
	t.Rows[2].Name = "Copy"
	return t
}

// unknown is a table in which nothing is known.
func unknown() *benchTable {
	nan := math.NaN()
	u := benchUnit("sec/op", 1e-6, versusOf{nan, nan, nan, stats.Unclear})
	u.Centers = []stats.Summary{{Center: nan, Lo: nan, Hi: nan}, {Center: nan, Lo: nan, Hi: nan}}
	u.Versus[0] = compare.Versus{Ratio: nan, Lo: nan, Hi: nan, Diff: nan, P: nan, Verdict: stats.Unclear, Comparison: stats.Comparison{N: 1}}
	return &benchTable{Settings: revs("a", "b"), Seconds: -1, Error: 0.001, Comparisons: 7, FalseChance: 0.007, Negligible: 0.01, Blocks: 1, Rows: []benchmark{{Package: "p", Name: "X", Blocks: 1, Units: []oneUnit{u}}}}
}

// judged adds thresholds of every outcome.
func judged(t *benchTable) *benchTable {
	for _, x := range []struct {
		name, threshold string
		outcome         compare.Outcome
		value, half     float64
		reason          string
	}{
		{"CodeMarshal", "change(sec_per_op) < 2%", compare.Failed, 0.031, 0.009, ""},
		{"Valid", "change(sec_per_op) < 2%", compare.Passed, 0.001, 0.004, ""},
		{"Scanner", "change(sec_per_op) < 2%", compare.Unclear, 0.011, 0.013, "the interval reaches across the limit"},
		{"Scanner", "sec_per_op < 10ns", compare.Failed, 12.4e-9, 1e-10, ""},
	} {
		th, err := dyno.ParseThreshold(x.threshold)
		if err != nil {
			panic(err)
		}
		j := judgement{x.name, compare.Judgement{Threshold: th, Metric: "sec/op", Setting: 1, Outcome: x.outcome, Value: x.value, Lo: x.value - x.half, Hi: x.value + x.half, Trials: 18}}
		if x.reason != "" {
			j.Reasons = []compare.Reason{{Kind: compare.ReasonUnknown, Said: x.reason}}
		}
		t.judged = append(t.judged, j)
	}
	return t
}

func benchTables() map[string]*benchTable {
	one := fewBenchmarks()
	one.Settings = nil
	for i := range one.Rows {
		for n := range one.Rows[i].Units {
			u := &one.Rows[i].Units[n]
			u.Centers, u.Versus = u.Centers[:1], nil
		}
	}
	one.Settings = []dyno.Setting{nil}
	still := fewBenchmarks()
	still.Rows, still.Pitfalls, still.Notes, still.Blocks = still.Rows[1:2], nil, nil, 18
	long := fewBenchmarks()
	long.Settings = []dyno.Setting{{{Factor: "build", Value: "-gcflags=all=-B"}}, {{Factor: "build", Value: "-gcflags=all=-d=ssa/check_bce/debug=1"}}}
	return map[string]*benchTable{
		"bench-few": judged(fewBenchmarks()), "bench-three": threeSettings(), "bench-unknown": unknown(), "bench-one": one,
		"bench-still": still, "bench-long": long, "bench-none": {Settings: revs("a", "b")},
	}
}

// setUp is a pitfall of a benchmark of package json.
func setUp(name string, once float64) pitfall.Found {
	return pitfall.Found{Kind: pitfall.SetUp, Package: "example.com/json", Name: name, Call: "load(1000)", Once: once, Share: 0.2, FewN: 1000, Setting: -1}
}
