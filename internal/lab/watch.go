package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/pages"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// A Watching says how a lab watches what runs already.
type Watching struct {
	Process  kernel.Process  // the subject's; the zero value if it is not known
	End      <-chan struct{} // closed when the trial is to end: its window then is as long as it was, and whole
	Profiles []string        // heap and goroutine: taken just before the window and just after, from the plan's probes.pprof
	Traces   pages.Traces    // taken meanwhile, from there
}

// WatchTraces run for a fifteenth of a watched service's time.
var WatchTraces = pages.Traces{Length: 2 * time.Second, Every: 30 * time.Second}

// Watching returns a lab with the hands of l, but its one trial watches what runs already and
// leaves it as it is. When w says so or the process ends, the load stops and keeps what it
// measured.
func (l *Lab) Watching(w Watching) *Lab {
	a := &attendant{Watching: w, lab: l, lost: make(chan struct{})}
	hands := *l
	hands.Start, hands.Load, hands.Probe = a.take, a.load, a.probe
	hands.Inspect = nil // which walks the page tables under the process's lock
	return &hands
}

type attendant struct {
	Watching
	lab   *Lab
	lost  chan struct{} // closed when the process has ended
	trial *dyno.Trial
	dir   string // of the trial
}

func (a *attendant) take(_ context.Context, t *dyno.Trial, dir string, _ time.Duration) (*Running, error) {
	a.trial, a.dir = t, dir
	running := &Running{Base: t.Subject.URL, Target: probe.Target{Gentle: true}}
	running.watchNeeds(t)
	p := &a.Process
	if p.PID == 0 {
		return running, nil
	}
	if err := a.gone(); err != nil {
		return nil, err
	}
	running.Target.PID, running.Target.Grouped = p.PID, p.Grouped
	running.What = p.Name + ", process " + strconv.Itoa(p.PID)
	if p.Go != "" {
		running.What += ", " + p.Go
	}
	return running, nil
}

func (a *attendant) gone() error {
	now, err := kernel.Lookup(a.Process.PID)
	if err == nil && now.Started.Sub(a.Process.Started).Abs() > time.Second {
		err = fmt.Errorf("process %d has ended, and another process has its number", a.Process.PID)
	}
	return err
}

// These end the load of a watch; they are failures only if there is no window yet.
var (
	errEnough = errors.New("the watch was ended before its window began")
	errLost   = errors.New("the process ended before the window began")
)

func (a *attendant) load(ctx context.Context, base string, ld dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
	watch, stop := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.End:
			stop(errEnough)
		case <-a.lost:
			stop(errLost)
		case <-watch.Done():
		}
	})
	begin := o.Begin
	page := pages.Service{Pprof: a.trial.Probes.Pprof, Insecure: a.trial.Load.Insecure, Dir: a.dir}
	var untraced error
	o.Begin = func(ctx context.Context) error {
		if err := page.Profiles(a.Profiles, "before"); err != nil {
			return err
		}
		if err := begin(ctx); err != nil || a.Traces.Length == 0 {
			return err
		}
		waiting.Go(func() { untraced = page.Traces(watch, a.Traces) })
		return nil
	}
	rec, err := a.lab.Load(watch, base, ld, arg, o)
	stop(nil)
	waiting.Wait()
	if rec == nil {
		return nil, err
	}
	switch {
	case errors.Is(err, errEnough):
		err = nil
	case errors.Is(err, errLost), err != nil && a.Process.PID != 0 && a.gone() != nil: // which failed requests tell first
		err = nil
		rec.Warnings.Add(dyno.WarnWatchEnded, "process %d ended %v after the watch began: the results cover this time",
			a.Process.PID, rec.Elapsed.Round(100*time.Millisecond))
		return rec, nil
	}
	if untraced != nil {
		rec.Warnings.AddOf(dyno.WarnProfile, "trace", "%v", untraced)
	}
	if taken := page.Profiles(a.Profiles, "after"); taken != nil {
		rec.Warnings.AddOf(dyno.WarnProfile, "after", "%v", taken)
	}
	return rec, err
}

func (a *attendant) probe(name string) (probe.Probe, bool) {
	p, ok := a.lab.Probe(name)
	return &attended{p, name, a}, ok
}

// An attended probe tells the attendant that the process has ended.
type attended struct {
	probe.Probe
	name string
	to   *attendant
}

func (p *attended) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	reading, err := p.Probe.Watch(ctx, t)
	if p.name == "proc" && ctx.Err() == nil && p.to.gone() != nil { // which is said once
		close(p.to.lost)
		err = nil
	}
	return reading, err
}
