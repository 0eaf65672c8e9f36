// Package lab runs experiments: it brings a subject, its probes and its load
// together for each trial, one trial at a time.
//
// It owns the order of what happens in a trial and what becomes of failures. It
// does not own how a subject is built and launched (package subject), how
// requests are sent (load) or how anything is observed (probe), and it stores
// nothing: each result goes to a sink.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/probe"
)

// A Lab holds the hands that do the work. [Open] gives those of this machine;
// tests bring their own.
type Lab struct {
	// Prepare makes everything that Start needs of a subject, such as a build,
	// and keeps it, so that no trial waits for it. Nil means there is nothing.
	Prepare func(ctx context.Context, s dyno.Subject) error
	// Limit is subject.CheckLimits; nil means that any limit can be set.
	Limit func(dyno.Limits) error
	// Start launches the subject of a trial, whose files go to dir, and returns
	// when it is ready.
	Start func(ctx context.Context, t *dyno.Trial, dir string) (*Running, error)
	// Load is load.Run.
	Load func(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error)
	// Tool runs the command of a load that has one: subject.RunTool.
	Tool load.Tool
	// Probe is probe.Named.
	Probe func(name string) (probe.Probe, bool)
	// RSS is probe.RSS; nil means that idle memory is not read.
	RSS func(pid int) (float64, error)
	// Memory tells how many bytes of memory are left here, and of how many: of the
	// machine or of a control group that limits it. Nil means that nobody minds.
	Memory func() (left, total float64, err error)
	// Look is probe.OpenLook; nil means that nobody looks where memory is.
	Look func(pid int, socket string) (Looker, error)
	// Knobs is probe.OpenKnobs, and CPU is probe.CPU: what slices need.
	Knobs func(pid int, socket string) (Knobs, error)
	CPU   func(pid int) (float64, error)
	// Dir makes the directory for the files of trial n.
	Dir func(n int) (string, error)
	// Keep stores the single requests of trial n; nil means that they are not
	// wanted.
	Keep func(n int, requests iter.Seq2[dyno.Request, error]) error
	// Skip reports that trial n is done already; nil means none is.
	Skip func(n int) bool
	// Watch is told of each trial as it begins, with the meter of its load; nil
	// means nobody watches.
	Watch func(t *dyno.Trial, m *load.Meter)
	// Live is told of each point of the series as it is read, and by which probe, and
	// Second once a second of the latency in a part of the window, h being valid until
	// it returns. Several goroutines call them, and wait for them; nil means that
	// nobody looks on.
	Live   func(probe, metric string, v float64)
	Second func(h *hist.Histogram, from, to time.Duration)
	// Interrupted is given what there is of the trial that the end of Run's
	// context broke off; nil means nobody wants it.
	Interrupted func(r *dyno.Result)
}

// A Looker looks at a subject outside the measured window, where that may cost
// what it takes: probe.Look. Without the injected probe all but Snapshot and Brief,
// which then know less, and Close are errors. An error that wraps
// errors.ErrUnsupported says that there is no such thing here.
type Looker interface {
	Snapshot() (dyno.Snapshot, error)
	Brief() (dyno.Snapshot, error)       // less exact, and cheap enough to be taken again and again
	Collect() error                      // forced collections, until the heap holds nothing dead
	Free() error                         // debug.FreeOSMemory
	Profile(name string) ([]byte, error) // heap, goroutine or goroutineleak
	Close()
}

// A Running is a subject that is ready for load. Stop ends it and everything it
// started; Done is closed when it has ended, and Err says why if it did so by
// itself. Kill ends the subject itself at once; Stop has to follow. All four are
// nil for a service that dyno did not start.
type Running struct {
	Base     string        // scheme and address, such as http://127.0.0.1:8080
	Target   probe.Target  // Every and Begun are filled in by the lab
	What     string        // what runs: Go version, revision
	Ready    time.Duration // from its launch until it was ready; 0 if dyno did not launch it
	Warnings []string
	Done     <-chan struct{}
	Err      func() error
	Stop     func() error
	Kill     func()
}

// Check finds the mistakes in a plan that the hands would find too late: in the
// steps of the load. They are *dyno.PlanErrors.
func Check(e *dyno.Experiment) error {
	if err := e.Check(); err != nil {
		return err
	}
	for _, t := range firstBlock(e) {
		if t.Load.None {
			continue
		}
		check := load.Check
		if t.Load.Command != "" {
			check = load.CheckCommand
		}
		if err := check(t.Load, t.Subject.Arg); err != nil {
			return err
		}
	}
	return nil
}

// firstBlock is one trial of each setting.
func firstBlock(e *dyno.Experiment) []dyno.Trial { return e.Trials()[:len(e.Levels())] }

// PrepareAll prepares the subject of every setting, and makes sure that its limits
// can be set.
func (l *Lab) PrepareAll(ctx context.Context, e *dyno.Experiment) error {
	for _, t := range firstBlock(e) {
		if t.Grouped && l.Limit != nil {
			if err := l.Limit(t.Limits); err != nil {
				return err
			}
		}
	}
	if l.Prepare == nil {
		return nil
	}
	for _, t := range firstBlock(e) {
		if err := l.Prepare(ctx, t.Subject); err != nil {
			return err
		}
	}
	return nil
}

// Run runs every trial of e in order and hands each result to sink before it
// begins the next. A trial that fails is a result with Err set, and the
// experiment goes on. Run ends early only if ctx ends, which leaves the trial
// under way without a result, or if sink returns an error. PrepareAll comes
// before.
func (l *Lab) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	if e.Slice > 0 {
		return l.runSlices(ctx, e, sink)
	}
	for _, t := range e.Trials() {
		if l.Skip != nil && l.Skip(t.N) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := l.Trial(ctx, t)
		if ctx.Err() != nil {
			if l.Interrupted != nil {
				l.Interrupted(r)
			}
			return context.Cause(ctx)
		}
		if err := sink(r); err != nil {
			return err
		}
	}
	return nil
}

// Trial runs one trial. It always returns a result, and what it started is
// always stopped when it returns.
func (l *Lab) Trial(ctx context.Context, t dyno.Trial) *dyno.Result {
	r := &dyno.Result{Trial: t, Start: time.Now()}
	var kept scratch
	if err := l.trial(ctx, r, &kept); err != nil {
		r.Err = err.Error()
	}
	kept.store(ctx, l, r)
	r.Values.Sort()
	return r
}

func (l *Lab) trial(ctx context.Context, r *dyno.Result, kept *scratch) (err error) {
	t := &r.Trial
	meter := new(load.Meter)
	if l.Watch != nil {
		l.Watch(t, meter)
	}
	dir, err := l.Dir(t.N)
	if err != nil {
		return err
	}
	if err := kept.open(l, t, dir); err != nil {
		return err
	}
	ctx, guard, unguard, err := l.guardMemory(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(unguard(), err) }()
	meter.Enter("start")
	running, err := l.Start(ctx, t, dir)
	if err != nil {
		return err
	}
	guard.ready(running)
	r.Subject, r.Warnings = running.What, running.Warnings
	if running.Ready > 0 {
		add(r, "ready-sec", running.Ready.Seconds())
	}
	if running.Stop != nil {
		defer func() {
			unguard() // which may be killing the subject
			stopped := running.Stop()
			// A subject that ended by itself fails its trial, be it after
			// the last answer; and its own error is the better one.
			if died := running.Err(); died != nil {
				err = died
			} else if stopped != nil && err == nil {
				err = fmt.Errorf("stop subject: %w", stopped)
			}
		}()
	}
	ctx, release := whileAlive(ctx, running)
	defer release()

	w := &window{lab: l, result: r, target: running.Target, base: running.Base, dir: dir, series: newSeriesLog(dir)}
	defer func() {
		if err := w.series.close(); err != nil {
			r.Warnings = append(r.Warnings, err.Error())
		}
	}()
	k := &looks{lab: l, result: r, target: running.Target, dir: dir, meter: meter, sample: w.series.of("proc")}
	defer k.place()
	k.ready(ctx)
	rec, err := l.put(ctx, t, running.Base, dir, load.Options{
		Meter: meter, Scratch: kept.file, Second: w.second,
		Begin: func(ctx context.Context) error { k.before(ctx); return w.open(ctx) },
		End:   func() { w.close(); k.after(ctx) },
	})
	w.close()
	if rec != nil {
		kept.requests = rec.Kept
		record(r, rec)
		// Failed requests, and those of steps that are not measured, cost
		// the subject something too.
		saw := probe.Merge(w.readings)
		observe(r, saw, rec.Window)
		if err == nil { // else it is the cause
			err = w.failure()
		}
		err = errors.Join(err, w.write(saw.Files))
	}
	w.closeLog()
	if err != nil {
		return err
	}
	if len(r.Values) == 0 { // no data is no pass
		return errors.New("nothing was measured: no probe sees the service, and the output of the load command was not understood")
	}
	return k.rest(ctx)
}

// whileAlive returns a context that ends when the subject does, with the
// subject's error as its cause. The caller calls release.
func whileAlive(ctx context.Context, running *Running) (alive context.Context, release func()) {
	alive, cancel := context.WithCancelCause(ctx)
	if running.Done == nil {
		return alive, func() { cancel(nil) }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-running.Done:
			cancel(running.Err())
		case <-alive.Done():
		}
	})
	return alive, func() { cancel(nil); wg.Wait() }
}
