// Package lab runs experiments: it brings a subject, its probes and its load together in one trial
// at a time.
//
// It owns the order of events in a trial and the handling of failures. Package subject builds and
// launches, load sends requests, probe observes, and each result goes to a sink.
package lab

import (
	"context"
	"iter"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/load/foreign"
	"github.com/dynolab/dyno/probe"
)

// A Lab runs trials with its hands and tells its observers. [Open] gives the hands of this machine.
type Lab struct {
	Hands
	Observers
}

// Hands do the work of a trial. Start, Load, Probe and Dir are required; Tool is for a load that is
// a command; Knobs and CPU are for slices.
type Hands struct {
	Prepare func(ctx context.Context, s dyno.Subject) error // makes, and keeps, what Start needs of a subject, such as a build
	Limit   func(dyno.Limits) error                         // subject.CheckLimits; nil means that any limit can be set
	// Start launches the subject of a trial, whose files go to dir, and returns when it is ready.
	Start func(ctx context.Context, t *dyno.Trial, dir string) (*Running, error)
	Load  func(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) // load.Run
	Tool  foreign.Tool                                                                                                     // runs the command of a load that has one: subject.RunTool
	Probe func(name string) (probe.Probe, bool)                                                                            // probeNamed
	RSS   func(pid int) (float64, error)                                                                                   // kernel.RSS; nil means that idle memory is not read
	// Memory returns the bytes left and the total, of the machine or of a control group that limits
	// it. Nil means that memory is not guarded.
	Memory  func() (left, total float64, err error)
	Inspect func(pid int, socket string) (Inspector, error) // goruntime.OpenLook; nil means that there are no snapshots
	Knobs   func(pid int, socket string) (Knobs, error)     // goruntime.OpenKnobs, and CPU is kernel.CPU
	CPU     func(pid int) (float64, error)
	Dir     func(n int) (string, error) // makes the directory for the files of trial n
	Skip    func(n int) bool            // reports that trial n is done already; nil means that none is
}

// Observers are told what happens. Each may be nil. The lab waits for them.
type Observers struct {
	Watch func(t *dyno.Trial, m *load.Meter)    // told of each trial as it begins, with the meter of its load
	Live  func(probe, metric string, v float64) // told of each point of the series, and by which probe. Several goroutines call it.
	// Second is told once a second of the latency in a part of the window. h is valid until it
	// returns.
	Second      func(h *hist.Histogram, from, to time.Duration)
	Keep        func(n int, requests iter.Seq2[dyno.Request, error]) error // stores the single requests of trial n
	Interrupted func(r *dyno.Result)                                       // given the partial result of the trial during which Run's context ended
}

// Check returns the first mistake in a plan as a *dyno.PlanError: what e.Check finds, and mistakes in
// the steps or the command of a load, which would otherwise appear only when a trial runs.
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
			check = foreign.Check
		}
		if err := check(t.Load, t.Subject.Arg); err != nil {
			return err
		}
	}
	return nil
}

func firstBlock(e *dyno.Experiment) []dyno.Trial { return e.Trials()[:len(e.Levels())] }

// PrepareAll checks the limits and prepares the subject of every setting.
func (l *Lab) PrepareAll(ctx context.Context, e *dyno.Experiment) error {
	trials := firstBlock(e)
	for _, t := range trials {
		if t.Grouped && l.Limit != nil {
			if err := l.Limit(t.Limits); err != nil {
				return err
			}
		}
	}
	for _, t := range trials {
		if err := l.Prepare(ctx, t.Subject); err != nil {
			return err
		}
	}
	return nil
}

// Run runs every trial of e in order and hands each result to sink before the next begins. A trial
// that fails is a result with Err. Run ends early only if ctx ends, which leaves the current trial
// without a result, or if sink fails. Call PrepareAll before.
func (l *Lab) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	trials := e.Trials()
	if e.Slice > 0 {
		return l.runSlices(ctx, e, trials, sink)
	}
	for _, t := range trials {
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
