package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
)

// Knobs turn what the runtime of a subject lets turn while it runs.
type Knobs interface {
	Set(factor, level string) error
	Tick(on bool) error
	Trace(on bool) error
	Collections() (float64, error)
	Close()
}

// fewCollections is the least number in a slice for its phase not to matter.
const fewCollections = 3

// runSlices runs one launch and one load, during which the factor is turned. Results are stored after
// the load, as that takes CPU time. If a slice is missing all are measured again.
func (l *Lab) runSlices(ctx context.Context, e *dyno.Experiment, trials []dyno.Trial, sink func(*dyno.Result) error) error {
	if l.Skip != nil && !slices.ContainsFunc(trials, func(t dyno.Trial) bool { return !l.Skip(t.N) }) {
		return nil
	}
	s := &slicer{lab: l, e: e, trials: trials}
	whole := s.trial(ctx)
	err := context.Cause(ctx)
	if whole.Err == "" && s.err != nil {
		whole.Err = s.err.Error()
	}
	if whole.Err != "" && err == nil { // of a process that failed no part is good
		return sink(whole)
	}
	if whole.Err == "" && len(s.results) < len(trials) {
		whole.Warnings.AddOf(dyno.WarnSlices, "last", "the load ended before the last slice")
	}
	for _, r := range s.results {
		r.Subject, r.Sum, r.Warnings, r.Sent.Engine, r.Sent.Saturated = whole.Subject, whole.Sum, slices.Concat(whole.Warnings, r.Warnings), whole.Sent.Engine, whole.Sent.Saturated
		if sunk := sink(r); sunk != nil {
			return sunk
		}
	}
	return err
}

type slicer struct {
	lab    *Lab
	e      *dyno.Experiment
	trials []dyno.Trial

	pid      int
	knobs    Knobs
	untraced error // why the trace of collections cannot be turned, and is on all the time
	hold     gate
	results  []*dyno.Result // of the slices that are over
	err      error          // why the slices ended early
}

// trial runs the launch and load of all slices as one trial, with the lab's hands extended.
func (s *slicer) trial(ctx context.Context) *dyno.Result {
	l := *s.lab
	l.Keep, l.Inspect = nil, nil // the snapshots of one process are of no setting
	l.Start = func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
		running, err := s.lab.Start(ctx, t, dir, patience)
		if err != nil {
			return nil, err
		}
		s.pid = running.Target.PID
		if s.knobs, err = l.Knobs(s.pid, running.Target.Socket); err == nil {
			err = s.turn(t.Setting[0]) // the first turn looks for the trace's switch, which takes a while
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("change %s while the subject runs: %w", s.e.Live(), err), running.Stop())
		}
		return running, nil
	}
	l.Probe = func(name string) (probe.Probe, bool) {
		p, ok := s.lab.Probe(name)
		return held{p, &s.hold}, ok
	}
	l.Load = func(ctx context.Context, base string, ld dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
		begin, end := o.Begin, o.End
		var cutting sync.WaitGroup
		var stop context.CancelFunc
		o.Begin = func(ctx context.Context) error {
			if err := begin(ctx); err != nil {
				return err
			}
			var cut context.Context
			cut, stop = context.WithCancel(ctx)
			cutting.Go(func() { s.cut(cut, o.Meter) })
			return nil
		}
		o.End = func() {
			stop()
			cutting.Wait()
			end()
		}
		return s.lab.Load(ctx, base, ld, arg, o)
	}
	r := l.Trial(ctx, s.trials[0])
	if s.knobs != nil {
		s.knobs.Close()
	}
	return r
}

// cut turns the factor and measures between the turns, until the slices or ctx have ended.
func (s *slicer) cut(ctx context.Context, m *load.Meter) {
	defer s.hold.turn(true)
	length := time.Duration(s.e.Slice)
	next := time.Now().Add(length / 2) // the load lasts half a slice before the first and after the last: Experiment.sliced
	if !sleepUntil(ctx, next) {
		return
	}
	for _, t := range s.trials {
		next = next.Add(length)
		if s.err = s.turn(t.Setting[0]); s.err != nil {
			return
		}
		if settle := s.e.Settle(); settle > 0 && !sleepUntil(ctx, time.Now().Add(settle)) {
			return
		}
		from, err := s.count(m)
		if s.err = err; err != nil || !sleepUntil(ctx, next) {
			return
		}
		to, err := s.count(m)
		if s.err = err; err != nil {
			return
		}
		s.results = append(s.results, s.result(t, from, to))
	}
}

// turn gives the factor a level, also one that it has: so a turn costs the same in every slice.
func (s *slicer) turn(l dyno.Level) error {
	if l.Factor != dyno.ProbesFactor {
		return s.knobs.Set(l.Factor, l.Value)
	}
	on := l.Value == "on"
	s.hold.turn(on)
	if err := s.knobs.Tick(on); err != nil {
		return err
	}
	use := s.trials[0].Probes.Use
	if traced := len(use) == 0 || slices.Contains(use, "gctrace"); traced && s.untraced == nil {
		s.untraced = s.knobs.Trace(on)
	}
	return nil
}

type counts struct {
	at           time.Time
	cpu          float64 // seconds of the subject
	done, failed int64
	collections  float64
}

// count costs the subject nothing, unless the collector is turned: then it asks for its count,
// outside the slice.
func (s *slicer) count(m *load.Meter) (k counts, err error) {
	if s.e.Live() != dyno.ProbesFactor {
		if k.collections, err = s.knobs.Collections(); err != nil {
			return k, err
		}
	}
	if k.cpu, err = s.lab.CPU(s.pid); err != nil {
		return k, err
	}
	k.at, k.done, k.failed = time.Now(), m.Done.Load(), m.Failed.Load()
	return k, nil
}

func (s *slicer) result(t dyno.Trial, from, to counts) *dyno.Result {
	r := &dyno.Result{Trial: t, Start: from.at, Elapsed: to.at.Sub(from.at)}
	r.Sent.Requests = to.done - from.done
	switch {
	case r.Elapsed < (time.Duration(s.e.Slice)-s.e.Settle())/2:
		r.Err = fmt.Sprintf("dyno was late, so only %v of the slice was left (consider: less load on the machine)", r.Elapsed.Round(time.Millisecond))
		return r
	case r.Sent.Requests == 0:
		r.Err = "no request was answered in the slice (consider: a longer slice)"
		return r
	}
	var m measured
	requests, failed := float64(r.Sent.Requests), float64(to.failed-from.failed)
	m.add("req/s", (requests-failed)/r.Elapsed.Seconds())
	m.add("failures", failed)
	m.add("cpu-sec/req", (to.cpu-from.cpu)/requests)
	if s.e.Live() != dyno.ProbesFactor {
		cycles := to.collections - from.collections
		m.add("gc-cycles", cycles)
		m.add("req/gc", requests/cycles)
		if cycles < fewCollections {
			m.warnings.Add(dyno.WarnSlices, "%.0f collections in the slice are too few to measure their cost (consider: a longer slice)", cycles)
		}
	}
	if s.untraced != nil {
		m.warnings.Add(dyno.WarnSliceTrace, "the GC trace stays on with the probes off, so the difference lacks its cost of about 0.1 ms per collection: %v", s.untraced)
	}
	take(r, m)
	return r
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return true
	}
}

// A gate holds probes back while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil if it is open
}

func (g *gate) turn(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open && g.shut != nil {
		close(g.shut)
		g.shut = nil
	} else if !open && g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return
	}
	select {
	case <-shut:
	case <-ctx.Done():
	}
}

// A held probe watches only while the gate is open. Its first and last reading do not need the gate.
type held struct {
	probe.Probe
	gate *gate
}

func (h held) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	t.Hold = h.gate.pass
	return h.Probe.Watch(ctx, t)
}
