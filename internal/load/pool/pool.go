// Package pool makes one record of a load of those of its generators. It owns what adds up and what does not.
package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
)

// Records makes one record from those of several generators. Their Parts become its parts. Counts and
// histograms are added up, so percentiles are those of all requests together. A doubt about one generator
// names it. All windows began at start. The caller fills in Kept.
func Records(parts []*load.Record, names []string, start time.Time) *load.Record {
	sum := &load.Record{
		Start: start, Latency: hist.New(),
		Failures: map[string]int{}, Examples: map[string]string{}, Cures: map[string]string{},
	}
	sum.Engine, sum.Statuses = parts[0].Engine, map[int]int64{}
	sum.Service = sum.Latency
	if parts[0].Lateness != nil { // an open load
		sum.Service, sum.Lateness = hist.New(), hist.New()
	}
	done, over := 0.0, 0.0
	for _, p := range parts {
		add(sum, p)
		if sum.Lateness != nil {
			sum.Service.Merge(p.Service)
			sum.Lateness.Merge(p.Lateness)
		}
		if p.Own > 0 { // or nothing was over
			done += p.Rate * p.Own.Seconds()
			over += p.SentRate * p.Own.Seconds()
		}
	}
	if sum.Own > 0 {
		sum.Rate, sum.SentRate = done/sum.Own.Seconds(), over/sum.Own.Seconds()
	}
	doubt(sum, parts, names)
	return sum
}

// add adds the counts of a part.
func add(sum, p *load.Record) {
	sum.Requests += p.Requests
	sum.Unsent += p.Unsent
	sum.Failed += p.Failed
	sum.Slow += p.Slow
	sum.Late += p.Late
	sum.Window += p.Window
	sum.Waited += p.Waited
	sum.BytesIn += p.BytesIn
	sum.BytesOut += p.BytesOut
	sum.Messages += p.Messages
	for status, n := range p.Statuses {
		sum.Statuses[status] += n
	}
	for cause, n := range p.Failures {
		sum.Failures[cause] += n
	}
	maps.Copy(sum.Examples, p.Examples)
	maps.Copy(sum.Cures, p.Cures)
	sum.Latency.Merge(p.Latency)
	sum.Elapsed = max(sum.Elapsed, p.Elapsed)
	sum.Own = max(sum.Own, p.Own)
	sum.Played = max(sum.Played, p.Played)
	sum.Bad += p.Bad
	sum.LastBad = max(sum.LastBad, p.LastBad)
	sum.LastGood = max(sum.LastGood, p.LastGood)
	sum.CPU = max(sum.CPU, p.CPU)
	sum.StartedLate = max(sum.StartedLate, p.StartedLate)
	sum.Slowest = append(sum.Slowest, p.Slowest...)
	slices.SortStableFunc(sum.Slowest, func(a, b dyno.Request) int { return cmp.Compare(b.Done-b.Due, a.Done-a.Due) })
	sum.Slowest = sum.Slowest[:min(len(sum.Slowest), load.MostSlowest)]
	for _, s := range p.Steps { // a program names its steps in the order in which they come
		i := slices.IndexFunc(sum.Steps, func(of load.StepRecord) bool { return of.Label == s.Label })
		if i < 0 {
			i = len(sum.Steps)
			sum.Steps = append(sum.Steps, load.StepRecord{Label: s.Label, Latency: hist.New()})
		}
		sum.Steps[i].Add(&s)
	}
}

// doubt takes over the warnings of the parts, one of each kind. Those of failures and of saturation are of
// the sum.
func doubt(sum *load.Record, parts []*load.Record, names []string) {
	sum.WarnOfFailures()
	var limits []string
	for i, p := range parts {
		if p.Saturated != "" {
			limits = append(limits, names[i]+": "+p.Saturated)
		}
		for _, w := range p.Warnings {
			like := func(v dyno.Warning) bool { return v.Kind == w.Kind && v.Of == w.Of }
			if w.Kind == dyno.WarnFailures || w.Kind == dyno.WarnSaturated || slices.ContainsFunc(sum.Warnings, like) {
				continue
			}
			n := 0
			for _, q := range parts {
				if slices.ContainsFunc(q.Warnings, like) {
					n++
				}
			}
			if n < len(parts) || !same(parts, w) {
				w.Text = fmt.Sprintf("%d of %d agents: %s (figures of %s)", n, len(parts), w.Text, names[i])
			}
			sum.Warnings = append(sum.Warnings, w)
		}
	}
	if len(limits) > 0 {
		sum.Warnings.Add(dyno.WarnSaturated, "%s: latency is not compared (consider: a lower rate, other concurrency, or more agents)", strings.Join(limits, "; "))
	}
	sum.Saturated = strings.Join(limits, "; ")
}

// same reports whether all parts have a warning with the same figures.
func same(parts []*load.Record, w dyno.Warning) bool {
	return !slices.ContainsFunc(parts, func(q *load.Record) bool { return !slices.Contains(q.Warnings, w) })
}
