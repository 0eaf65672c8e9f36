package client

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/cpu"
	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/load/pace"
)

// A phase is a warm-up, or the window.
type phase struct {
	frames.Phase
	p       *program
	ctx     context.Context
	cancel  context.CancelFunc
	due     *dues
	gate    gate
	tickets atomic.Int64 // of a closed load of so many requests: those left
	pending atomic.Int64 // tokens whose end is to come
	begun   atomic.Int64 // requests of an open load
}

func (p *program) newPhase(of frames.Phase) *phase {
	ph := &phase{Phase: of, p: p, due: &dues{more: make(chan struct{}, 1), stopped: make(chan struct{})}}
	ph.ctx, ph.cancel = context.WithCancel(context.Background())
	ph.gate = gate{stopped: ph.due.stopped, open: make(chan struct{}), drained: func() {
		p.flush()
		p.send(frames.Bytes(frames.KindGate, 0))
	}}
	ph.tickets.Store(of.Requests)
	return ph
}

// play plays the phase to its end and says so.
func (ph *phase) play() {
	p := ph.p
	began := cpu.Time()
	pacer := pace.New(ph.ctx)
	q := &pace.Queue{Schedule: ph.due, Limit: ph.Limit, Zero: p.zero, Now: p.now, Pacer: pacer}
	var all sync.WaitGroup
	for _, c := range p.players {
		all.Go(func() {
			defer p.recover("Do")
			if ph.Open {
				c.opened(ph, q)
			} else {
				c.closed(ph)
			}
		})
	}
	all.Wait()
	for tick := time.Millisecond; ph.pending.Load() > 0; { // which end by themselves, or by their limits
		time.Sleep(tick)
	}
	pacer.Close()
	ph.cancel()
	runtime.GC() // garbage of a warm-up is not to be collected in the window
	p.flush()
	p.send(frames.JSON(frames.KindPhase, frames.Over{Valid: true, Taken: ph.begun.Load(), CPU: cpu.Time() - began}))
}

// hold counts a token as a request under way, so that the load's turn lasts until it is done. It is called while the
// request of Do is under way, too.
func (ph *phase) hold() {
	ph.pending.Add(1)
	if !ph.Open {
		ph.gate.hold()
	}
}

func (ph *phase) release() {
	ph.pending.Add(-1)
	if !ph.Open {
		ph.gate.leave()
	}
}

// stop lets nothing begin any more, and may cancel what is under way.
func (ph *phase) stop(cancel bool) {
	ph.gate.stop()
	ph.due.Drop()
	if cancel {
		ph.cancel()
	}
}

// opened plays an open load.
func (c *player) opened(ph *phase, q *pace.Queue) {
	c.free.Reset(ph.Start)
	for {
		due, ok := q.Take(ph.ctx, c.wake)
		if !ok {
			return
		}
		ph.begun.Add(1)
		c.do(ph, due.At)
	}
}

// closed plays a closed load.
func (c *player) closed(ph *phase) {
	failures := 0
	for n := int64(0); ph.PerClient == 0 || n < ph.PerClient; n++ {
		if !ph.gate.enter() {
			return
		}
		if ph.Requests > 0 && ph.tickets.Add(-1) < 0 {
			ph.gate.leave()
			return
		}
		failed := c.do(ph, -1)
		ph.gate.leave()
		if failures++; !failed {
			failures = 0
		}
		if d := pace.BackOff(failures); d > 0 {
			pace.Timer{}.Wait(ph.ctx, time.Now().Add(d))
		}
	}
}

// dues are the due times that dyno has told. One player at a time claims.
type dues struct {
	mu    sync.Mutex
	times []time.Duration
	ended bool          // there are no more
	more  chan struct{} // something came
	taken int64

	stopped chan struct{} // closed when nothing begins any more
}

// add adds times. An empty list ends the schedule.
func (d *dues) add(times []time.Duration) {
	d.mu.Lock()
	d.times = append(d.times, times...)
	d.ended = d.ended || len(times) == 0
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// Claim implements [pace.Schedule].
func (d *dues) Claim() (pace.Due, bool) {
	for {
		at, ok := d.ClaimBy(1<<63 - 1)
		if ok {
			return at, true
		}
		d.mu.Lock()
		ended := d.ended && len(d.times) == 0
		d.mu.Unlock()
		if ended {
			return pace.Due{}, false
		}
		select {
		case <-d.more:
		case <-d.stopped:
			return pace.Due{}, false
		}
	}
}

// ClaimBy implements [pace.Schedule].
func (d *dues) ClaimBy(now time.Duration) (pace.Due, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.times) == 0 || d.times[0] > now {
		return pace.Due{}, false
	}
	due := pace.Due{N: d.taken, At: d.times[0]}
	d.times = d.times[1:]
	d.taken++
	return due, true
}

// Drop implements [pace.Schedule]: nothing is claimed any more.
func (d *dues) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times, d.ended = nil, true
}

// A gate lets requests of a closed load begin while it is the load's turn. It begins shut.
type gate struct {
	stopped chan struct{} // closed when nothing begins any more
	drained func()        // called when the gate is shut and no request is under way

	mu   sync.Mutex
	open chan struct{} // closed when the gate opens; nil while it is open
	busy int
	end  bool
}

// enter waits for the gate and says that a request is under way, unless nothing begins any more.
func (g *gate) enter() bool {
	for {
		g.mu.Lock()
		if g.end {
			g.mu.Unlock()
			return false
		}
		open := g.open
		if open == nil {
			g.busy++
			g.mu.Unlock()
			return true
		}
		g.mu.Unlock()
		select {
		case <-open:
		case <-g.stopped:
		}
	}
}

// hold says that one more request is under way, while one is.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy++
}

func (g *gate) leave() {
	g.mu.Lock()
	g.busy--
	shut := g.busy == 0 && g.open != nil
	g.mu.Unlock()
	if shut {
		g.drained()
	}
}

// set opens or shuts the gate.
func (g *gate) set(open bool) {
	g.mu.Lock()
	drained := false
	switch {
	case open && g.open != nil:
		close(g.open)
		g.open = nil
	case !open:
		if g.open == nil {
			g.open = make(chan struct{})
		}
		drained = g.busy == 0
	}
	g.mu.Unlock()
	if drained {
		g.drained()
	}
}

func (g *gate) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.end {
		g.end = true
		close(g.stopped)
	}
}
