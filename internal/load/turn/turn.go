// Package turn lets the requests of a load begin only while it is the load's turn, and knows which time
// is the load's own.
package turn

import (
	"context"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/load/cpu"
	"github.com/dynolab/dyno/internal/load/pace"
	rota "github.com/dynolab/dyno/internal/turns"
)

// A Turn lets the requests of a run begin only while it is the run's turn, so that several
// runs share a machine one after the other. It begins shut, and serves one run. A nil Turn
// is always open.
//
// Time in which a Turn is shut is no time of the run: a closed load's duration, the rests of
// its clients and an open load's schedule count the run's own time. Latency needs no such
// care: a closed load's turn ends with its last answer, and an open load's goes by the clock
// (Follow), which no answer moves.
type Turn struct {
	Zero time.Time // of the clock on which moments of the turn are

	mu    sync.Mutex
	slots *slots        // nil unless turns go by the clock
	table rota.Table    // that they follow
	open  chan struct{} // closed when the turn begins; nil while it lasts
	busy  int           // steps under way
	last  chan struct{} // closed with the end of the last of them; nil unless Shut waits
	away  time.Duration // that was not the run's, up to this turn
	shut  time.Duration // when the turn before ended

	cpuAway, cpuShut time.Duration // likewise, of this process's CPU time

	gating sync.Mutex // of the order of what far is told
	far    Gate       // where requests begin, if that is in another process; else nil
}

// A Gate is where the requests of a closed load's phase begin, in another process. It begins shut.
type Gate interface {
	Gate(open bool)
	Drained(ctx context.Context) // waits, after it was shut, until no request is under way
}

// Attach lets the turn's requests begin at a gate until detach is called.
func (t *Turn) Attach(ctx context.Context, g Gate) (detach func()) {
	if t == nil {
		g.Gate(true)
		return func() {}
	}
	if t.Slot() > 0 {
		return t.drive(ctx, g)
	}
	t.gating.Lock()
	defer t.gating.Unlock()
	t.far = g
	t.mu.Lock()
	open := t.open == nil
	t.mu.Unlock()
	if open {
		g.Gate(true)
	}
	return func() {
		t.gating.Lock()
		defer t.gating.Unlock()
		t.far = nil
	}
}

// drive opens and shuts a gate by the clock.
func (t *Turn) drive(ctx context.Context, g Gate) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var driving sync.WaitGroup
	driving.Go(func() {
		p := pace.New(ctx)
		defer p.Close()
		for ctx.Err() == nil {
			now := t.now()
			t.mu.Lock()
			if t.slots == nil {
				t.mu.Unlock()
				return
			}
			wait := t.slots.wait(now)
			end := t.slots.begin(max(t.slots.slot(now), 0)) + t.slots.length
			t.mu.Unlock()
			g.Gate(wait == 0)
			if wait > 0 {
				end = now + wait
			}
			p.Wait(ctx, t.Zero.Add(end))
		}
	})
	return func() { cancel(); driving.Wait() }
}

// New returns a Turn that is shut.
func New() *Turn { return &Turn{Zero: time.Now(), open: make(chan struct{})} }

func (t *Turn) now() time.Duration { return time.Since(t.Zero) }

// Open begins a turn, which lasts until Shut.
func (t *Turn) Open() {
	t.gating.Lock()
	defer t.gating.Unlock()
	t.resume()
	if t.far != nil {
		t.far.Gate(true)
	}
}

func (t *Turn) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots != nil {
		now := t.now()
		t.away, t.slots = now-t.slots.own(now), nil
	}
	if t.open == nil {
		return
	}
	t.away += t.now() - t.shut
	t.cpuAway += cpu.Time() - t.cpuShut
	close(t.open)
	t.open = nil
}

// Shut ends a turn: no step begins any more. It returns when those under way are over, or
// when ctx ends.
func (t *Turn) Shut(ctx context.Context) {
	t.gating.Lock()
	defer t.gating.Unlock()
	if t.far != nil {
		t.far.Gate(false)
		t.far.Drained(ctx)
	}
	t.mu.Lock()
	if t.open == nil {
		t.open = make(chan struct{})
		t.over()
	}
	if t.busy == 0 {
		t.mu.Unlock()
		return
	}
	last := make(chan struct{})
	t.last = last
	t.mu.Unlock()
	select {
	case <-last:
	case <-ctx.Done():
	}
}

// over notes when the turn ended. mu is held.
func (t *Turn) over() { t.shut, t.cpuShut = t.now(), cpu.Time() }

// Begin waits for the turn and says that a step is under way, unless ctx ends before.
func (t *Turn) Begin(ctx context.Context) bool {
	for t != nil {
		t.mu.Lock()
		open, wait := t.open, time.Duration(0)
		if t.slots != nil {
			wait = t.slots.wait(t.now())
		}
		if open == nil && wait == 0 {
			t.busy++
		}
		t.mu.Unlock()
		if wait > 0 {
			if !(pace.Timer{}).Wait(ctx, time.Now().Add(wait)) {
				return false
			}
			continue
		}
		if open == nil {
			break
		}
		select {
		case <-open:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// End says that a step is over.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy--; t.busy > 0 || t.open == nil {
		return
	}
	t.over()
	if t.last != nil {
		close(t.last)
		t.last = nil
	}
}

// OwnAt is the run's own time at a moment of this turn or, while the turn is shut, of its end.
func (t *Turn) OwnAt(at time.Duration) time.Duration {
	if t == nil {
		return at
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ownAt(at)
}

// ownAt is own. mu is held.
func (t *Turn) ownAt(at time.Duration) time.Duration {
	if t.slots != nil {
		return t.slots.own(at)
	}
	if t.open != nil && t.busy == 0 {
		at = min(at, t.shut)
	}
	return at - t.away
}

// Own returns how long the run's turns have lasted so far.
func (t *Turn) Own() time.Duration { return t.OwnAt(t.now()) }

// Spent is the run's own time and this process's CPU time in it; both are all there is where
// turns go by the clock, as answers come between them.
func (t *Turn) Spent() (own, used time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := t.now(); {
	case t.slots != nil:
		return now, cpu.Time()
	case t.open != nil && t.busy == 0:
		return t.shut - t.away, t.cpuShut - t.cpuAway
	default:
		return now - t.away, cpu.Time() - t.cpuAway
	}
}

// Offset returns what own subtracts at a moment while a step is under way.
func (t *Turn) Offset(at time.Duration) time.Duration {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots != nil {
		return at - t.slots.own(at)
	}
	return t.away
}

// Overlap is the share of a stretch that lies in turns by the clock, and 1 where turns end with their last
// answer. from is before to.
func (t *Turn) Overlap(from, to time.Duration) float64 {
	if t == nil {
		return 1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots == nil {
		return 1
	}
	return float64(t.slots.own(to)-t.slots.own(from)) / float64(to-from)
}

// Next is the first moment from at on that lies in a turn, of those that go by the clock.
func (t *Turn) Next(at time.Duration) time.Duration {
	if t == nil {
		return at
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots == nil {
		return at
	}
	return at + t.slots.wait(at)
}

// Rest waits for d of the run's own time, unless ctx ends before.
func (t *Turn) Rest(ctx context.Context, d time.Duration) {
	if t == nil {
		pace.Timer{}.Wait(ctx, time.Now().Add(d))
		return
	}
	for until := t.OwnAt(t.now()) + d; ctx.Err() == nil; {
		left := until - t.OwnAt(t.now())
		if left <= 0 || !t.Begin(ctx) {
			return
		}
		t.End() // who rests holds no turn up
		pace.Timer{}.Wait(ctx, time.Now().Add(left))
	}
}
