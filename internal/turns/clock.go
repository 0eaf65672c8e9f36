package turns

import (
	"time"
)

// leastGap is for the answers that are under way at the end of a turn: most services take less.
const leastGap = 2 * time.Millisecond

// ByClock makes turns go by the clock, each of one length or the longest Length of a phase's members,
// whatever the members do: a turn that waited for a stalled service would be longer just then, and one
// whose schedule stood still meanwhile would hide the stall. It is called before Run; members have Follow.
//
// After each turn is a gap of a tenth of it, 2 ms at least, in which no member begins anything:
// what a healthy service has under way is over then, and the next member does not feel it.
func (r *Rota) ByClock(turn time.Duration) { r.slot = turn }

func gapAfter(turn time.Duration) time.Duration { return max(turn/10, leastGap) }

// Early delays the first turn by the clock by d, so that other machines hear of it in time.
func (r *Rota) Early(d time.Duration) { r.lead = d }

// begun returns the number of turns by the clock that have begun. The caller holds mu.
func (m *Member) begun(now time.Time) int {
	first := m.begins(0)
	if now.Before(first) {
		return 0
	}
	n := int(now.Sub(first) / m.rounds)
	for ; !m.begins(n).After(now); n++ {
	}
	return n
}

// tabulate gives those who are to work a table of one phase. It begins after a gap, for all to be there.
// The turns of one that leaves stay empty, since the others' requests have their times already. mu is
// held.
func (r *Rota) tabulate() {
	slot := r.slot
	var workers []*Member
	for _, m := range r.members {
		if m.begins = nil; m.state == waiting && m.next == working {
			workers = append(workers, m)
			if m.Length != nil {
				slot = max(slot, m.Length())
			}
		}
	}
	gap := gapAfter(slot)
	t := Table{
		Start: time.Now().Add(gap + r.lead), Turn: slot, Every: slot + gap, Seed: [2]uint64{r.rng.Uint64(), r.rng.Uint64()},
		Size: len(workers),
	}
	r.table = t
	for i, m := range workers {
		t.Place = i
		m.begins, m.rounds = t.Begin(), time.Duration(t.Size)*t.Every
		m.Follow(t)
	}
}
