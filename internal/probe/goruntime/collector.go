package goruntime

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// Collector counts the collections whose lines arrive inside the window.
type Collector struct{}

// A traced cycle's cost in subject and dyno: 44 writes, 80 to 140 µs in subject's
// BenchmarkStderr. Above the share of one CPU there is a warning.
const (
	cycleCost = 100e-6
	costLimit = 0.02
)

func (Collector) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Trace == nil {
		return probe.Reading{}, errors.New("watch gctrace: the subject's standard error is not traced (consider: a subject that dyno launches)")
	}
	var (
		sum     = cycleSum{points: probe.Points{Sample: t.Sample}}
		seen    traced
		list    collections
		ends    = ender{ends: map[int]ending{}}
		buf     []gctrace.Cycle
		start   time.Time
		elapsed time.Duration
	)
	if t.Socket != "" {
		ends.c = &Client{Socket: t.Socket}
		defer ends.close()
	}
	t.Every = min(t.Interval(), time.Second) // more cycles than those of a second are not kept
	err := probe.Watch(ctx, t, func(at time.Duration) error {
		buf = t.Trace.Take(buf[:0])
		if start.IsZero() { // what came before the window
			start = time.Now()
			ends.ask(start)
			return nil
		}
		told := ends.ask(start) // of all whose lines have come, since they ended before
		for i := range buf {
			c, arrived := &buf[i], buf[i].At.Sub(start)
			end, ok := told[c.N]
			live := 0.0
			if list.add(c, arrived, end, ok) {
				live = end.live
			}
			sum.add(c, arrived, live, ends.exact)
			seen.add(c)
		}
		sum.course(at)
		elapsed = at
		return nil
	})
	if err != nil {
		return probe.Reading{}, err
	}
	r := sum.reading(elapsed)
	r.Collections, r.Origin = list.placed(), start
	r.InForce, r.GOGC = seen.procs, seen.gogc()
	if list.over > 0 {
		r.Warnings.Add(dyno.WarnGCList, "gc.csv has the first %d of %d collections (consider: a shorter window)", len(list.list), len(list.list)+list.over)
	}
	return r, nil
}

// A traced is what a trace tells of the settings of the runtime.
type traced struct {
	last   gctrace.Cycle
	procs  probe.InForce
	lo, hi []float64 // of GOGC, by the goals of collections
}

func (t *traced) add(c *gctrace.Cycle) {
	if c.Procs > 0 {
		t.procs.Add(dyno.InForce(math.NaN(), math.NaN(), float64(c.Procs)))
	}
	if lo, hi, ok := gctrace.GOGC(&t.last, c); ok {
		t.lo, t.hi = append(t.lo, lo), append(t.hi, hi)
	}
	t.last = *c
}

func (t *traced) gogc() probe.Bounds {
	if len(t.lo) == 0 {
		return probe.Bounds{}
	}
	slices.Sort(t.lo)
	slices.Sort(t.hi)
	return probe.Bounds{N: len(t.lo), Lo: t.lo[len(t.lo)/2], Hi: t.hi[len(t.hi)/2]}
}

type cycleSum struct {
	n                      int
	cpu, stwMax, stw       float64
	heapPeak               float64
	live                   float64 // of lives cycles
	lives                  int
	wall, assist, capacity float64 // seconds; capacity of all GOMAXPROCS

	points probe.Points
	latest gctrace.Cycle // which is not among the points yet if held
	held   bool
	at     time.Duration // of the latest
	marked float64       // by the latest; 0 if it is left out
}

// The last cycle of each pointWidth becomes a point: all of some thousand a second would
// be too many.
const pointWidth = 100 * time.Millisecond

// add takes a cycle with live bytes marked, 0 if not told. If others are told exactly, it
// has no part in what is live: the middle of a MiB would be a jump among them.
func (s *cycleSum) add(c *gctrace.Cycle, at time.Duration, live float64, exact bool) {
	s.n++
	s.cpu += c.CPU().Seconds()
	s.stw += (c.SweepTerm + c.MarkTerm).Seconds()
	s.heapPeak = max(s.heapPeak, c.HeapEnd)
	s.stwMax = max(s.stwMax, c.SweepTerm.Seconds(), c.MarkTerm.Seconds())
	least, spread := lengthOf(c)
	s.wall += min(least+spread/2, at).Seconds() // a part of the first may be before the window
	s.assist += c.Assist.Seconds()
	if c.Procs > 0 {
		s.capacity += c.CPU().Seconds() / float64(c.Procs)
	}
	if live == 0 && !exact {
		live = c.Live + 1<<19 // the middle of the MiB that it was cut to
	}
	if live > 0 {
		s.live += live
		s.lives++
	}
	s.course(at)
	s.latest, s.held, s.at, s.marked = *c, true, at, live
}

// course makes points of the held cycle if it is the last of its width by now.
func (s *cycleSum) course(now time.Duration) {
	if now/pointWidth != s.at/pointWidth {
		s.point()
	}
}

func (s *cycleSum) point() {
	c := &s.latest
	if !s.held {
		return
	}
	s.held = false
	s.points.Add("heap-start-B", s.at, c.HeapStart)
	if s.marked > 0 {
		s.points.Add("heap-live-B", s.at, s.marked)
		// What was live when marking began: without what was allocated since.
		s.points.Add("heap-true-B", s.at, max(0, s.marked-(c.HeapEnd-c.HeapStart)))
	}
	if c.Goal > 0 {
		s.points.Add("heap-goal-B", s.at, c.Goal)
	}
}

func (s *cycleSum) reading(elapsed time.Duration) probe.Reading {
	s.point()
	r := probe.Reading{Series: s.points.List, Values: dyno.Values{
		{Metric: "gc-cycles", Value: float64(s.n)},
		{Metric: "gc-cpu-sec", Value: s.cpu},
		{Metric: "stw-max-sec", Value: s.stwMax},
		{Metric: "stw-total-sec", Value: s.stw},
		{Metric: "gc-assist-sec", Value: s.assist},
		{Metric: "gc-wall-frac", Value: s.wall / elapsed.Seconds()},
		{Metric: "gc-capacity-frac", Value: s.capacity / elapsed.Seconds()},
		{Metric: "heap-live-B", Value: s.live / float64(s.lives)},
	}}
	r.Values = finite(r.Values)
	if s.n > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "heap-peak-B", Value: s.heapPeak})
	}
	rate := float64(s.n) / max(elapsed.Seconds(), 1e-3)
	if cost := rate * cycleCost; cost > costLimit {
		r.Warnings.Add(dyno.WarnProbeCost, "GC tracing took about %.0[2]f %% of a CPU: %.0[1]f collections per second, each with about 100 µs for its trace lines", rate, 100*cost)
	}
	return r
}
