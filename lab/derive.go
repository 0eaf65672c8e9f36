package lab

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/probe"
)

// record adds what the load saw to the result.
func record(r *dyno.Result, rec *load.Record) {
	if !rec.Start.IsZero() {
		r.Start = rec.Start
	}
	r.Elapsed, r.Latency, r.Sent, r.Failures = rec.Elapsed, rec.Latency, rec.Sent, rec.Failures
	r.Warnings = append(r.Warnings, rec.Warnings...)
	if rec.Requests+rec.Unsent > 0 { // else it is of a command that says nothing of them
		add(r, "failures", float64(rec.Failed))
	}
	if r.Trial.Load.Deadline > 0 {
		add(r, "late-frac", float64(rec.Late)/float64(rec.Requests+rec.Unsent))
	}
	// Requests that timed out or were never sent would have been the slowest.
	slow := rec.Slow + rec.Unsent
	if h := rec.Latency; h != nil && h.Count() > 0 {
		latency(r, "", h, slow)
		add(r, "min-sec", h.Min().Seconds())
		add(r, "mean-sec", h.Mean())
		add(r, "stddev-sec", h.Stddev())
		if slow == 0 {
			add(r, "max-sec", h.Max().Seconds())
		} else {
			r.Warnings = append(r.Warnings, fmt.Sprintf(
				"%d requests timed out or were not sent: percentiles rank them as the slowest, max-sec is left out, and mean-sec and stddev-sec are too low", slow))
		}
		add(r, "req/s", rec.Rate)
	} else if rec.Requests > 0 {
		told(r, rec)
	}
	if rec.SentRate > 0 {
		add(r, "sent/s", rec.SentRate)
	}
	if rec.CPU > 0 {
		add(r, "generator-cpu-frac", rec.CPU)
	}
	if rec.Lateness != nil { // an open load
		add(r, "unsent", float64(rec.Unsent))
		latency(r, "service-", rec.Service, rec.Slow)
		if rec.Lateness.Count() >= 100 { // of fewer it would be the longest
			add(r, "lateness-p99-sec", rec.Lateness.Quantile(0.99).Seconds())
		}
	}
	for _, s := range rec.Steps {
		if s.Latency.Count() > 0 {
			latency(r, s.Label+"-", s.Latency, s.Slow)
		}
	}
}

// percentiles are the metrics that percentiles become.
var percentiles = []struct {
	name string
	q    float64
}{{"p50-sec", .5}, {"p90-sec", .9}, {"p95-sec", .95}, {"p99-sec", .99}, {"p99.9-sec", .999}}

// told adds what another generator says of latency.
func told(r *dyno.Result, rec *load.Record) {
	for _, p := range percentiles {
		if d := rec.Quantiles[p.q]; d > 0 && float64(rec.Requests)*(1-p.q) >= 1-1e-9 {
			add(r, p.name, d.Seconds())
		}
	}
	for _, m := range []struct {
		name string
		d    time.Duration
	}{{"mean-sec", rec.Mean}, {"min-sec", rec.Min}, {"max-sec", rec.Max}} {
		if m.d > 0 && (m.name != "max-sec" || rec.Slow == 0) {
			add(r, m.name, m.d.Seconds())
		}
	}
	if rec.Rate > 0 {
		add(r, "req/s", rec.Rate)
	}
}

// latency adds the percentiles of h and of slow more requests, which took
// longer than any in h.
func latency(r *dyno.Result, prefix string, h *hist.Histogram, slow int64) {
	n := float64(h.Count())
	all := n + float64(slow)
	for _, q := range percentiles {
		// Of fewer requests it would be the longest, by another name.
		if rank := q.q * all; all*(1-q.q) >= 1-1e-9 && rank <= n {
			add(r, prefix+q.name, h.Quantile(rank/n).Seconds())
		}
	}
}

// observe adds what the probes saw: quantities that are metrics as they are, and
// those that become metrics when they are divided by the number of requests,
// which is 0 if it is not known.
func observe(r *dyno.Result, saw probe.Reading, sent int64) {
	r.Collections = within(saw.Collections, r.Start.Sub(saw.Origin))
	r.Warnings = append(r.Warnings, saw.Warnings...)
	for _, m := range dyno.Metrics {
		if v, ok := saw.Values.Get(m.Name); ok {
			add(r, m.Name, v)
		}
	}
	for _, v := range saw.Own {
		if _, taken := dyno.MetricByName(v.Metric); taken {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the service's own %s is left out: dyno has a metric of that name", v.Metric))
			continue
		}
		add(r, v.Metric, v.Value)
	}
	if sec := r.Elapsed.Seconds(); !r.Trial.Subject.Launched() && sec > 0 {
		for _, q := range []struct{ metric, total string }{{"cpu-frac", "cpu-sec"}, {"minflt/s", "minflt"}} {
			if v, ok := saw.Values.Get(q.total); ok {
				add(r, q.metric, v/sec)
			}
		}
	}
	if sent == 0 {
		return
	}
	requests := float64(sent)
	for _, q := range []struct{ metric, total string }{
		{"cpu-sec/req", "cpu-sec"}, {"alloc-B/req", "alloc-B"}, {"allocs/req", "allocs"},
		{"gc-cpu-sec/req", "gc-cpu-sec"}, {"mutex-wait-sec/req", "mutex-wait-sec"}, {"minflt/req", "minflt"},
		{"throttled-sec/req", "throttled-sec"},
	} {
		if v, ok := saw.Values.Get(q.total); ok {
			add(r, q.metric, v/requests)
		}
	}
	if cycles, ok := saw.Values.Get("gc-cycles"); ok {
		add(r, "req/gc", requests/cycles)
	}
}

// within returns the collections that ended after the window began, that long
// after what they count from, on the clock of the window.
func within(cs []dyno.Collection, began time.Duration) []dyno.Collection {
	for i := range cs {
		cs[i].Start -= began
		cs[i].End -= began
	}
	return slices.DeleteFunc(cs, func(c dyno.Collection) bool { return c.End < 0 })
}

// add leaves out what cannot be said, such as requests per collection where
// there was none.
func add(r *dyno.Result, metric string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		r.Values = append(r.Values, dyno.Value{Metric: metric, Value: v})
	}
}
