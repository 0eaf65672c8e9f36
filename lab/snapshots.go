package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/probe"
)

// looks are what one trial looks at outside its measured window: where the memory
// is, before and after. What fails here is a warning, not a failure of the trial.
type looks struct {
	lab    *Lab
	result *dyno.Result
	target probe.Target
	dir    string // of the trial; "" if nothing is written
	meter  *load.Meter
	sample func(metric string, at time.Duration, v float64) // a point of a series
	at     []time.Time                                      // when the snapshots of the result were taken
}

const (
	// mostGoroutines are profiled before the window: of 100,000 it takes 0.1 s, in
	// which nothing runs.
	mostGoroutines = 10_000

	// What FreeOSMemory gives back has gone when it returns, but the service may be
	// about to free more.
	settleEvery = 100 * time.Millisecond
	settleMost  = time.Second
	settled     = 0.005 // of the resident memory, a fall of less than which is none
)

// with opens the subject to a look, if it may be looked at.
func (k *looks) with(ctx context.Context, look func(Looker) error) {
	if k.lab.Look == nil || k.target.PID == 0 || ctx.Err() != nil {
		return
	}
	l, err := k.lab.Look(k.target.PID, k.target.Socket)
	if err == nil {
		err = look(l)
		l.Close()
	}
	// A subject that died fails its trial with a better error.
	if err != nil && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
		k.warn("%v", err)
	}
}

func (k *looks) warn(format string, args ...any) {
	k.result.Warnings = append(k.result.Warnings, fmt.Sprintf(format, args...))
}

// ready looks before the load.
func (k *looks) ready(ctx context.Context) {
	k.with(ctx, func(l Looker) error { return k.snapshot(l, dyno.StageReady) })
}

// before looks just before the probes begin.
func (k *looks) before(ctx context.Context) {
	if !k.forces() {
		return
	}
	k.meter.Enter("look")
	k.with(ctx, func(l Looker) error {
		if err := l.Collect(); err != nil {
			return err
		}
		if err := k.profiles(l, "before"); err != nil {
			return err
		}
		if err := l.Collect(); err != nil { // profiles make garbage
			return err
		}
		return k.snapshot(l, dyno.StageBefore)
	})
}

// after looks when the probes have ended: first before anything is forced.
func (k *looks) after(ctx context.Context) {
	if k.forces() {
		k.meter.Enter("look")
	}
	k.with(ctx, func(l Looker) error {
		if err := k.snapshot(l, dyno.StageEnd); err != nil || !k.forces() {
			return err
		}
		if err := l.Collect(); err != nil {
			return err
		}
		if err := k.snapshot(l, dyno.StageAfter); err != nil {
			return err
		}
		if err := k.profiles(l, "after"); err != nil {
			return err
		}
		err := k.profile(l, "goroutineleak", "after")
		if errors.Is(err, errors.ErrUnsupported) { // before Go 1.27
			err = nil
		}
		return err
	})
}

// forces reports whether collections are forced around the window.
func (k *looks) forces() bool { return k.result.Trial.Leak && k.target.Socket != "" }

// profiles takes those of which the difference tells what grew.
func (k *looks) profiles(l Looker, when string) error {
	if err := k.profile(l, "heap", when); err != nil {
		return err
	}
	if when == "before" {
		s, err := l.Brief()
		if err != nil {
			return err
		}
		if s.Goroutines > mostGoroutines {
			k.warn("there is no profile of goroutines before the window: %.0f are too many to stop for it", s.Goroutines)
			return nil
		}
	}
	return k.profile(l, "goroutine", when)
}

func (k *looks) profile(l Looker, name, when string) error {
	if k.dir == "" {
		return nil
	}
	data, err := l.Profile(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(k.dir, name+"-"+when+".pb.gz"), data, 0o666); err != nil {
		return fmt.Errorf("keep a profile: %w", err)
	}
	return nil
}

func (k *looks) snapshot(l Looker, stage string) error {
	at := time.Now()
	s, err := l.Snapshot()
	if err != nil {
		return err
	}
	s.Stage = stage
	k.at, k.result.Memory = append(k.at, at), append(k.result.Memory, s)
	return nil
}

// place puts the snapshots on the clock of the window, when that is known.
func (k *looks) place() {
	for i, at := range k.at {
		k.result.Memory[i].At = at.Sub(k.result.Start)
	}
}

// rest lets the subject rest, looks on, and reads its resident memory then. In a
// trial ForMemory it then has the runtime give back what it can.
func (k *looks) rest(ctx context.Context) error {
	rest := time.Duration(k.result.Trial.Load.Idle)
	if rest == 0 || k.target.PID == 0 || k.lab.RSS == nil {
		return nil
	}
	k.meter.Enter("idle")
	resting, cancel := context.WithTimeout(ctx, rest)
	defer cancel()
	k.with(resting, func(l Looker) error { return k.watch(resting, l) })
	<-resting.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rss, err := k.lab.RSS(k.target.PID)
	if err != nil {
		k.warn("rss-idle-B is missing: %v", err)
		return nil
	}
	add(k.result, "rss-idle-B", rss)
	k.with(ctx, func(l Looker) error {
		err := k.snapshot(l, dyno.StageIdle)
		if err != nil || k.result.Trial.For != dyno.ForMemory || k.target.Socket == "" {
			return err
		}
		k.meter.Enter("free")
		if err := l.Free(); err != nil {
			return err
		}
		if err := settle(ctx, l); err != nil {
			return err
		}
		return k.snapshot(l, dyno.StageFreed)
	})
	return nil
}

// watch samples what the rest is about until it is over.
func (k *looks) watch(resting context.Context, l Looker) error {
	tick := time.NewTicker(k.result.Trial.Probes.Every.Or(dyno.DefaultEvery))
	defer tick.Stop()
	for {
		s, err := l.Brief()
		if err != nil {
			return err
		}
		at := time.Since(k.result.Start)
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
func settle(ctx context.Context, l Looker) error {
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
