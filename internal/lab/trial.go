package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/lab/rests"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/foreign"
	"github.com/dynolab/dyno/internal/load/grpc"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// A Running is a subject that is ready for load. Done is closed when it has ended, and Err says why
// if it did so by itself. Stop ends it with all that it started; Kill ends it at once, and Stop has
// to follow. These four are nil for a service that dyno did not start.
type Running struct {
	Base     string        // scheme and address, such as http://127.0.0.1:8080
	Target   probe.Target  // Every and Begun are filled in by the lab
	What     string        // what runs: Go version, revision
	Sum      string        // of the executable, as subject.Built has it
	Node     *dyno.Machine // that it runs on; nil if it is this machine
	Ready    time.Duration // from its launch until it was ready; 0 if dyno did not launch it
	Warnings dyno.Warnings
	Done     <-chan struct{}
	Err      func() error
	Stop     func() error
	Kill     func()
	Late     dyno.Warnings // after Stop: that it had to be killed

	// Nil where it is not known:
	Moved   func() string       // says why what was measured is not who answers, after the load; "" if it is
	Environ func() dyno.Setting // of the process that answers, where that is not the one it was launched with; else nil

	// All of them of a subject on another machine, which this machine's /proc does not know; else nil:
	Probe   func(name string) (probe.Probe, bool) // instead of Hands.Probe
	Inspect func() (Inspector, error)             // instead of Hands.Inspect
	RSS     func() (float64, error)               // instead of Hands.RSS
}

// A VoidError is an error of a trial that says nothing about its subject, such as the loss of a
// generator. The block is measured again.
type VoidError struct {
	Why  string
	Lost bool // a generator was lost: the next trial needs others
}

func (e *VoidError) Error() string { return "the trial is void: " + e.Why }

// A trial is one trial under way. Its steps return what they measured.
type trial struct {
	lab *Lab
	dyno.Trial
	dir    string // for its files; "" if nothing is written
	meter  *load.Meter
	beside *besides      // nil if it runs alone
	died   bool          // the subject, by itself or for lack of memory
	late   dyno.Warnings // as Running has it
	began  time.Duration // of a trial beside others: when its window did, of the load's own time

	silences atomic.Int32 // time-outs of the injected probe
}

// mostSilences is after how many time-outs an injected probe is given up: each keeps the trial
// waiting, longPatience those of questions that may take long.
const (
	mostSilences = 2
	longPatience = 30 * time.Second
)

// silent counts a time-out of the injected probe, after which it took so long to fail. A long one
// is enough.
func (t *trial) silent(err error, took time.Duration) {
	switch {
	case !probe.IsTimeout(err):
	case took > longPatience:
		t.silences.Add(mostSilences)
	default:
		t.silences.Add(1)
	}
}

// givenUp reports whether the injected probe is not to be asked any more.
func (t *trial) givenUp() bool { return t.silences.Load() >= mostSilences }

// Trial runs one trial, alone. It always returns a result, and stops what it started.
func (l *Lab) Trial(ctx context.Context, plan dyno.Trial) *dyno.Result {
	r, t := l.begin(plan)
	t.finish(ctx, r)
	return r
}

func (l *Lab) begin(plan dyno.Trial) (*dyno.Result, *trial) {
	r := &dyno.Result{Trial: plan, Start: time.Now()}
	t := &trial{lab: l, Trial: plan, meter: new(load.Meter)}
	if l.Watch != nil {
		l.Watch(&r.Trial, t.meter)
	}
	return r, t
}

func (t *trial) finish(ctx context.Context, r *dyno.Result) {
	if err := t.run(ctx, r); err != nil {
		r.Err = err.Error()
		r.Void = errors.As(err, new(*VoidError))
	}
	r.Values.Sort()
}

func (t *trial) run(ctx context.Context, r *dyno.Result) (err error) {
	if t.dir, err = t.lab.Dir(t.N); err != nil {
		return err
	}
	kept := &requests{}
	if t.lab.Keep != nil && t.Load.KeepRequests != "none" && t.Load.Command == "" {
		if kept.file, err = os.CreateTemp(t.dir, "requests-*.scratch"); err != nil {
			return fmt.Errorf("make the scratch file of a trial: %w", err)
		}
		defer os.Remove(kept.file.Name())
		defer kept.file.Close()
	}
	err = t.withSubject(ctx, func(ctx context.Context, running *Running) error {
		r.Subject, r.Sum, r.Node, r.Warnings = running.What, running.Sum, running.Node, running.Warnings
		if running.Ready > 0 {
			r.Values = dyno.Values{{Metric: "ready-sec", Value: running.Ready.Seconds()}}
		}
		return t.measure(ctx, running, kept, r)
	})
	r.Died = t.died
	r.Warnings = append(r.Warnings, t.late...)
	if kept.all != nil && kept.file != nil && ctx.Err() == nil {
		if doubt := t.lab.Keep(t.N, kept.all); doubt != nil {
			r.Warnings.Add(dyno.WarnRequestsKept, "%v", doubt)
		}
	}
	return err
}

// requests holds the requests of a trial in a scratch file until its subject has stopped: their final
// form takes CPU time.
type requests struct {
	file *os.File // nil if they are not kept
	all  iter.Seq2[dyno.Request, error]
}

// withSubject launches the subject, calls do, and stops it. It returns the error that caused the
// others: a subject that ended by itself fails its trial, even after the last answer.
func (t *trial) withSubject(ctx context.Context, do func(context.Context, *Running) error) error {
	ctx, guard, err := t.lab.guardMemory(ctx, &t.Trial, t.beside)
	if err != nil {
		return err
	}
	t.meter.Enter("start")
	launch := func(limit time.Duration) (*Running, error) {
		guard.launch()
		return t.lab.Start(ctx, &t.Trial, t.dir, limit)
	}
	var running *Running
	if t.beside == nil {
		running, err = launch(0)
	} else {
		running, err = t.beside.start(ctx, t, launch)
	}
	if err != nil {
		return cmp.Or(guard.end(), err)
	}
	guard.ready(running)
	alive, release := whileAlive(ctx, running)
	err = do(alive, running)
	release()
	exhausted := guard.end() // before Stop, as the guard may be killing the subject
	t.died = exhausted != nil
	if running.Stop == nil {
		return cmp.Or(exhausted, err)
	}
	stopped := running.Stop()
	if t.late = running.Late; stopped != nil {
		stopped = fmt.Errorf("stop subject: %w", stopped)
	}
	ended := running.Err()
	t.died = t.died || ended != nil && !errors.As(ended, new(*VoidError)) // else it was a need that ended
	return cmp.Or(exhausted, ended, err, stopped)
}

// measure runs the load with the probes on during its window, lets the subject idle, and puts what was
// found into r. The window is closed again for loads that never reached End.
func (t *trial) measure(ctx context.Context, running *Running, kept *requests, r *dyno.Result) error {
	w := newWindow(t, running)
	s := &snapshots{trial: t, running: running, target: running.Target, sample: w.series.of("proc")}
	s.ready(ctx)
	rec, err := t.load(ctx, running, w, s, kept.file)
	w.close()
	if running.Moved != nil && ctx.Err() == nil { // else it has ended
		w.moved(running.Moved())
	}
	if t.beside != nil {
		r.Turns = t.beside.turns
	}
	if !w.start.IsZero() {
		r.Start = w.start
	}
	take(r, w.measured)
	if rec != nil {
		if !rec.Start.IsZero() {
			r.Start, r.Clock = rec.Start, kernel.Clock(rec.Start)
		}
		kept.all = rec.Kept
		saw := probe.Merge(w.readings)
		if t.beside != nil {
			saw.Values = t.beside.charge(t, saw.Values)
			rests.ChargeNeeds(running.Target.Needs, t.beside.needs, &saw)
		}
		r.Generators = rec.Generators
		r.Elapsed, r.Latency, r.Sent, r.Failures = rec.Elapsed, rec.Latency, rec.Sent, rec.Failures
		r.Collections = within(saw.Collections, r.Start.Sub(saw.Origin))
		take(r, ofLoad(&t.Trial, rec))
		take(r, ofProbes(&t.Trial, saw, rec))
		r.Statements = saw.Statements
		err = errors.Join(cmp.Or(err, w.missed), writeFiles(t.dir, saw.Files))
	}
	w.latency.close(r.Latency)
	if err == nil && len(r.Values) == 0 { // a trial that measured nothing fails
		err = errors.New("nothing was measured: no probe sees the service, and dyno could not read the output of the load command")
	}
	if err == nil {
		err = s.rest(ctx, r.Start)
	}
	if cut := w.series.close(); cut != nil {
		s.warnings.Add(dyno.WarnSeries, "%v", cut)
	}
	take(r, s.measured)
	r.Memory = s.since(r.Start)
	t.compareSettings(running, w.readings, r)
	return err
}

// load puts the load on the subject, with the window around what is measured. Beside others a trial
// awaits them before its load, its window, and the end of that.
func (t *trial) load(ctx context.Context, running *Running, w *window, s *snapshots, scratch *os.File) (*load.Record, error) {
	o := load.Options{
		Meter: t.meter, Scratch: scratch, Second: w.latency.second,
		Begin: func(ctx context.Context) error { s.before(ctx); return w.open(ctx) },
		End:   func() { w.close(); s.after(ctx) },
	}
	if t.beside != nil {
		defer t.beside.Leave()
		if err := t.beside.around(ctx, t, running, &o); err != nil {
			return nil, err
		}
	}
	open := o.Begin
	o.Begin = func(ctx context.Context) error {
		if err := open(ctx); err != nil {
			return err
		}
		return w.starts()
	}
	return t.put(ctx, running.Base, o)
}

// whileAlive returns a context that ends with the subject, with its error as the cause.
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

const (
	commandLog     = "load.log"  // what it wrote, or the load's program
	commandSummary = "load.json" // k6's summary
)

// put puts the load of a trial on its subject. A command runs where the subject does.
func (t *trial) put(ctx context.Context, base string, o load.Options) (*load.Record, error) {
	if t.Load.Program != "" || t.Load.GRPC != nil {
		return t.putProgram(ctx, base, o)
	}
	if t.Load.Command == "" {
		return t.lab.Load(ctx, base, t.Load, t.Subject.Arg, o)
	}
	c := foreign.Options{Options: o, Tool: t.lab.Tool, Dir: t.Subject.Dir}
	if t.dir == "" { // nothing is to be written
		return foreign.Run(ctx, base, t.Load, t.Subject.Arg, c)
	}
	dir, err := filepath.Abs(t.dir) // the command's directory is another
	if err != nil {
		return nil, err
	}
	log, err := logs.NewFile(dir, commandLog)
	if err != nil {
		return nil, err
	}
	c.Log, c.Summary = log, filepath.Join(dir, commandSummary)
	rec, err := foreign.Run(ctx, base, t.Load, t.Subject.Arg, c)
	return rec, errors.Join(err, log.Close())
}

// putProgram lets the load's program put the load of a trial on its subject.
func (t *trial) putProgram(ctx context.Context, base string, o load.Options) (rec *load.Record, err error) {
	l := t.Load
	if l.GRPC != nil {
		if o.Config, err = grpc.Config(&l, t.Subject.Arg); err != nil {
			return nil, err
		}
		l.GRPC = nil
	}
	if l.Program, err = t.lab.program(ctx, &t.Trial); err != nil {
		return nil, err
	}
	o.Dir = t.Subject.Dir
	if t.dir == "" { // nothing is to be written
		return t.lab.Load(ctx, base, l, t.Subject.Arg, o)
	}
	log, err := logs.NewFile(t.dir, commandLog)
	if err != nil {
		return nil, err
	}
	o.Log = log
	rec, err = t.lab.Load(ctx, base, l, t.Subject.Arg, o)
	return rec, errors.Join(err, log.Close())
}

// putLoad is the load of a trial that has no command: dyno's own, or none.
func putLoad(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
	if !l.None {
		return load.Run(ctx, base, l, arg, o)
	}
	if l.Warmup > 0 {
		o.Meter.Enter("warmup")
		if !sleepUntil(ctx, time.Now().Add(time.Duration(l.Warmup))) {
			return nil, context.Cause(ctx)
		}
	}
	if err := o.Begin(ctx); err != nil {
		return nil, err
	}
	o.Meter.Enter("measure")
	rec := &load.Record{Start: time.Now()}
	if l.Duration > 0 {
		sleepUntil(ctx, rec.Start.Add(time.Duration(l.Duration)))
	} else {
		<-ctx.Done()
	}
	rec.Elapsed = time.Since(rec.Start)
	err := context.Cause(ctx)
	o.End()
	return rec, err
}
