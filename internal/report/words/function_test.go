package words

import (
	"math"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/stats"
)

func unclearTable() *compare.Table {
	level := func(v string) dyno.Setting { return dyno.Setting{{Factor: "SLOW", Value: v}} }
	versus := func(ratio, lo, hi float64, more int) compare.Versus {
		x := compare.Versus{MoreBlocks: more}
		x.Verdict, x.Ratio, x.Lo, x.Hi = stats.Unclear, ratio, lo, hi
		return x
	}
	p99, _ := dyno.MetricByName("p99-sec")
	cpu, _ := dyno.MetricByName("cpu-sec/req")
	values := map[string]compare.Summary{"p99-sec": {}, "cpu-sec/req": {}}
	t := &compare.Table{Trials: 16, Planned: 16, Blocks: 8, Negligible: 0.01, Settings: []compare.Setting{
		{Setting: level("0"), Trials: 8, Values: values},
		{Setting: level("1"), Trials: 8, Values: values, Versus: map[string]compare.Versus{
			"p99-sec": versus(1.129, 1.03, 1.24, 4), "cpu-sec/req": versus(1.01, 0.97, 1.05, 2),
		}},
	}}
	for _, m := range []dyno.Metric{p99, cpu} {
		m.Primary = true
		t.Rows = append(t.Rows, compare.Row{Metric: m})
	}
	return t
}

// A function that surely changed is in the first sentence, whatever the totals say.
func TestFunctionsComeFirst(t *testing.T) {
	table := unclearTable()
	nothing := Advice(table)
	if !strings.HasPrefix(nothing, "No setting is shown to be better or worse") {
		t.Errorf("%s", nothing)
	}
	table.Settings[1].Functions = []compare.ChangedFunction{{Metric: "cpu-sec/req", Place: compare.Place{
		Func: "main.hash", Change: 129e-6, Lo: 82e-6, Hi: 177e-6, Share: dyno.Number(math.NaN()),
	}}}
	const want = "CPU time in main.hash surely rose by 129.0 µs [82.0, 177.0]"
	if got := Advice(table); !strings.HasPrefix(got, "SLOW=1: "+want+"; no setting is shown to be better or worse in total") {
		t.Errorf("%s", got)
	}
	if got := Verdicts(table)[0].Text; !strings.HasPrefix(got, "SLOW=1 against SLOW=0: "+want+"; unclear in ") {
		t.Errorf("%s", got)
	}
}

// Where most comparisons are unclear, and may gain more than the one that is worse costs, nothing is recommended.
func TestMostUnclear(t *testing.T) {
	table := unclearTable()
	req, _ := dyno.MetricByName("p50-sec")
	req.Primary = true
	table.Rows = append(table.Rows, compare.Row{Metric: req})
	worse := compare.Versus{}
	worse.Verdict, worse.Ratio, worse.Lo, worse.Hi = stats.Worse, 1.2, 1.1, 1.3
	for i := range table.Settings {
		table.Settings[i].Values["p50-sec"] = compare.Summary{}
	}
	table.Settings[1].Versus["p50-sec"] = worse
	if got := Advice(table); !strings.HasPrefix(got, "Keep SLOW=0: SLOW=1 is worse in ") {
		t.Errorf("what is unclear cannot pay for it, but: %s", got)
	}
	wide := table.Settings[1].Versus["p99-sec"]
	wide.Lo = 0.5
	table.Settings[1].Versus["p99-sec"] = wide
	if got := Advice(table); !strings.HasPrefix(got, "No recommendation: SLOW=1 is worse in ") ||
		!strings.Contains(got, ", but may yet be worth it: 2 of 3 comparisons of primary metrics are unclear") {
		t.Errorf("%s", got)
	}
}

// A trade-off says which setting to choose for what, but not if that setting leaks.
func TestTradeInShort(t *testing.T) {
	table := unclearTable()
	table.Blocks = 4
	for metric, verdict := range map[string]stats.Verdict{"p50-sec": stats.Worse, "rss-peak-B": stats.Better} {
		m, _ := dyno.MetricByName(metric)
		m.Primary = true
		table.Rows = append(table.Rows, compare.Row{Metric: m})
		x := compare.Versus{}
		x.Verdict, x.Ratio, x.Lo, x.Hi = verdict, 1.2, 1.1, 1.3
		if verdict == stats.Better {
			x.Ratio, x.Lo, x.Hi = 0.8, 0.7, 0.9
		}
		for i := range table.Settings {
			table.Settings[i].Values[metric] = compare.Summary{Trials: make([]float64, table.Settings[i].Trials)}
		}
		table.Settings[1].Versus[metric] = x
	}
	_, advice := Brief(table)
	if !strings.HasPrefix(advice, "A trade-off: choose SLOW=1 if peak memory 20% lower is worth median latency 20% higher; otherwise keep SLOW=0.") {
		t.Errorf("%s", advice)
	}
	table.Settings[1].Leak = &leak.Leak{Memory: &leak.Grown{Verdict: leak.Leaking}}
	if _, advice = Brief(table); strings.Contains(advice, "choose") {
		t.Errorf("a setting that leaks: %s", advice)
	}
}

// An interval of one point beside "unclear" is explained.
func TestAlike(t *testing.T) {
	table := unclearTable()
	if got := Alike(table); got != "" {
		t.Errorf("%s", got)
	}
	x := table.Settings[1].Versus["p99-sec"]
	x.Ratio, x.Lo, x.Hi, x.Comparison.N = 3.75, 3.75, 3.75, 4
	table.Settings[1].Versus["p99-sec"] = x
	if got := Alike(table); !strings.Contains(got, "(p99 latency of SLOW=1): 4 blocks show the same change") || !strings.Contains(got, "in 12.5% of cases") {
		t.Errorf("%s", got)
	}
}
