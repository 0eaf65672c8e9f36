package lab

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
)

type measured struct {
	values   dyno.Values
	warnings dyno.Warnings
}

// add leaves out a quotient by 0, such as requests per collection.
func (m *measured) add(metric string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		m.values = append(m.values, dyno.Value{Metric: metric, Value: v})
	}
}

func take(r *dyno.Result, m measured) {
	r.Values = append(r.Values, m.values...)
	r.Warnings = append(r.Warnings, m.warnings...)
}

func ofLoad(t *dyno.Trial, rec *load.Record) (m measured) {
	m.warnings = append(t.Load.Warnings(), rec.Warnings...)
	if rec.Requests+rec.Unsent > 0 { // else it is of a command that says nothing of them
		m.add("failures", float64(rec.Failed))
	}
	if t.Load.Deadline > 0 {
		m.add("late-frac", float64(rec.Late)/float64(rec.Requests+rec.Unsent))
	}
	// Requests that timed out or were never sent would have been the slowest.
	slow := rec.Slow + rec.Unsent
	if h := rec.Latency; h != nil && h.Count() > 0 {
		m.latency("", h, slow)
		m.add("min-sec", h.Min().Seconds())
		m.add("mean-sec", h.Mean())
		m.add("stddev-sec", h.Stddev())
		if slow == 0 {
			m.add("max-sec", h.Max().Seconds())
		} else {
			m.warnings.Add(dyno.WarnSlowest, "%d requests timed out or were not sent: percentiles rank them as the slowest, max-sec is left out, and mean-sec and stddev-sec are too low", slow)
		}
		m.add("req/s", rec.Rate)
	} else if rec.Requests > 0 {
		m.told(rec)
	}
	if rec.Messages > 0 {
		m.add("messages/s", float64(rec.Messages)/rec.Own.Seconds())
	}
	if rec.SentRate > 0 {
		m.add("sent/s", rec.SentRate)
	}
	if rec.CPU > 0 {
		m.add("generator-cpu-frac", rec.CPU)
	}
	if rec.Lateness != nil { // an open load
		m.add("unsent", float64(rec.Unsent))
		m.latency("service-", rec.Service, rec.Slow)
		if rec.Lateness.Count() >= 100 { // of fewer it would be the longest
			m.add("lateness-p99-sec", rec.Lateness.Quantile(0.99).Seconds())
		}
	}
	for _, s := range rec.Steps {
		if s.Latency.Count() > 0 {
			m.latency(s.Label+"-", s.Latency, s.Slow)
		}
	}
	return m
}

// told adds what another generator says of latency.
func (m *measured) told(rec *load.Record) {
	for _, p := range dyno.Percentiles {
		if d := rec.Quantiles[p.Share]; d > 0 && float64(rec.Requests)*(1-p.Share) >= 1-1e-9 {
			m.add(p.Metric, d.Seconds())
		}
	}
	for name, d := range map[string]time.Duration{"mean-sec": rec.Mean, "min-sec": rec.Min, "max-sec": rec.Max} {
		if d > 0 && (name != "max-sec" || rec.Slow == 0) {
			m.add(name, d.Seconds())
		}
	}
	if rec.Rate > 0 {
		m.add("req/s", rec.Rate)
	}
}

// latency adds the percentiles of h and of slow more requests that took longer than any in h.
func (m *measured) latency(prefix string, h *hist.Histogram, slow int64) {
	n := float64(h.Count())
	all := n + float64(slow)
	for _, q := range dyno.Percentiles {
		// Of fewer requests it would be the longest, by another name.
		if rank := q.Share * all; all*(1-q.Share) >= 1-1e-9 && rank <= n {
			m.add(prefix+q.Metric, h.Quantile(rank/n).Seconds())
		}
	}
}

// ratios names the totals of a window that become metrics per request or, where the subject runs
// already, per second.
var ratios = struct{ perRequest, perSecond map[string]string }{
	perRequest: map[string]string{
		"cpu-sec/req": "cpu-sec", "alloc-B/req": "alloc-B", "allocs/req": "allocs", "gc-cpu-sec/req": "gc-cpu-sec",
		"mutex-wait-sec/req": "mutex-wait-sec", "minflt/req": "minflt", "throttled-sec/req": "throttled-sec",
	},
	perSecond: map[string]string{"cpu-frac": "cpu-sec", "minflt/s": "minflt"},
}

// ofProbes is what the probes saw. Per request means of rec.Window: failed and unmeasured ones cost
// the subject too.
func ofProbes(t *dyno.Trial, saw probe.Reading, rec *load.Record) (m measured) {
	m.warnings = saw.Warnings
	for _, metric := range dyno.Metrics {
		if v, ok := saw.Values.Get(metric.Name); ok {
			m.add(metric.Name, v)
		}
	}
	for _, v := range saw.Own {
		need, _ := dyno.NeedOf(v.Metric)
		_, mine := t.Subject.Needs[need]
		if _, taken := dyno.MetricByName(v.Metric); taken && (need == "" || mine) {
			m.warnings.AddOf(dyno.WarnMetric, v.Metric, "the service's own %s is left out: dyno has a metric of that name", v.Metric)
			continue
		}
		m.add(v.Metric, v.Value)
	}
	for _, v := range saw.Values {
		if need, metric := dyno.NeedOf(v.Metric); need != "" && !strings.HasSuffix(metric, "/req") {
			m.add(v.Metric, v.Value)
		}
	}
	divide := func(totals map[string]string, by float64) {
		for metric, total := range totals {
			if v, ok := saw.Values.Get(total); ok && by > 0 {
				m.add(metric, v/by)
			}
		}
	}
	if !t.Subject.Launched() {
		divide(ratios.perSecond, rec.Elapsed.Seconds())
		for name := range t.Subject.Needs {
			divide(map[string]string{name + "-cpu-frac": name + "-cpu-sec"}, rec.Elapsed.Seconds())
		}
	}
	requests := float64(rec.Window)
	for name := range t.Subject.Needs {
		for _, total := range []string{"cpu-sec", "statements", "server-sec", "rows", "temp-B", "new-connections"} {
			divide(map[string]string{name + "-" + total + "/req": name + "-" + total}, requests)
		}
	}
	divide(ratios.perRequest, requests)
	if cycles, ok := saw.Values.Get("gc-cycles"); ok && requests > 0 {
		m.add("req/gc", requests/cycles)
	}
	return m
}

// within returns the collections that ended in the window, on its clock. began is when it began on
// theirs.
func within(cs []dyno.Collection, began time.Duration) []dyno.Collection {
	for i := range cs {
		cs[i].Start -= began
		cs[i].End -= began
	}
	return slices.DeleteFunc(cs, func(c dyno.Collection) bool { return c.End < 0 })
}
