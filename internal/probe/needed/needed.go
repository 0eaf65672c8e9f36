// Package needed has the probe of servers that work for the subject: what they use of CPU and memory, and what they
// were asked.
package needed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// Needs reads all of [probe.Target.Needs]. A sample takes some 0.1 ms for each of their processes. Its totals, which
// the lab divides by the number of requests, are NAME-cpu-sec, NAME-statements, NAME-rows and NAME-temp-B.
type Needs struct{}

// mostStatements is how many statements of a need a result keeps, the most frequent ones.
const mostStatements = 50

// A watched is one of the needs in the window.
type watched struct {
	probe.Need
	family   *kernel.Family // nil if its processes are not known
	cpu      float64        // seconds until the window began
	cpuNow   float64
	cpuAt    time.Duration
	peak     float64 // bytes
	before   probe.Count
	counting error // why it does not count
}

func (Needs) Watch(ctx context.Context, t probe.Target) (r probe.Reading, err error) {
	points := probe.Points{Sample: t.Sample}
	var all []*watched
	for _, n := range t.Needs {
		w := &watched{Need: n}
		if n.PID != 0 {
			w.family = kernel.NewFamily(n.PID)
		}
		// Before CPU time is read: asking a server takes some of its own.
		w.before, w.counting = n.Count(ctx)
		all = append(all, w)
	}
	err = probe.Watch(ctx, t, func(at time.Duration) error {
		for _, w := range all {
			if err := w.sample(at, &points); err != nil {
				return fmt.Errorf("watch %s: %w", w.Name, err)
			}
		}
		return nil
	})
	r.Series = points.List
	for _, w := range all {
		w.sum(context.WithoutCancel(ctx), &r)
	}
	return r, err
}

func (w *watched) sample(at time.Duration, points *probe.Points) error {
	if w.family == nil {
		return nil
	}
	cpu, err := w.family.CPU()
	if err != nil {
		return err
	}
	rss, err := w.family.Resident()
	if err != nil {
		return err
	}
	if at == 0 {
		w.cpu = cpu
	} else if sec := (at - w.cpuAt).Seconds(); sec > 0 {
		points.Add(w.Name+"-cpu-frac", at, (cpu-w.cpuNow)/sec)
	}
	points.Add(w.Name+"-rss-B", at, rss)
	w.cpuNow, w.cpuAt, w.peak = cpu, at, max(w.peak, rss)
	return nil
}

// sum adds what a need did to a reading.
func (w *watched) sum(ctx context.Context, r *probe.Reading) {
	add := func(metric string, v float64) {
		r.Values = append(r.Values, dyno.Value{Metric: w.Name + "-" + metric, Value: v})
	}
	if w.family != nil && w.Booked && w.cpuAt > 0 {
		add("cpu-sec", w.cpuNow-w.cpu)
		add("rss-peak-B", w.peak)
	}
	now, err := w.Count(ctx)
	if err = cmp.Or(w.counting, err); err != nil {
		r.Warnings.AddOf(dyno.WarnProbe, w.Name, "need %s does not say what it did: %v", w.Name, err)
		return
	}
	if now.HasConnections {
		add("connections", max(now.Connections, w.before.Connections))
	}
	if now.HasTemp {
		add("temp-B", now.Temp-w.before.Temp)
	}
	if now.Statements == nil {
		return
	}
	calls, rows, took := 0.0, 0.0, 0.0
	var did dyno.Statements
	for _, s := range now.Statements {
		before := w.before.Statements.Find("", s.Text)
		s.Need, s.Calls, s.Sec, s.Rows = w.Name, s.Calls-before.Calls, s.Sec-before.Sec, s.Rows-before.Rows
		if s.Calls > 0 {
			did, calls, rows, took = append(did, s), calls+s.Calls, rows+s.Rows, took+s.Sec
		}
	}
	add("statements", calls)
	if took > 0 {
		add("statement-sec", took)
	}
	if now.HasRows {
		add("rows", rows)
	}
	slices.SortStableFunc(did, func(a, b dyno.Statement) int { return cmp.Compare(b.Calls, a.Calls) })
	r.Statements = append(r.Statements, did[:min(len(did), mostStatements)]...)
}
