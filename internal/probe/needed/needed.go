// Package needed has the probe of servers that work for the subject: what they use of CPU and memory, and what they
// were asked.
package needed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// Needs reads all of [probe.Target.Needs]. Its totals, which the lab divides by the number of requests, are NAME-cpu-sec, NAME-statements, NAME-server-sec, NAME-rows
// NAME-temp-B and NAME-new-connections.
type Needs struct{}

// mostStatements is how many statements of a need a result keeps: so many of the most frequent ones, and of those that
// took the most time.
const mostStatements = 50

// A watched is one of the needs in the window.
type watched struct {
	probe.Need
	used     func() (cpu, rss float64, err error) // nil if its processes are not known
	cpu      float64                              // seconds until the window began
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
		if n.Count == nil {
			w.Count = func(context.Context) (probe.Count, error) { return probe.Count{}, nil }
		}
		switch {
		case n.Usage != nil:
			w.used = func() (float64, float64, error) { return n.Usage(context.WithoutCancel(ctx)) }
		case n.PID != 0:
			w.used = kernel.NewFamily(n.PID).Used
		}
		// Before CPU time is read: asking a server takes some of its own.
		w.before, w.counting = w.Count(ctx)
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
	if w.used == nil {
		return nil
	}
	cpu, rss, err := w.used()
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
	now, err := w.Count(ctx)
	err = cmp.Or(w.counting, err)
	calls := w.statements(now, err, r, add)
	if w.used == nil || w.cpuAt == 0 {
		return
	}
	if w.Booked {
		add("rss-peak-B", w.peak)
	}
	if calls == 0 { // it was asked nothing: what it used is no request's
		add("cpu-sec", 0)
		return
	}
	add("cpu-sec", w.cpuNow-w.cpu)
}

// statements adds what a need was asked, and returns how often; below 0 if that is not known.
func (w *watched) statements(now probe.Count, err error, r *probe.Reading, add func(string, float64)) (calls float64) {
	if err == nil && now.HasConnections {
		add("connections", max(now.Connections, w.before.Connections))
	}
	if err == nil && now.HasOpened {
		add("new-connections", now.Opened-w.before.Opened)
	}
	if err == nil && now.Evicted > w.before.Evicted {
		err = fmt.Errorf("it has more kinds of statements than it keeps, and forgot some (consider: args: [%s])", now.KeepMore)
	}
	if err == nil && now.Unknown != "" {
		err = errors.New(now.Unknown)
	}
	if err != nil {
		r.Warnings.AddOf(dyno.WarnProbe, w.Name, "need %s does not say what it was asked: %v", w.Name, err)
		return -1
	}
	if now.Statements == nil {
		return -1
	}
	if now.HasTemp {
		add("temp-B", now.Temp-w.before.Temp)
	}
	did := map[string]dyno.Statement{}
	sum := dyno.Statement{}
	for key, s := range now.Statements {
		before := w.before.Statements[key]
		if s.Calls -= before.Calls; s.Calls <= 0 {
			continue
		}
		s.Sec, s.Rows = s.Sec-before.Sec, s.Rows-before.Rows
		did[s.Text] = plus(plus(did[s.Text], s), dyno.Statement{Need: w.Name, Text: s.Text})
		sum = plus(sum, s)
	}
	add("statements", sum.Calls)
	if sum.Sec > 0 {
		add("server-sec", sum.Sec)
	}
	if now.HasRows {
		add("rows", sum.Rows)
	}
	r.Statements = append(r.Statements, foremost(w.Name, slices.Collect(maps.Values(did)))...)
	return sum.Calls
}

// plus adds up two statements, with the name and text of the second.
func plus(a, b dyno.Statement) dyno.Statement {
	b.Calls, b.Sec, b.Rows = a.Calls+b.Calls, a.Sec+b.Sec, a.Rows+b.Rows
	return b
}

// foremost are the most frequent statements and those that took the most time, and the sum of all others as one without a text.
func foremost(need string, all dyno.Statements) (kept dyno.Statements) {
	slices.SortFunc(all, func(a, b dyno.Statement) int { return cmp.Or(cmp.Compare(b.Sec, a.Sec), cmp.Compare(a.Text, b.Text)) })
	slow := map[string]bool{}
	for _, s := range all[:min(len(all), mostStatements)] {
		slow[s.Text] = true
	}
	slices.SortStableFunc(all, func(a, b dyno.Statement) int { return cmp.Compare(b.Calls, a.Calls) })
	others := dyno.Statement{Need: need}
	for i, s := range all {
		if i < mostStatements || slow[s.Text] {
			kept = append(kept, s)
		} else {
			others = plus(s, others)
		}
	}
	if others.Calls > 0 {
		kept = append(kept, others)
	}
	return kept
}
