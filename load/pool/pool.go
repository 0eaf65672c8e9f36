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
	"github.com/dynolab/dyno/load"
)

// Records makes one record of those of several generators, whose Parts were its parts.
// Counts add up, and so do histograms: a percentile is that of all requests pooled. A doubt that is
// of one generator names it. The window of parts[i] began at starts[i] of one clock; times count
// from the first. Kept is left to the caller.
func Records(parts []*load.Record, names []string, starts []time.Time) *load.Record {
	first := slices.MinFunc(starts, time.Time.Compare)
	sum := &load.Record{
		Start: first, Dead: parts[0].Dead, Latency: hist.New(),
		Failures: map[string]int{}, Examples: map[string]string{}, Cures: map[string]string{},
	}
	sum.Engine, sum.Statuses = parts[0].Engine, map[int]int64{}
	sum.Service = sum.Latency
	if parts[0].Lateness != nil { // an open load
		sum.Service, sum.Lateness = hist.New(), hist.New()
	}
	done, over := 0.0, 0.0
	for i, p := range parts {
		add(sum, p, starts[i].Sub(first))
		if sum.Lateness != nil {
			sum.Service.Merge(p.Service)
			sum.Lateness.Merge(p.Lateness)
		}
		done += p.Rate * p.Own.Seconds()
		over += p.SentRate * p.Own.Seconds()
	}
	sum.Rate, sum.SentRate = done/sum.Own.Seconds(), over/sum.Own.Seconds()
	doubt(sum, parts, names)
	return sum
}

// add adds the counts of a part whose window began so much later.
func add(sum, p *load.Record, later time.Duration) {
	sum.Requests += p.Requests
	sum.Unsent += p.Unsent
	sum.Failed += p.Failed
	sum.Slow += p.Slow
	sum.Late += p.Late
	sum.Window += p.Window
	sum.Waited += p.Waited
	sum.BytesIn += p.BytesIn
	sum.BytesOut += p.BytesOut
	for status, n := range p.Statuses {
		sum.Statuses[status] += n
	}
	for cause, n := range p.Failures {
		sum.Failures[cause] += n
	}
	maps.Copy(sum.Examples, p.Examples)
	maps.Copy(sum.Cures, p.Cures)
	sum.Latency.Merge(p.Latency)
	sum.Elapsed = max(sum.Elapsed, p.Elapsed+later)
	sum.Own = max(sum.Own, p.Own)
	sum.Played = max(sum.Played, p.Played)
	sum.Dead = min(sum.Dead, p.Dead)
	sum.CPU = max(sum.CPU, p.CPU)
	sum.StartedLate = max(sum.StartedLate, p.StartedLate)
	for _, q := range p.Slowest {
		q.Due, q.Sent, q.Done = q.Due+later, q.Sent+later, q.Done+later
		sum.Slowest = append(sum.Slowest, q)
	}
	slices.SortStableFunc(sum.Slowest, func(a, b dyno.Request) int { return cmp.Compare(b.Done-b.Due, a.Done-a.Due) })
	sum.Slowest = sum.Slowest[:min(len(sum.Slowest), load.MostSlowest)]
	for i, s := range p.Steps { // all have the steps of one plan
		if i == len(sum.Steps) {
			sum.Steps = append(sum.Steps, load.StepRecord{Label: s.Label, Latency: hist.New()})
		}
		to := &sum.Steps[i]
		to.Requests += s.Requests
		to.Failed += s.Failed
		to.Slow += s.Slow
		to.Latency.Merge(s.Latency)
	}
}

// doubt takes over the warnings of the parts. Those of failures are of the sum.
func doubt(sum *load.Record, parts []*load.Record, names []string) {
	sum.WarnOfFailures()
	var limits []string
	for i, p := range parts {
		if p.Saturated != "" {
			limits = append(limits, names[i]+": "+p.Saturated)
		}
		for _, w := range p.Warnings {
			lacks := func(q *load.Record) bool { return !slices.Contains(q.Warnings, w) }
			switch {
			case w.Kind == dyno.WarnFailures:
			case slices.ContainsFunc(parts, lacks):
				w.Text = fmt.Sprintf("%s: %s", names[i], w.Text)
				sum.Warnings = append(sum.Warnings, w)
			case i == 0: // it is of all
				sum.Warnings = append(sum.Warnings, w)
			}
		}
	}
	sum.Saturated = strings.Join(limits, "; ")
}
