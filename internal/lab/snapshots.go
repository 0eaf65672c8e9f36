package lab

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// An Inspector takes snapshots of a subject outside the measured window: goruntime.Inspector. Without
// the injected probe only Snapshot, Brief (which then know less) and Close work.
// errors.ErrUnsupported means that a thing does not exist here.
type Inspector interface {
	Snapshot() (dyno.Snapshot, error)
	Brief() (dyno.Snapshot, error)       // less exact, and cheap enough to be taken again and again
	Collect() error                      // forced collections, until the heap holds nothing dead
	Free() error                         // debug.FreeOSMemory
	Profile(name string) ([]byte, error) // heap, goroutine or goroutineleak
	Close()
}

// snapshots tells where a subject's memory is before and after the window. A failure here is a warning.
type snapshots struct {
	measured
	trial   *trial
	running *Running
	target  probe.Target
	sample  func(metric string, at time.Duration, v float64) // a point of a series
	memory  []dyno.Snapshot
	at      []time.Time // when they were taken
}

const (
	settleEvery = 100 * time.Millisecond // after FreeOSMemory the service may still be about to free more
	settleMost  = time.Second
	settled     = 0.005 // of the resident memory: a smaller fall counts as none
)

// with opens the subject for inspection, if possible.
func (k *snapshots) with(ctx context.Context, inspect func(Inspector) error) {
	open := k.running.Inspect
	if here := k.trial.lab.Inspect; open == nil && here != nil {
		open = func() (Inspector, error) { return here(k.target.PID, k.target.Socket) }
	}
	if open == nil || k.target.PID == 0 || k.target.Also != nil || ctx.Err() != nil { // a snapshot is of one process
		return
	}
	if k.target.Socket != "" && k.trial.givenUp() {
		k.target.Socket = ""
		k.warnings.Add(dyno.WarnNotInjected, "the injected probe stopped answering: measured from outside only")
	}
	asked := time.Now()
	l, err := open()
	if err == nil {
		err = inspect(l)
		l.Close()
	}
	k.trial.silent(err, time.Since(asked))
	// A subject that died fails its trial with a better error.
	if err != nil && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
		k.warnings.Add(dyno.WarnSnapshot, "%v", err)
	}
}

func (k *snapshots) ready(ctx context.Context) {
	k.with(ctx, func(l Inspector) error { return k.snapshot(l, dyno.StageReady) })
}

// before takes a snapshot just before the probes begin.
func (k *snapshots) before(ctx context.Context) {
	if !k.forces() {
		return
	}
	k.trial.meter.Enter("snapshot")
	k.with(ctx, func(l Inspector) error {
		profiles := func() error { return k.profiles(l, "before") }
		snapshot := func() error { return k.snapshot(l, dyno.StageBefore) }
		return inOrder(l.Collect, profiles, l.Collect, snapshot) // profiles make garbage
	})
}

// after takes a snapshot when the probes have ended. In a trial that looks for leaks it then forces
// a collection and takes another, with profiles.
func (k *snapshots) after(ctx context.Context) {
	if k.forces() {
		k.trial.meter.Enter("snapshot")
	}
	k.with(ctx, func(l Inspector) error {
		if err := k.snapshot(l, dyno.StageEnd); err != nil || !k.forces() {
			return err
		}
		snapshot := func() error { return k.snapshot(l, dyno.StageAfter) }
		profiles := func() error { return k.profiles(l, "after") }
		leaks := func() error { return k.profile(l, "goroutineleak", "after") } // unsupported before Go 1.27: see with
		return inOrder(l.Collect, snapshot, profiles, leaks)
	})
}

// inOrder takes steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (k *snapshots) forces() bool { return k.trial.Leak && k.target.Socket != "" }

// profiles takes those whose difference tells what grew.
func (k *snapshots) profiles(l Inspector, when string) error {
	if err := k.profile(l, "heap", when); err != nil {
		return err
	}
	return k.profile(l, "goroutine", when)
}

func (k *snapshots) profile(l Inspector, name, when string) error {
	if k.trial.dir == "" {
		return nil
	}
	data, err := l.Profile(name)
	if err != nil {
		return err
	}
	return writeFiles(k.trial.dir, []probe.File{{Name: name + "-" + when + ".pb.gz", Data: data}})
}

func (k *snapshots) snapshot(l Inspector, stage string) error {
	at := time.Now()
	s, err := l.Snapshot()
	if err != nil {
		return err
	}
	s.Stage = stage
	k.at, k.memory = append(k.at, at), append(k.memory, s)
	return nil
}

// since returns the snapshots on the clock of the window.
func (k *snapshots) since(start time.Time) []dyno.Snapshot {
	for i, at := range k.at {
		k.memory[i].At = at.Sub(start)
	}
	return k.memory
}

// rest samples memory while the subject rests, and reads it at the end. In a trial ForMemory the runtime then
// gives back what it can. start is the beginning of the window.
func (k *snapshots) rest(ctx context.Context, start time.Time) error {
	rest := time.Duration(k.trial.Load.Idle)
	read := k.running.RSS
	if here := k.trial.lab.RSS; read == nil && here != nil {
		read = func() (float64, error) { return here(k.target.All()...) }
	}
	if rest == 0 || k.target.PID == 0 || read == nil {
		return nil
	}
	k.trial.meter.Enter("idle")
	resting, cancel := context.WithTimeout(ctx, rest)
	defer cancel()
	k.with(resting, func(l Inspector) error { return k.watch(resting, l, start) })
	<-resting.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rss, err := read()
	if err != nil {
		k.warnings.AddOf(dyno.WarnSnapshot, "rss-idle-B", "rss-idle-B is missing: %v", err)
		return nil
	}
	k.add("rss-idle-B", rss)
	k.with(ctx, func(l Inspector) error {
		err := k.snapshot(l, dyno.StageIdle)
		if err != nil || k.trial.For != dyno.ForMemory || k.target.Socket == "" {
			return err
		}
		k.trial.meter.Enter("free")
		settled := func() error { return settle(ctx, l) }
		return inOrder(l.Free, settled, func() error { return k.snapshot(l, dyno.StageFreed) })
	})
	return nil
}

func (k *snapshots) watch(resting context.Context, l Inspector, start time.Time) error {
	tick := time.NewTicker(k.trial.Probes.Every.Or(dyno.DefaultEvery))
	defer tick.Stop()
	for {
		s, err := l.Brief()
		if err != nil {
			return err
		}
		at := time.Since(start)
		k.sample("idle-rss-B", at, s.RSS)
		if s.Mapped() > 0 {
			k.sample("idle-heap-idle-B", at, s.Idle)
			k.sample("idle-heap-released-B", at, s.Released)
		}
		select {
		case <-resting.Done():
			return nil
		case <-tick.C:
		}
	}
}

// settle waits until the resident memory falls no more.
func settle(ctx context.Context, l Inspector) error {
	last := math.Inf(1)
	for end := time.Now().Add(settleMost); time.Now().Before(end); {
		s, err := l.Brief()
		if err != nil || s.RSS > last*(1-settled) {
			return err
		}
		last = s.RSS
		if !sleepUntil(ctx, time.Now().Add(settleEvery)) {
			return context.Cause(ctx)
		}
	}
	return nil
}
