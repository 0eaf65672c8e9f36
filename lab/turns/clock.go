package turns

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// leastGap is for the answers that are under way at the end of a turn: most services take less.
const leastGap = 2 * time.Millisecond

// ByClock makes turns go by the clock, each of one length, whatever the members do: a turn that
// waited for a stalled service would be longer just then, and one whose schedule stood still
// meanwhile would hide the stall. It is called before Run; members have Follow.
//
// After each turn is a gap of a tenth of it, 2 ms at least, in which no member begins anything:
// what a healthy service has under way is over then, and the next member does not feel it.
func (r *Rota) ByClock(turn time.Duration) { r.slot, r.gap = turn, max(turn/10, leastGap) }

// A table has the turns of one phase by the clock. It is of those who worked when it began: the
// turns of one that leaves stay empty, since the others' requests have their times already.
type table struct {
	start time.Time
	every time.Duration // a turn and its gap
	size  int           // members

	mu     sync.Mutex
	rng    *rand.Rand
	orders [][]int // of every other round; the next round is the same backwards
}

// begin returns when turn n of a member begins. It depends on no turn before, so that none is
// late because another was.
func (t *table) begin(member, n int) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.orders) <= n/2 {
		t.orders = append(t.orders, t.rng.Perm(t.size))
	}
	place := slices.Index(t.orders[n/2], member)
	if n%2 == 1 {
		place = t.size - 1 - place
	}
	return t.start.Add(time.Duration(n*t.size+place) * t.every)
}

// begun is how many turns of a member have begun.
func (t *table) begun(member int, now time.Time) int {
	if now.Before(t.start) {
		return 0
	}
	n := int(now.Sub(t.start) / t.every / time.Duration(t.size))
	if t.begin(member, n).After(now) {
		return n
	}
	return n + 1
}

// tabulate gives those who are to work a table. It begins after a gap, for all to be there. mu is held.
func (r *Rota) tabulate() {
	t := &table{start: time.Now().Add(r.gap), every: r.slot + r.gap, rng: rand.New(rand.NewPCG(r.rng.Uint64(), r.rng.Uint64()))}
	for _, m := range r.members {
		if m.state != waiting || m.next != working {
			m.table = nil
			continue
		}
		place := t.size
		t.size++
		m.table, m.place = t, place
		m.Follow(r.slot, func(n int) time.Time { return t.begin(place, n) })
	}
}
