package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// launch makes samples of a launch, in sec/op.
func launch(secs ...float64) (samples []dyno.Values) {
	for _, s := range secs {
		samples = append(samples, dyno.Values{{Metric: "sec/op", Value: s}})
	}
	return samples
}

// closeTo reports whether two numbers differ by rounding alone, or are both missing.
func closeTo(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

func TestBlockValue(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name        string
		base, other [][]dyno.Values
		logs        bool
		want        float64
	}{
		// Log ratios log 2, log 4, log 2: median log 2; second launch log 8.
		{"two launches", [][]dyno.Values{launch(1, 1, 2), launch(1)}, [][]dyno.Values{launch(2, 4, 4), launch(8)}, true, (math.Log(2) + math.Log(8)) / 2},
		// It is pairs that are compared: medians of each setting (2 and 3) would say 1.5.
		{"pairs", [][]dyno.Values{launch(1, 2, 3)}, [][]dyno.Values{launch(3, 2, 9)}, true, math.Log(3)},
		{"fewer samples", [][]dyno.Values{launch(1, 1, 1)}, [][]dyno.Values{launch(2, 2)}, true, math.Log(2)},
		{"even", [][]dyno.Values{launch(1, 1)}, [][]dyno.Values{launch(2, 8)}, true, math.Log(4)},
		{"a launch is missing", [][]dyno.Values{launch(1), launch(1)}, [][]dyno.Values{nil, launch(2)}, true, math.Log(2)},
		{"a sample has none", [][]dyno.Values{{nil, launch(1)[0]}}, [][]dyno.Values{launch(2, 3)}, true, math.Log(3)},
		{"not a number", [][]dyno.Values{launch(nan, 1)}, [][]dyno.Values{launch(2, 3)}, true, math.Log(3)},
		{"differences", [][]dyno.Values{launch(0, 1, 1)}, [][]dyno.Values{launch(2, 1, 2)}, false, 1},
		{"nothing", [][]dyno.Values{launch(1)}, [][]dyno.Values{nil}, true, nan},
	} {
		got := blockValue(&dyno.Benchmark{Launches: c.base}, &dyno.Benchmark{Launches: c.other}, "sec/op", c.logs)
		if !closeTo(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := blockValue(nil, &dyno.Benchmark{}, "sec/op", true); !math.IsNaN(got) {
		t.Errorf("of a setting that is missing: %v", got)
	}
	if got := BlockCenter(&dyno.Benchmark{Launches: [][]dyno.Values{launch(1, 3, 2), launch(6, 8), nil}}, "sec/op"); got != 4.5 {
		t.Errorf("a block's center is %v, want the mean of the medians 2 and 7", got)
	}
}

// aMetric makes the value of a unit in a block of setting i of a benchmark; a
// negative one is left out.
type aMetric func(block, i int) float64

func fixed(base, other float64) aMetric {
	return func(_, i int) float64 { return []float64{base, other}[i] }
}

// wobbling is a ratio that deviates by so much from block to block, and is its median.
func wobbling(base, ratio, by float64) aMetric {
	return func(block, i int) float64 {
		if i == 0 {
			return base
		}
		return base * ratio * math.Exp(by*float64(block%5-2)/2)
	}
}

// benchExperiment compares two revisions.
func benchExperiment() *dyno.Experiment {
	return &dyno.Experiment{Name: "x", Bench: &dyno.Bench{}, Factors: dyno.Factors{{Name: "rev", Levels: []string{"main", "HEAD"}}}}
}

// benchResults are blocks of two launches of three samples; of the k-th block from 1
// the benchmark X has the units given.
func benchResults(e *dyno.Experiment, blocks int, units map[string]aMetric) (rs []*dyno.Result) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for k := 1; k <= blocks; k++ {
		for i, s := range e.Levels() {
			var vs dyno.Values
			for unit, f := range units {
				if v := f(k, i); v >= 0 {
					vs = append(vs, dyno.Value{Metric: unit, Value: v})
				}
			}
			vs.Sort()
			samples := []dyno.Values{vs, vs, vs}
			rs = append(rs, &dyno.Result{
				Trial: dyno.Trial{N: 2*k + i, Block: k, Setting: s}, Start: start, Elapsed: time.Second,
				Benchmarks: []dyno.Benchmark{{Package: "p", Name: "X", N: 1000, Launches: [][]dyno.Values{samples, samples}}},
			})
		}
		start = start.Add(2 * time.Second)
	}
	return rs
}

func TestTabulateBenchmarks(t *testing.T) {
	e := benchExperiment()
	rs := benchResults(e, 14, map[string]aMetric{
		"sec/op": wobbling(1e-6, 1.1, 0.001), "B/op": fixed(64, 64), "allocs/op": fixed(0, 1), "B/s": wobbling(1e9, 1/1.1, 0.001), "hits/op": fixed(1, 2),
	})
	rs[27].Warnings = dyno.Warnings{{Text: "cold"}}
	bt := TabulateBenchmarks(e, rs)
	row := bt.Benchmarks[0]
	var got []string
	for _, u := range row.Units {
		v := bt.Settings[1].Versus[u.Key]
		got = append(got, fmt.Sprintf("%s %s %.3g→%.3g %+.3g", u.Name, v.Verdict, bt.Settings[0].Values[u.Key].Center, bt.Settings[1].Values[u.Key].Center, v.Diff))
	}
	want := "sec/op worse 1e-06→1.1e-06 +1e-07, B/op same 64→64 +0, allocs/op worse 0→1 +1, B/s worse 1e+09→9.09e+08 -9.09e+07, hits/op worse 1→2 +1"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if better := row.Units[3].Better; better != 1 || row.Units[4].Better != 0 {
		t.Errorf("B/s is better with %d, hits/op with %d", better, row.Units[4].Better)
	}
	if !closeTo(bt.Settings[1].Versus[row.Units[0].Key].Ratio, 1.1) || !math.IsNaN(bt.Settings[1].Versus[row.Units[2].Key].Ratio) {
		t.Errorf("ratios %v and %v", bt.Settings[1].Versus[row.Units[0].Key].Ratio, bt.Settings[1].Versus[row.Units[2].Key].Ratio)
	}
	if bt.Blocks != 14 || bt.Elapsed != 14*time.Second || row.Blocks != 14 || row.N != 1000 || row.Pairs != 84 {
		t.Errorf("%d blocks in %v s, of X %d with %d pairs", bt.Blocks, bt.Elapsed, row.Blocks, row.Pairs)
	}
	// Not hits/op, of which nobody knows which side is better, nor B/s, which says again
	// what sec/op says.
	if bt.Worse() != 2 {
		t.Errorf("%d are worse, want 2", bt.Worse())
	}
	alone := TabulateBenchmarks(e, benchResults(e, 14, map[string]aMetric{"sec/op": fixed(1, 1), "B/s": fixed(2, 1)}))
	if alone.Worse() != 1 {
		t.Errorf("%d are worse, want B/s, as sec/op is not", alone.Worse())
	}
	if bt.Comparisons != 3 || !closeTo(bt.FalseChance, 0.003) { // not B/op, that never differed, nor B/s
		t.Errorf("%d comparisons, chance %v", bt.Comparisons, bt.FalseChance)
	}
	if len(bt.Doubts) != 1 || bt.Doubts[0].Said[0] != "cold" {
		t.Errorf("notes %+v", bt.Doubts)
	}
}

func TestBenchMissing(t *testing.T) {
	e := benchExperiment()
	rs := benchResults(e, 6, map[string]aMetric{"sec/op": wobbling(1, 1.5, 0.01)})
	rs[1].Err = "link: no space"               // block 1 of HEAD
	rs[3].Err = "link: no space"               // block 2
	rs[5].Benchmarks[0].Err = "--- FAIL: X"    // block 3, with no samples
	rs[5].Benchmarks[0].Launches = nil         //
	rs[6].Benchmarks[0].Launches[0] = launch() // block 4 of main has one launch
	rs = append(rs, rs[7])                     // a trial that was run again counts once
	survey := &dyno.Result{Trial: dyno.Trial{For: dyno.ForSurvey, Setting: e.Levels()[0]}, Surveys: []dyno.Survey{{Package: "p", Name: "Y"}, {Package: "p", Name: "X"}}}
	other := &dyno.Result{Trial: dyno.Trial{For: dyno.ForSurvey, Setting: e.Levels()[1]}, Surveys: []dyno.Survey{{Package: "p", Name: "X"}, {Package: "p", Name: "Z", Err: "panic"}}}
	bt := TabulateBenchmarks(e, append(rs, survey, other))
	var got []string
	for _, r := range bt.Benchmarks {
		got = append(got, fmt.Sprintf("%s %d %+v", r.Name, r.Blocks, r.Faults))
	}
	want := `Y 0 [{Setting:1 Kind:missing Said: Blocks:0 Tried:0}], X 3 [{Setting:1 Kind:blocks Said:--- FAIL: X Blocks:1 Tried:4}], ` +
		`Z 0 [{Setting:0 Kind:missing Said: Blocks:0 Tried:0} {Setting:1 Kind:failed Said:panic Blocks:0 Tried:0}]`
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if n := bt.Settings[1].Versus[bt.Benchmarks[1].Units[0].Key].Comparison.N; n != 3 || bt.Blocks != 4 {
		t.Errorf("%d values of %d finished blocks", n, bt.Blocks)
	}
	if len(bt.Failed) != 2 || bt.Failed[0].Err != "link: no space" || bt.Failed[0].Trial.Block != 1 {
		t.Errorf("failed %+v", bt.Failed)
	}
	if b, err := json.Marshal(bt); err != nil || !strings.Contains(string(b), `"setting":"rev=HEAD"`) {
		t.Errorf("JSON: %v, %s", err, b)
	}
}

func TestBenchOpen(t *testing.T) {
	unclear := wobbling(1, 1.003, 0.2) // far from known
	// One block that is a little faster is too much at the look after 14 (p is 2/2^13,
	// times 8), and not after 16.
	oneFaster := func(block, i int) float64 {
		if block == 1 {
			return 1 - 0.01*float64(i)
		}
		return 1 + float64(i)*(1+float64(block)/100)
	}
	for _, c := range []struct {
		name          string
		blocks        int
		units         map[string]aMetric
		change        func(e *dyno.Experiment)
		settled, open bool
	}{
		{"before the first look", 13, map[string]aMetric{"sec/op": fixed(1, 2)}, nil, false, true},
		{"changed at a look", 14, map[string]aMetric{"sec/op": fixed(1, 2)}, nil, true, false},
		{"the same at a look", 14, map[string]aMetric{"sec/op": fixed(1, 1)}, nil, true, false},
		{"narrow, though not surely the same", 14, map[string]aMetric{"sec/op": wobbling(1, 1.005, 0.02)}, nil, true, false},
		{"narrow, but perhaps a change", 14, map[string]aMetric{"sec/op": wobbling(1, 1.008, 0.02)}, nil, false, true},
		{"unclear", 14, map[string]aMetric{"sec/op": unclear}, nil, false, true},
		{"another unit is unclear", 14, map[string]aMetric{"sec/op": fixed(1, 1), "x/op": unclear}, nil, false, true},
		{"another unit never differs from zero", 14, map[string]aMetric{"sec/op": fixed(1, 1), "x/op": fixed(0, 0)}, nil, true, false},
		{"another unit is missing in one setting", 14, map[string]aMetric{"sec/op": fixed(1, 1), "x/op": fixed(1, -1)}, nil, true, false},
		{"whole numbers that are now 0 and now 1", 14, map[string]aMetric{"sec/op": fixed(1, 1), "B/op": func(b, i int) float64 { return float64((b/2 + i*b) % 2) }}, nil, true, false},
		{"now 1 and now 2", 14, map[string]aMetric{"sec/op": fixed(1, 1), "B/op": func(b, i int) float64 { return 1 + float64((b/2+i*b)%2) }}, nil, true, false},
		{"between looks all is as it was", 16, map[string]aMetric{"sec/op": oneFaster}, nil, false, true},
		{"and at the next it is not", 18, map[string]aMetric{"sec/op": oneFaster}, nil, true, false},
		{"what was settled stays so", 16, map[string]aMetric{"sec/op": func(block, i int) float64 {
			if block <= 14 {
				return 1 + float64(i)
			}
			return 1 + 5*float64(1-i)
		}}, nil, true, false},
		{"after the last look", 88, map[string]aMetric{"sec/op": unclear}, nil, false, false},
		{"always failing in one setting", 3, map[string]aMetric{"sec/op": fixed(1, -1)}, nil, false, false},
		{"perhaps not always", 2, map[string]aMetric{"sec/op": fixed(1, -1)}, nil, false, true},
		{"a given number of blocks", 14, map[string]aMetric{"sec/op": fixed(1, 2)}, func(e *dyno.Experiment) { e.Bench.Blocks = 15 }, false, true},
		{"that is reached", 15, map[string]aMetric{"sec/op": fixed(1, 2)}, func(e *dyno.Experiment) { e.Bench.Blocks = 15 }, true, false},
		{"a single setting, known", 14, map[string]aMetric{"sec/op": fixed(1, 1)}, func(e *dyno.Experiment) { e.Factors = nil }, true, false},
		{"a single setting, unknown", 14, map[string]aMetric{"sec/op": func(b, _ int) float64 { return float64(b) }}, func(e *dyno.Experiment) { e.Factors = nil }, false, true},
	} {
		e := benchExperiment()
		if c.change != nil {
			c.change(e)
		}
		bt := TabulateBenchmarks(e, benchResults(e, c.blocks, c.units))
		if got := bt.Benchmarks[0].Settled; got != c.settled {
			t.Errorf("%s: settled is %v", c.name, got)
		}
		if got, _ := bt.Open("p", "X"); got != c.open {
			t.Errorf("%s: open is %v", c.name, got)
		}
	}
	if open, lacks := TabulateBenchmarks(benchExperiment(), nil).Open("p", "X"); !open || lacks != 0 {
		t.Errorf("a benchmark without results: open %v, lacks %d", open, lacks)
	}
}

func TestBenchThresholds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		unit       string
		values     aMetric
		want       string
	}{
		{"worse", "change(sec_per_op) < 5%", "sec/op", wobbling(1, 1.1, 0.001), "failed"},
		{"worse within the limit", "change(sec_per_op) < 15%", "sec/op", wobbling(1, 1.1, 0.001), "passed"},
		{"better", "change(sec_per_op) < 5%", "sec/op", wobbling(1, 0.5, 0.001), "passed"},
		{"not better enough", "change(sec_per_op) < -20%", "sec/op", wobbling(1, 0.9, 0.001), "failed"},
		{"across the limit", "change(sec_per_op) < 5%", "sec/op", wobbling(1, 1.05, 0.1), "unclear close"},
		{"equal", "change(allocs_per_op) <= 0%", "allocs/op", fixed(3, 3), "passed"},
		{"zero in both", "change(allocs_per_op) <= 0%", "allocs/op", fixed(0, 0), "passed"},
		{"from zero", "change(allocs_per_op) < 500%", "allocs/op", fixed(0, 1), "failed"},
		{"to zero", "change(allocs_per_op) < 5%", "allocs/op", fixed(1, 0), "passed"},
		{"now and then from zero", "change(B_per_op) < 5%", "B/op", func(b, i int) float64 { return float64(i * (b % 3 / 2)) }, "unclear"},
		{"allocates not", "allocs_per_op == 0", "allocs/op", fixed(7, 0), "passed"},
		{"allocates", "allocs_per_op == 0", "allocs/op", fixed(0, 1), "failed"},
		{"fast", "sec_per_op < 2us", "sec/op", fixed(9, 1e-6), "passed"},
		{"nobody has it", "p99 < 1s", "sec/op", fixed(1, 1), "no data"},
		{"one setting lacks it", "sec_per_op < 1s", "sec/op", fixed(1, -1), "no data"},
	} {
		e := benchExperiment()
		e.Thresholds = thresholds(t, c.text)
		bt := TabulateBenchmarks(e, benchResults(e, 14, map[string]aMetric{c.unit: c.values}))
		if got := words(bt.Thresholds); got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got, bt.Thresholds, c.want)
		}
		failed, unclear := bt.Gate()
		if (failed > 0) != (c.want == "failed" || c.want == "no data") || (unclear > 0) != strings.HasPrefix(c.want, "unclear") {
			t.Errorf("%s: the gate has %d failed, %d unclear", c.name, failed, unclear)
		}
		if _, err := json.Marshal(bt); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
