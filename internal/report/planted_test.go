package report

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// A plant is one setting, with the factors by which its metrics differ from the baseline's.
type plant struct {
	name    string
	factors map[string]float64
}

// planted are the results of ten blocks. Trials of one block share a drift.
func plantedResults(noise float64, plants ...plant) []*dyno.Result {
	base := map[string]float64{
		"p50-sec": 1e-3, "p90-sec": 2e-3, "p99-sec": 5e-3, "mean-sec": 1.2e-3, "max-sec": 9e-3, "req/s": 5000, "failures": 0,
		"cpu-sec/req": 300e-6, "gc-cpu-sec/req": 60e-6, "alloc-B/req": 41e3, "mutex-wait-sec/req": 1e-6, "sched-p99-sec": 100e-6, "minflt/req": 0.2,
		"heap-live-B": 20e6, "heap-peak-B": 45e6, "rss-peak-B": 64e6, "goroutines": 12, "threads": 9,
	}
	rng := rand.New(rand.NewPCG(3, 4))
	names := slices.Sorted(maps.Keys(base))
	var rs []*dyno.Result
	for block := 1; block <= 10; block++ {
		drift := math.Exp(2 * noise * rng.NormFloat64())
		for _, p := range plants {
			factor, value, _ := strings.Cut(p.name, "=")
			r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block, Setting: dyno.Setting{{Factor: factor, Value: value}}}, Latency: hist.New()}
			for _, name := range names {
				x := base[name] * math.Exp(noise*rng.NormFloat64())
				if strings.HasSuffix(name, "-sec") {
					x *= drift
				}
				if f, ok := p.factors[name]; ok {
					x *= f
				}
				r.Values = append(r.Values, dyno.Value{Metric: name, Value: x})
			}
			r.Values.Sort()
			rs = append(rs, r)
		}
	}
	return rs
}

type factors = map[string]float64

func all(time, cpu, memory float64) factors {
	return factors{"p50-sec": time, "p90-sec": time, "p99-sec": time, "mean-sec": time, "req/s": 1 / time, "cpu-sec/req": cpu, "rss-peak-B": memory}
}

// with are factors with others beside them.
func with(f, more factors) factors {
	maps.Copy(f, more)
	return f
}

func thresholdOf(t *testing.T, texts ...string) (ths []dyno.Threshold) {
	for _, text := range texts {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		ths = append(ths, th)
	}
	return ths
}

// Whatever a run found, its advice is one that a sensible engineer would give: its kind, what it
// offers, and the price that it names.
func TestAdviceOfPlanted(t *testing.T) {
	hot := compare.Place{Func: "main.(*index).search", File: "/src/index.go", Line: 41, Change: 52e-6, Lo: 47e-6, Hi: 57e-6, Share: 0.9}
	places := func(ps ...compare.Place) compare.Places {
		return func(_ dyno.Setting, profile string) []compare.Place {
			if profile == "cpu" {
				return ps
			}
			return nil
		}
	}
	base := plant{"GOGC=100", nil}
	for _, c := range []struct {
		name   string
		noise  float64
		plants []plant
		o      compare.Options
		before func(rs []*dyno.Result)
		after  func(tb *compare.Table)
		kind   advice.Kind
		first  string // choice, its kind, gain and price
		says   string
	}{
		{name: "better everywhere", plants: []plant{{"rev=main", nil}, {"rev=fast", all(0.8, 0.75, 0.9)}}, kind: advice.Choose, first: "rev=fast gain cpu-sec/req ", says: "Recommended: rev=fast."},
		{name: "worse everywhere", plants: []plant{{"rev=main", nil}, {"rev=slow", all(1.3, 1.25, 1.2)}}, kind: advice.Keep, first: "rev=slow worse  p99-sec", says: "Keep rev=main: rev=slow is worse, and in no primary metric shown to be better."},
		{name: "a tiny gain at a huge price", plants: []plant{{"N1=0", nil}, {"N1=1", with(all(5.7, 1.9, 0.984), factors{"p99-sec": 4})}}, noise: 0.002,
			kind: advice.Keep, first: "N1=1 dear rss-peak-B p50-sec", says: "lower, but median latency 5.7 times as high (and 3 more metrics worse)."},
		{name: "the greatest price is named, not the first", plants: []plant{{"BURN=0", nil}, {"BURN=1", factors{"p50-sec": 0.91, "p99-sec": 2.8, "cpu-sec/req": 2.54, "req/s": 0.81}}},
			kind: advice.Keep, first: "BURN=1 dear p50-sec p99-sec", says: "but p99 latency 2.8 times as high (and 2 more metrics worse)"},
		{name: "p99 for memory", plants: []plant{base, {"GOGC=400", factors{"p99-sec": 0.924, "cpu-sec/req": 0.967, "req/s": 1.036, "gc-cpu-sec/req": 0.244, "rss-peak-B": 1.71, "heap-peak-B": 2}}},
			kind: advice.Trade, first: "GOGC=400 trade p99-sec rss-peak-B", says: "A trade-off: choose GOGC=400 if p99 latency 7."},
		{name: "memory for CPU", plants: []plant{base, {"GOGC=50", factors{"cpu-sec/req": 1.12, "gc-cpu-sec/req": 1.7, "rss-peak-B": 0.7}}},
			kind: advice.Trade, first: "GOGC=50 trade rss-peak-B cpu-sec/req", says: "is worth CPU time per request 12% higher; otherwise keep GOGC=100."},
		{name: "memory for too much CPU, which all else shows", plants: []plant{base, {"GOGC=10", with(all(1.2, 1.33, 0.93), factors{"gc-cpu-sec/req": 2.6})}},
			kind: advice.Keep, first: "GOGC=10 dear rss-peak-B cpu-sec/req", says: "(and 3 more metrics worse)"},
		{name: "no collections, six times the memory", plants: []plant{base, {"GOGC=off", factors{"cpu-sec/req": 0.8, "rss-peak-B": 6}}},
			kind: advice.Keep, first: "GOGC=off dear cpu-sec/req rss-peak-B", says: "peak memory 6.0 times as high"},
		{name: "a little CPU for much memory", plants: []plant{base, {"GOGC=800", factors{"cpu-sec/req": 0.965, "rss-peak-B": 2.4}}}, noise: 0.002,
			kind: advice.Keep, first: "GOGC=800 dear cpu-sec/req rss-peak-B", says: "costs more than it gains"},
		{name: "half of all, and perhaps a little more memory", noise: 0.012, plants: []plant{{"variant=with", nil}, {"variant=without", all(0.55, 0.55, 1.015)}}, before: func(rs []*dyno.Result) {
			for i, r := range rs {
				for n := range r.Values {
					if r.Values[n].Metric == "rss-peak-B" {
						r.Values[n].Value *= 1 + 0.04*float64(i%3)
					}
				}
			}
		}, kind: advice.Choose, first: "variant=without gain cpu-sec/req ", says: "it is unclear in peak memory (at worst peak memory"},
		{name: "half of all, and a little more memory", plants: []plant{{"variant=with", nil}, {"variant=without", all(0.55, 0.55, 1.05)}},
			kind: advice.Choose, first: "variant=without gain cpu-sec/req rss-peak-B", says: "at the small price of peak memory"},
		{name: "two settings tie", plants: []plant{base, {"GOGC=200", factors{"cpu-sec/req": 0.9}}, {"GOGC=201", factors{"cpu-sec/req": 0.9}}},
			kind: advice.Choose, first: "GOGC=200 gain cpu-sec/req ", says: "compared with the baseline, not with each other"},
		{name: "nothing differs", noise: 0.03, plants: []plant{{"rev=a", nil}, {"rev=b", nil}}, kind: advice.Nothing, says: "No setting is shown to be better or worse"},
		{name: "nothing differs, surely", noise: 0.002, plants: []plant{{"rev=a", nil}, {"rev=b", nil}}, kind: advice.Same, says: "the choice makes no difference here"},
		{name: "memory alone is better", plants: []plant{{"LIB=a", nil}, {"LIB=b", factors{"rss-peak-B": 0.8, "heap-peak-B": 0.72}}}, kind: advice.Choose, first: "LIB=b gain rss-peak-B ", says: "Recommended: LIB=b"},
		{name: "memory alone is worse", plants: []plant{{"LIB=a", nil}, {"LIB=b", factors{"rss-peak-B": 1.2, "heap-peak-B": 1.28}}}, kind: advice.Keep, first: "LIB=b worse  rss-peak-B", says: "Keep LIB=a"},
		{name: "five levels", plants: []plant{base,
			{"GOGC=25", with(all(1.2, 1.3, 0.9), factors{"gc-cpu-sec/req": 2.5})}, {"GOGC=50", factors{"cpu-sec/req": 1.1, "gc-cpu-sec/req": 1.5, "rss-peak-B": 0.8}},
			{"GOGC=200", factors{"cpu-sec/req": 0.92, "gc-cpu-sec/req": 0.6, "rss-peak-B": 1.3}}, {"GOGC=400", factors{"cpu-sec/req": 0.88, "gc-cpu-sec/req": 0.4, "rss-peak-B": 1.8}}},
			kind: advice.Trade, first: "GOGC=50 trade rss-peak-B cpu-sec/req", says: "GOGC=25 costs more than it gains."},
		{name: "a regression with its function", plants: []plant{{"rev=main", nil}, {"rev=HEAD", all(1.18, 1.2, 1)}}, o: compare.Options{Places: places(hot)},
			kind: advice.Keep, first: "rev=HEAD worse  cpu-sec/req", says: "Why, rev=HEAD: about nine tenths of the change in cpu/req is in functions: main.(*index).search (index.go:41) +52.00 µs."},
		{name: "a function that the total hides", noise: 0.05, plants: []plant{{"rev=main", nil}, {"rev=HEAD", nil}}, o: compare.Options{Places: places(hot)},
			kind: advice.Nothing, says: "in total, but a function surely changed. rev=HEAD against rev=main: CPU time in main.(*index).search surely rose by 52.00 µs"},
		{name: "it leaks, and gains nothing", plants: []plant{{"rev=main", nil}, {"rev=cache", nil}}, after: func(tb *compare.Table) {
			tb.Settings[1].Leak = &leak.Leak{Memory: &leak.Grown{Verdict: leak.Leaking}}
		}, kind: advice.Keep, first: "rev=cache bar  ", says: "Keep rev=main. rev=cache: it leaks memory."},
		{name: "it mends a leak, and costs something", plants: []plant{{"rev=main", nil}, {"rev=fix", factors{"cpu-sec/req": 1.05}}}, after: func(tb *compare.Table) {
			tb.Settings[0].Leak = &leak.Leak{Memory: &leak.Grown{Verdict: leak.Leaking}}
		}, kind: advice.Mend, first: "rev=fix mends  cpu-sec/req", says: "A trade-off: rev=main leaks memory, and rev=fix does not. Its price is CPU time per request 4."},
		{name: "much for a small price beside a trifle", plants: []plant{base, {"GOGC=110", factors{"cpu-sec/req": 0.97}}, {"GOGC=400", with(all(0.6, 0.5, 1), factors{"rss-peak-B": 1.03})}},
			kind: advice.Choose, first: "GOGC=400 gain cpu-sec/req rss-peak-B", says: "Recommended: GOGC=400."},
		{name: "one that never starts, beside one that gains", plants: []plant{base, {"GOMEMLIMIT=8MiB", nil}, {"GOGC=200", all(0.8, 0.8, 1)}}, before: func(rs []*dyno.Result) {
			for i := range rs {
				if strings.Contains(rs[i].Trial.Setting.String(), "8MiB") {
					rs[i].Err = "subject exited with status 2"
				}
			}
		}, kind: advice.Choose, first: "GOGC=200 gain req/s ", says: "Recommended: GOGC=200."},
		{name: "it leaks", plants: []plant{{"rev=main", nil}, {"rev=cache", all(0.7, 0.6, 1)}}, after: func(tb *compare.Table) {
			tb.Settings[1].Leak = &leak.Leak{Memory: &leak.Grown{Verdict: leak.Leaking}}
		}, kind: advice.Keep, first: "rev=cache bar cpu-sec/req ", says: "but it leaks memory."},
		{name: "it answers fast, with errors", plants: []plant{{"rev=main", nil}, {"rev=shed", all(0.5, 0.5, 1)}}, before: func(rs []*dyno.Result) {
			for i, r := range rs {
				for n := range r.Values {
					if r.Values[n].Metric == "failures" && i%2 == 1 {
						r.Values[n].Value = 300
					}
				}
			}
		}, kind: advice.Keep, first: "rev=shed bar cpu-sec/req ", says: "3000 of its requests failed or were never sent, against none of rev=main"},
		{name: "dyno was the limit", plants: []plant{{"rev=main", nil}, {"rev=fast", all(0.5, 0.5, 1)}}, before: func(rs []*dyno.Result) {
			rs[1].Sent.Saturated = "its CPU time was 0.97 of its cores"
		}, kind: advice.None, says: "dyno may itself have been the limit in 1 trial"},
		{name: "one setting always fails", plants: []plant{base, {"GOMEMLIMIT=8MiB", nil}}, before: func(rs []*dyno.Result) {
			for i := 1; i < len(rs); i += 2 {
				rs[i].Err = "subject exited with status 2"
			}
		}, kind: advice.Keep, first: "GOMEMLIMIT=8MiB bar  ", says: "Keep GOGC=100. GOMEMLIMIT=8MiB: it finished no trial."},
		{name: "not all was run", plants: []plant{base, {"GOGC=200", all(0.9, 0.9, 1)}}, o: compare.Options{Planned: 40}, kind: advice.None, says: "only 20 of 40 planned trials were run"},
		{name: "it breaks a threshold", plants: []plant{base, {"GOGC=400", factors{"cpu-sec/req": 0.8, "rss-peak-B": 1.5}}}, o: compare.Options{Thresholds: thresholdOf(t, "rss_peak < 80MiB")},
			kind: advice.Keep, first: "GOGC=400 bar cpu-sec/req rss-peak-B", says: "but it breaks rss_peak < 80MiB."},
		{name: "the baseline breaks a threshold, and one setting keeps it", plants: []plant{{"GOGC=400", nil}, {"GOGC=50", factors{"cpu-sec/req": 1.6, "rss-peak-B": 0.6}}}, o: compare.Options{Thresholds: thresholdOf(t, "rss_peak < 50MiB")},
			kind: advice.Allowed, first: "GOGC=50 trade rss-peak-B cpu-sec/req", says: "It keeps every threshold, and GOGC=400 breaks rss_peak < 50MiB. Its price is CPU time per request 60% higher."},
		{name: "no setting keeps a threshold", plants: []plant{base, {"GOGC=50", factors{"rss-peak-B": 0.9}}}, o: compare.Options{Thresholds: thresholdOf(t, "p99 < 1ms")},
			kind: advice.Choose, first: "GOGC=50 gain rss-peak-B ", says: "All settings break p99 < 1ms."},
		{name: "better, and perhaps worse", noise: 0.02, plants: []plant{{"LOCK=a", nil}, {"LOCK=b", factors{"p50-sec": 0.7, "p99-sec": 1.015}}}, before: func(rs []*dyno.Result) {
			for i, r := range rs {
				for n := range r.Values {
					if r.Values[n].Metric == "p99-sec" {
						r.Values[n].Value *= 1 + 0.2*float64(i%5)
					}
				}
			}
		}, kind: advice.Wait, first: "LOCK=b risk p50-sec ", says: "the trials do not rule out p99 latency"},
		{name: "a lock, without profiles", plants: []plant{{"LOCK=a", nil}, {"LOCK=b", with(all(2, 1, 1), factors{"p50-sec": 2.1, "mutex-wait-sec/req": 1100})}},
			kind: advice.Keep, first: "LOCK=b worse  p50-sec", says: "Why, LOCK=b: p50, p99 and lock contention (mutex-wait/req >×1000) rose together, and req/s fell."},
		{name: "collections fell by more than CPU time", noise: 0.002, plants: []plant{{"rev=main", nil}, {"rev=pool", factors{"cpu-sec/req": 0.9, "gc-cpu-sec/req": 0.25}}},
			kind: advice.Choose, first: "rev=pool gain cpu-sec/req ", says: "is all of the change in cpu/req, and more, which something else offset"},
		{name: "two runs of different times", plants: []plant{{"run=monday", nil}, {"run=tuesday", all(1.28, 1.1, 1)}}, o: compare.Options{Separate: true}, after: func(tb *compare.Table) { tb.Apart() },
			kind: advice.None, says: "run=tuesday against run=monday: different in p99 latency, median latency, throughput and CPU time per request;"},
		{name: "without changes, nothing is explained", plants: []plant{{"rev=a", nil}, {"rev=b", factors{"gc-cpu-sec/req": 1.5}}}, noise: 0.01, kind: advice.Nothing, says: "All tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.noise == 0 {
				c.noise = 0.005
			}
			rs := plantedResults(c.noise, c.plants...)
			if c.before != nil {
				c.before(rs)
			}
			c.o.Name = c.name
			tb := compare.Tabulate(rs, c.o)
			if c.after != nil {
				c.after(tb)
			}
			var b bytes.Buffer
			if err := Text(&b, &tables.Report{Table: tb}, layout.Options{}); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + b.String())
			a := advice.Of(tb)
			first := ""
			if len(a.Choices) > 0 {
				x := a.Choices[0]
				first = fmt.Sprintf("%s %s %s %s", tb.Settings[x.Setting].Setting, x.Kind, x.Gain, x.Price)
			}
			if a.Kind != c.kind || first != c.first {
				t.Errorf("got %q, %q; want %q, %q", a.Kind, first, c.kind, c.first)
			}
			if said := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(said, c.says) {
				t.Errorf("lacks %q:\n%s", c.says, b.String())
			}
		})
	}
}
