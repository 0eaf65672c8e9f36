package turn

import (
	"sort"
	"time"

	"github.com/dynolab/dyno/internal/load/schedule"
	rota "github.com/dynolab/dyno/internal/turns"
)

// slots are turns that go by the clock: the run's own time is cut into pieces of one length,
// and each lies at a fixed place on the clock.
//
// Note: a turn of an open load that waited for its last answer would let the schedule stand
// still while the service stalls, and one that lasted until the service is idle would be long
// when it stalls: fewer requests than are due, or more, would meet the stall.
type slots struct {
	before time.Duration // the run's own time before the first
	length time.Duration // of each
	place  func(n int) time.Time
	zero   time.Time       // of the run's clock
	begins []time.Duration // when the first slots begin, on that clock
}

// Begin returns when slot n begins.
func (s *slots) begin(n int) time.Duration {
	for len(s.begins) <= n {
		s.begins = append(s.begins, s.place(len(s.begins)).Sub(s.zero))
	}
	return s.begins[n]
}

// Slot returns the last slot that has begun, -1 before the first.
func (s *slots) slot(at time.Duration) int {
	for s.begin(len(s.begins)) <= at {
	}
	return sort.Search(len(s.begins), func(n int) bool { return s.begins[n] > at }) - 1
}

// OwnAt is the run's own time at a moment.
func (s *slots) own(at time.Duration) time.Duration {
	n := s.slot(at)
	if n < 0 {
		return s.before
	}
	return s.before + time.Duration(n)*s.length + min(at-s.begins[n], s.length)
}

// at is the moment at which the run's own time is own; at the end of a slot, the next begins.
func (s *slots) at(own time.Duration) time.Duration {
	own -= s.before
	return s.begin(int(own/s.length)) + own%s.length
}

// wait returns how long it takes until a slot begins, 0 if one is on.
func (s *slots) wait(at time.Duration) time.Duration {
	n := s.slot(at)
	if n >= 0 && at < s.begins[n]+s.length {
		return 0
	}
	return s.begin(n+1) - at
}

// follow makes turns go by the clock: turn n begins at place(n) and lasts length. Turns follow each
// other without overlap.
func (t *Turn) follow(length time.Duration, place func(n int) time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots = &slots{before: t.ownAt(t.now()), length: length, place: place, zero: t.Zero}
	if t.open != nil {
		close(t.open)
		t.open = nil
	}
}

// LayOut puts a schedule of the run's own time on the clock, both since start, and its length.
func (t *Turn) LayOut(s schedule.Times, start, length time.Duration) (schedule.Times, time.Duration) {
	if t == nil {
		return s, length
	}
	own := t.OwnAt(start)
	on := func(d time.Duration) time.Duration {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.slots == nil {
			return d
		}
		return t.slots.at(own+d) - start
	}
	laid := func() (time.Duration, bool) {
		due, ok := s()
		if ok {
			due = on(due)
		}
		return due, ok
	}
	if length > 0 { // the end of its last slot is not the begin of another
		length = on(length-1) + 1
	}
	return laid, length
}

// Slot is the length of turns by the clock, 0 of others.
func (t *Turn) Slot() time.Duration {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots == nil {
		return 0
	}
	return t.slots.length
}

// Follow makes turns go by the clock from now on, until [Turn.Open]: each begins by the table, whatever
// the service does. Between turns may be a gap without new requests. It is for open loads, where latency of
// a stall is right only if the service cannot delay the schedule, and for generators on several machines.
func (t *Turn) Follow(table rota.Table) {
	t.follow(table.Turn, table.Begin())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table = table
}

// Table returns the table that the turn followed last.
func (t *Turn) Table() rota.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table
}
