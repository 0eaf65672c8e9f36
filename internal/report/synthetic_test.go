package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

// effects are what a synthetic setting does: the factors by which its latency,
// memory and number of collections differ from the baseline's.
type effects struct {
	setting              dyno.Setting
	latency, memory, gcs float64
}

func gogc(level string) dyno.Setting { return dyno.Setting{{Factor: "GOGC", Value: level}} }

// study is the sessions study in small: GOGC against latency and memory.
var study = []effects{
	{gogc("100"), 1, 1, 1},
	{gogc("0"), 1.162, 0.935, 30},
	{gogc("50"), 1.15, 0.954, 2.1},
	{gogc("150"), 0.995, 1.052, 0.62},
	{gogc("200"), 0.97, 1.111, 0.45},
}

// synthetic makes the results of an experiment from a fixed seed. Each block
// has a drift of its own that all its trials share.
func synthetic(blocks int, es []effects) []*dyno.Result {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func(sd float64) float64 { return math.Exp(sd * rng.NormFloat64()) }
	var rs []*dyno.Result
	for block := 1; block <= blocks; block++ {
		drift := noise(0.05)
		for _, e := range es {
			scale := e.latency * drift * noise(0.01)
			h := hist.New()
			for range 500 {
				h.Add(time.Duration(7.6e6 * scale * noise(0.14)))
			}
			q := func(q float64) float64 { return h.Quantile(q).Seconds() }
			r := &dyno.Result{
				Trial:   dyno.Trial{N: len(rs) + 1, Block: block, Setting: e.setting},
				Elapsed: 2 * time.Second,
				Latency: h,
				Values: dyno.Values{
					{Metric: "p50-sec", Value: q(0.5)},
					{Metric: "p90-sec", Value: q(0.9)},
					{Metric: "p99-sec", Value: q(0.99)},
					{Metric: "max-sec", Value: h.Max().Seconds()},
					{Metric: "req/s", Value: 2 / h.Mean()},
					{Metric: "failures", Value: 0},
					{Metric: "cpu-sec/req", Value: 310e-6 * (1 + 0.1*math.Log(e.gcs)) * noise(0.01)},
					{Metric: "alloc-B/req", Value: 41234 * noise(0.0005)},
					{Metric: "gc-cycles", Value: math.Round(140 * e.gcs * noise(0.02))},
					{Metric: "gc-cpu-frac", Value: min(0.9, 0.021*e.gcs*noise(0.02))},
					{Metric: "stw-max-sec", Value: 90e-6 * noise(0.3)},
					{Metric: "heap-live-B", Value: 4.2e6 * noise(0.01)},
					{Metric: "rss-peak-B", Value: 33.97e6 * e.memory * noise(0.006)},
					{Metric: "goroutines", Value: 12},
					{Metric: "patch-p99-sec", Value: q(0.99) * 0.98},
					{Metric: "cache-hits", Value: 77}, // of no known direction
				},
			}
			rs = append(rs, r)
		}
	}
	return rs
}

// marred is the study with what goes wrong: a failed trial, a metric that one
// setting lacks, failures in one trial, and warnings.
func marred() []*dyno.Result {
	rs := synthetic(6, study)
	rs[7].Err = "subject exited with status 2 during the load\npanic: assignment to entry in nil map\n\tgoroutine 34 [running]:\x1b[31m"
	rs[7].Values = nil
	for _, i := range []int{3, 8, 12} {
		rs[i].Warnings = dyno.Warnings{{Text: "other processes used " + []string{"13", "11", "42"}[i%3] + " % of the CPU while the load ran"}}
	}
	rs[9].Warnings = dyno.Warnings{{Text: "the generator fell behind its schedule"}}
	for _, r := range rs {
		switch level := r.Trial.Setting[0].Value; {
		case r.Err != "":
		case level == "50":
			r.Values = slices.Delete(r.Values, 10, 11) // stw-max-sec
		case level == "0":
			r.Values[5].Value = float64(r.Trial.Block)
		}
	}
	return rs
}

func settings(es []effects) []dyno.Setting {
	var ss []dyno.Setting
	for _, e := range es {
		ss = append(ss, e.setting)
	}
	return ss
}

func table(rs []*dyno.Result, es []effects) *compare.Table {
	return compare.Tabulate(rs, compare.Options{Name: "sessions", About: []string{"subject: ./examples/sessions (go1.26.8)", dyno.Load{Concurrency: 2, RequestsPerClient: 6000}.String()}, Settings: settings(es)})
}
