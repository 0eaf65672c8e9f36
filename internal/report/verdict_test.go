package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// compared is a table of a baseline and others, each with its comparisons of
// metrics. A ratio of 1.1 has an interval from 1.08 to 1.12.
func compared(settings map[string]map[string]compare.Versus) *compare.Table {
	t := &compare.Table{Trials: 6 * (1 + len(settings)), Planned: 6 * (1 + len(settings)), Blocks: 6, Negligible: 0.01}
	for _, m := range []dyno.Metric{{Name: "p50-sec", Better: -1, Primary: true}, {Name: "p99-sec", Better: -1, Primary: true}, {Name: "req/s", Better: 1, Primary: true}, {Name: "rss-peak-B", Better: -1, Primary: true}} {
		t.Rows = append(t.Rows, compare.Row{Metric: m, Key: m.Name})
	}
	base := compare.Setting{Setting: gogc("100"), Baseline: true, Trials: 6, Values: map[string]compare.Summary{}}
	t.Settings = []compare.Setting{base}
	var levels []string
	for level := range settings {
		levels = append(levels, level)
	}
	slices.Sort(levels)
	for _, level := range levels {
		s := compare.Setting{Setting: gogc(level), Trials: 6, Values: map[string]compare.Summary{}, Versus: settings[level]}
		for name, x := range s.Versus {
			base.Values[name] = compare.Summary{Center: 0.01, Trials: make([]float64, 6)}
			s.Values[name] = compare.Summary{Center: 0.01 * x.Ratio, Trials: make([]float64, 6)}
		}
		t.Settings = append(t.Settings, s)
	}
	return t
}

func vs(v stats.Verdict, ratio float64) compare.Versus {
	return compare.Versus{Verdict: v, Ratio: ratio, Lo: ratio - 0.02, Hi: ratio + 0.02}
}

func TestVerdicts(t *testing.T) {
	table := compared(map[string]map[string]compare.Versus{"200": {
		"p50-sec": vs(stats.Same, 1), "p99-sec": vs(stats.Better, 0.8), "req/s": vs(stats.Unclear, 1.02), "rss-peak-B": vs(stats.Worse, 1.3),
	}})
	got := words.Verdicts(table)
	want := "GOGC=200 against GOGC=100: better in p99 latency (20% lower, 8.000 ms instead of 10.000 ms); worse in peak memory (30% higher, 0.013 B instead of 0.010 B); the same within 1% in median latency; unclear in throughput."
	if len(got) != 1 || got[0].Text != want {
		t.Errorf("got  %+v\nwant %s", got, want)
	}
}

func TestRecommendation(t *testing.T) {
	better, worse, unclear, same := vs(stats.Better, 0.8), vs(stats.Worse, 1.3), vs(stats.Unclear, 1.01), vs(stats.Same, 1)
	wide := compare.Versus{Verdict: stats.Unclear, Ratio: 1.1, Lo: 0.9, Hi: 1.35, MoreBlocks: 9}
	for _, c := range []struct {
		name     string
		settings map[string]map[string]compare.Versus
		change   func(t *compare.Table)
		want     []string // in what it says
		not      string
	}{
		{"better in one, worse in none", map[string]map[string]compare.Versus{"200": {"p50-sec": same, "p99-sec": better}}, nil,
			[]string{"Recommended: GOGC=200.", "p99 latency (20% lower"}, "unclear"},
		{"the better of two", map[string]map[string]compare.Versus{"150": {"p50-sec": same, "p99-sec": better}, "200": {"p50-sec": better, "p99-sec": better}}, nil,
			[]string{"Recommended: GOGC=200.", "GOGC=150 is also better in something", "not with each other"}, ""},
		{"what is unclear is small", map[string]map[string]compare.Versus{"200": {"p50-sec": unclear, "p99-sec": better}}, nil,
			[]string{"Recommended: GOGC=200.", "it is unclear in median latency, but by less than 5%"}, ""},
		{"what is unclear may be much", map[string]map[string]compare.Versus{"200": {"p50-sec": wide, "p99-sec": better}}, nil,
			[]string{"No recommendation: GOGC=200", "median latency 35% higher", "about 9 more blocks"}, "Recommended"},
		{"throughput may be lost", map[string]map[string]compare.Versus{"200": {"req/s": {Verdict: stats.Unclear, Ratio: 1, Lo: 0.7, Hi: 1.4}, "p99-sec": better}}, nil,
			[]string{"No recommendation", "throughput 30% lower"}, "Recommended"},
		{"a trade", map[string]map[string]compare.Versus{"200": {"p99-sec": better, "rss-peak-B": worse}}, nil,
			[]string{"A trade-off: choose GOGC=200 if p99 latency 20% lower is worth peak memory 30% higher; otherwise keep GOGC=100."}, "Recommended"},
		{"only worse", map[string]map[string]compare.Versus{"50": {"p99-sec": worse}}, nil,
			[]string{"Keep GOGC=100", "GOGC=50 is worse in p99 latency"}, "Recommended"},
		{"nothing shown", map[string]map[string]compare.Versus{"50": {"p99-sec": wide}}, nil,
			[]string{"No setting is shown to be better or worse", "about 9 more blocks may settle half of the unclear verdicts"}, "Recommended"},
		{"all the same", map[string]map[string]compare.Versus{"50": {"p99-sec": same}}, nil,
			[]string{"No setting differs from GOGC=100 by more than 1%"}, "Recommended"},
		{"partial", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) { t.Planned++ },
			[]string{"No recommendation: only 12 of 13 planned trials were run."}, "Recommended"},
		{"a failed trial", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) {
			t.Failed = []*dyno.Result{{Trial: dyno.Trial{N: 3, Setting: gogc("200")}, Err: "exited"}}
		}, []string{"Keep GOGC=100. GOGC=200 has p99 latency 20% lower, but it failed in 1 trial."}, "Recommended"},
		{"fails fast", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) {
			t.Settings[1].Values["failures"] = compare.Summary{Trials: []float64{300, 240}}
			t.Settings[1].Pooled = &compare.Pooled{Requests: 60_000}
		}, []string{"Keep GOGC=100. GOGC=200 has p99 latency 20% lower, but 540 of its requests failed or were never sent, against none of GOGC=100"}, "Recommended"},
		{"one failure of many", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) {
			t.Settings[1].Values["failures"] = compare.Summary{Trials: []float64{1, 0}}
			t.Settings[1].Pooled = &compare.Pooled{Requests: 60_000}
		}, []string{"Recommended: GOGC=200.", "1 of its requests failed"}, "No recommendation"},
		{"the next that does not fail", map[string]map[string]compare.Versus{"150": {"p99-sec": better}, "200": {"p50-sec": better, "p99-sec": better}}, func(t *compare.Table) {
			t.Settings[2].Values["failures"] = compare.Summary{Trials: []float64{300, 240}}
			t.Settings[1].Values["p50-sec"] = t.Settings[0].Values["p50-sec"]
			t.Settings[1].Versus["p50-sec"] = same
		}, []string{"Recommended: GOGC=150."}, "GOGC=200"},
		{"p99 of no trial", map[string]map[string]compare.Versus{"200": {"p50-sec": better}}, func(t *compare.Table) {
			t.Settings[0].Values["p99-sec"] = compare.Summary{Center: 0.01, Trials: make([]float64, 6)}
		}, []string{"No recommendation: GOGC=200", "some trials lack p99 latency"}, "Recommended"},
		{"p99 of some trials", map[string]map[string]compare.Versus{"200": {"p50-sec": better, "p99-sec": better}}, func(t *compare.Table) {
			t.Settings[1].Values["p99-sec"] = compare.Summary{Center: 0.01, Trials: make([]float64, 3)}
		}, []string{"No recommendation: GOGC=200", "some trials lack p99 latency"}, "Recommended"},
		{"leaks", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) {
			t.Settings[1].Leak = &leak.Leak{Memory: &leak.Grown{Verdict: leak.Leaking}}
		}, []string{"Keep GOGC=100. GOGC=200 has p99 latency 20% lower, but it leaks memory."}, "Recommended"},
		{"two runs", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) { t.Separate = true },
			[]string{"No verdict: the runs were made at different times, and what the machine did between them is in every change and in no interval"}, "Recommended"},
		{"nothing to compare", map[string]map[string]compare.Versus{"200": {}}, nil,
			[]string{"No recommendation: no primary metric could be compared."}, "Recommended"},
		{"saturated", map[string]map[string]compare.Versus{"200": {"p99-sec": better}}, func(t *compare.Table) {
			t.Settings[1].Saturated = []compare.Saturation{{Trial: 2, Reason: "busy"}}
		}, []string{"No recommendation: dyno may itself have been the limit in 1 trial."}, "Recommended"},
	} {
		table := compared(c.settings)
		if c.change != nil {
			c.change(table)
		}
		got := words.Advice(table)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q has %q", c.name, got, c.not)
		}
	}
}

func TestRecommendationOfOne(t *testing.T) {
	if got := words.Advice(compared(nil)); got != "" {
		t.Errorf("%q", got)
	}
}
