// Package turns decides which of several subjects works when: all live at the same time, and
// the load goes to one after the other, so that each meets the same machine.
//
// It owns the order and length of turns, and the moments at which all subjects are awaited. It
// launches and loads nothing: package lab does.
package turns

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A Gate lets a load send only while it is open: turn.Turn.
type Gate interface {
	Open()
	Shut(ctx context.Context) // returns when the last request is over
}

// A Rota gives turns to its members until all have left.
type Rota struct {
	// Mark, if not nil, is called at the beginning and in the middle of each turn, by the
	// goroutine of Run; where turns go by the clock, a gap is part of the turn before it. It is set before Run.
	Mark func()

	rng   *rand.Rand
	order []int         // of the round before, if it is to be mirrored
	slot  time.Duration // by the clock; 0: turns end with their last answers
	lead  time.Duration // see Early
	table Table         // of the phase, by the clock

	mu      sync.Mutex
	members []*Member
	changed chan struct{} // closed when a member goes on, waits or leaves
}

// A Member is one subject. Its fields are set before Run.
type Member struct {
	Gate Gate
	// Length is how long the member's turns should be at least, as far as it knows. A round has
	// the longest for all: turns of one length meet the same machine.
	Length func() time.Duration
	// Follow tells the gate its turns by the clock, before the first of them: turn.Turn.Follow. Gate
	// is not called then.
	Follow func(Table)

	rota    *Rota
	state   state
	release chan struct{} // closed when all have arrived
	next    state         // after that
	turns   int
	begins  func(n int) time.Time // when turn n by the clock does; nil without such turns
	rounds  time.Duration         // of those
}

type state int

const (
	preparing state = iota // has no turns
	working
	waiting
	gone
)

// New returns a Rota whose order depends on the seed alone.
func New(seed uint64) *Rota {
	return &Rota{rng: rand.New(rand.NewPCG(seed, 2)), changed: make(chan struct{})}
}

// Join adds a member, before Run.
func (r *Rota) Join(m *Member) {
	m.rota = r
	r.members = append(r.members, m)
}

// Turns returns the number of turns that the member began since it last awaited the others.
func (m *Member) Turns() int {
	m.rota.mu.Lock()
	defer m.rota.mu.Unlock()
	if m.begins != nil {
		return m.begun(time.Now())
	}
	return m.turns
}

// Await waits until every member awaits or has left. Then the member has turns if it works. Await
// returns the cause of ctx if that ends before.
func (m *Member) Await(ctx context.Context, works bool) error {
	r := m.rota
	r.mu.Lock()
	m.state, m.next, m.release = waiting, preparing, make(chan struct{})
	if works {
		m.next = working
	}
	release := m.release
	r.tell()
	r.mu.Unlock()
	select {
	case <-release:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave ends the member's turns. It may be called again.
func (m *Member) Leave() {
	m.rota.mu.Lock()
	defer m.rota.mu.Unlock()
	if m.state != gone {
		m.state = gone
		m.rota.tell()
	}
}

// tell wakes Run. mu is held.
func (r *Rota) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Run gives turns until all members have left, or ctx ends.
func (r *Rota) Run(ctx context.Context) {
	for ctx.Err() == nil {
		workers, changed, over := r.look()
		switch {
		case over:
			return
		case len(workers) > 0 && r.slot == 0:
			r.round(ctx, workers)
			continue
		}
		tick, stop := r.tick()
		select {
		case <-changed:
		case <-tick:
			r.mark()
		case <-ctx.Done():
		}
		stop()
	}
}

func (r *Rota) mark() {
	if r.Mark != nil {
		r.Mark()
	}
}

// early is which part of the gap before a turn by the clock is left when its beginning is marked: a mark that came
// after the first request would count it for what went before.
const early = 4

// tick is a little before the next half of a turn by the clock begins; never without such turns.
func (r *Rota) tick() (<-chan time.Time, func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	half := r.table.Every / 2
	if r.Mark == nil || half == 0 {
		return nil, func() bool { return false }
	}
	wait := time.Until(r.table.Start.Add(-(r.table.Every - r.table.Turn) / early))
	if wait <= 0 {
		wait = half - (-wait)%half
	}
	timer := time.NewTimer(wait)
	return timer.C, timer.Stop
}

// look returns the workers whose turn it is. If all members that are left wait, it lets them go on.
func (r *Rota) look() (workers []int, changed <-chan struct{}, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, arrived := 0, 0
	for i, m := range r.members {
		switch m.state {
		case working:
			workers = append(workers, i)
		case waiting:
			arrived++
		}
		if m.state != gone {
			left++
		}
	}
	if left > 0 && arrived == left {
		if r.slot > 0 {
			r.tabulate()
		}
		for _, m := range r.members {
			if m.state == waiting {
				m.state, m.turns = m.next, 0
				close(m.release)
			}
		}
		r.order = nil
		return nil, closed, false
	}
	return workers, r.changed, left == 0
}

// round gives each worker a turn, in random order and in the next round backwards, so that even
// drift cancels and no period keeps step.
func (r *Rota) round(ctx context.Context, workers []int) {
	if len(r.order) == len(r.members) {
		slices.Reverse(r.order)
		defer func() { r.order = nil }()
	} else {
		r.order = r.rng.Perm(len(r.members))
	}
	var length time.Duration
	for _, i := range workers {
		length = max(length, r.members[i].Length())
	}
	for _, i := range r.order {
		if slices.Contains(workers, i) && ctx.Err() == nil {
			r.turn(ctx, r.members[i], length)
		}
	}
}

// turn lasts so long, or as long as the member works.
func (r *Rota) turn(ctx context.Context, m *Member, length time.Duration) {
	r.mu.Lock()
	m.turns++
	r.mu.Unlock()
	r.mark()
	m.Gate.Open()
	timer, middle := time.NewTimer(length), time.NewTimer(length/2)
	defer timer.Stop()
	defer middle.Stop()
	for over := false; !over; {
		r.mu.Lock()
		works, changed := m.state == working, r.changed
		r.mu.Unlock()
		if !works {
			break
		}
		select {
		case <-timer.C:
			over = true
		case <-middle.C:
			r.mark()
		case <-changed:
		case <-ctx.Done():
			over = true
		}
	}
	m.Gate.Shut(ctx)
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
