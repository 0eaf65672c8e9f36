package turns

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A follower is a gate that is told its turns by the clock, and may not be opened.
type follower struct {
	t         *testing.T
	turn, gap time.Duration
	begin     func(n int) time.Time
}

func (f *follower) Open()                { f.t.Error("opened") }
func (f *follower) Shut(context.Context) { f.t.Error("shut") }

func byClock(t *testing.T, seed uint64, turn time.Duration, n int) (*Rota, []*Member, []*follower) {
	r := New(seed)
	r.ByClock(turn)
	var members []*Member
	var gates []*follower
	for range n {
		f := &follower{t: t}
		m := &Member{Gate: f, Follow: func(t Table) { f.turn, f.gap, f.begin = t.Turn, t.Every-t.Turn, t.Begin() }}
		r.Join(m)
		members, gates = append(members, m), append(gates, f)
	}
	return r, members, gates
}

// By the clock one follows the other with a gap between them, in random order and in every other
// round in the order of the round before backwards, and no turn is late because another was.
func TestClockOrder(t *testing.T) {
	type turn struct {
		who  int
		from time.Time
	}
	firsts := make([]int, 3)
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r, members, gates := byClock(t, seed, 50*time.Millisecond, 3)
			began := time.Now()
			for _, m := range members {
				go func() { m.Await(t.Context(), true); time.Sleep(time.Second); m.Leave() }()
			}
			r.Run(t.Context())
			var all []turn
			for i, f := range gates {
				if f.turn != 50*time.Millisecond || f.gap != 5*time.Millisecond {
					t.Fatalf("turns of %v and gaps of %v", f.turn, f.gap)
				}
				for n := range 20 {
					all = append(all, turn{i, f.begin(n)})
				}
			}
			slices.SortFunc(all, func(a, b turn) int { return a.from.Compare(b.from) })
			for i, x := range all {
				if want := began.Add(5*time.Millisecond + time.Duration(i)*55*time.Millisecond); !x.from.Equal(want) {
					t.Fatalf("turn %d begins at %v, want %v", i, x.from.Sub(began), want.Sub(began))
				}
			}
			for i := 0; i < len(all); i += 6 {
				firsts[all[i].who]++
				for k := range 3 {
					if all[i+k].who != all[i+5-k].who {
						t.Fatalf("rounds %v", all[i:i+6])
					}
				}
			}
			time.Sleep(2 * time.Second)
		})
	}
	for i, n := range firsts {
		if all := 40 * 10; n < all/4 || n > all/2 {
			t.Errorf("member %d is first in %d of %d rounds", i, n, all)
		}
	}
}

// The marks of turns by the clock come before their first requests, and in their middle.
func TestClockMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, members, gates := byClock(t, 1, 200*time.Millisecond, 2)
		var marks []time.Time
		r.Mark = func() { marks = append(marks, time.Now()) }
		for _, m := range members {
			go func() { m.Await(t.Context(), true); time.Sleep(2 * time.Second); m.Leave() }()
		}
		r.Run(t.Context())
		begins := map[time.Time]bool{}
		for _, f := range gates {
			for n := range 8 {
				begins[f.begin(n)] = true
			}
		}
		const gap, every = 20 * time.Millisecond, 220 * time.Millisecond
		if len(marks) < 16 {
			t.Fatalf("%d marks in 2 s", len(marks))
		}
		for i, at := range marks[:16] {
			turn := at.Add(gap / early)
			if i%2 == 1 {
				turn = turn.Add(-every / 2)
			}
			if !begins[turn] {
				t.Errorf("mark %d is of no turn", i)
			}
		}
	})
}

// Each phase has turns of its own, of those who are in it; the turns of one that leaves meanwhile
// stay empty, and those that have begun are counted.
func TestClockPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, members, gates := byClock(t, 1, 10*time.Millisecond, 3)
		var mu sync.Mutex
		var at []time.Duration // of the second phase
		var had []int
		began := time.Now()
		for i, m := range members {
			go func() {
				defer m.Leave()
				m.Await(t.Context(), true)
				if i == 2 {
					return // it failed
				}
				time.Sleep(time.Duration(i+1) * time.Second)
				m.Await(t.Context(), false)
				time.Sleep(time.Second)
				m.Await(t.Context(), true)
				if n := m.Turns(); n != 0 {
					t.Errorf("%d turns before the first", n)
				}
				mu.Lock()
				at = append(at, time.Since(began))
				mu.Unlock()
				time.Sleep(2*time.Millisecond + 10*24*time.Millisecond) // ten rounds of two
				mu.Lock()
				defer mu.Unlock()
				had = append(had, m.Turns())
			}()
		}
		first := slices.Clone(gates)
		r.Run(t.Context())
		if !slices.Equal(at, []time.Duration{3 * time.Second, 3 * time.Second}) {
			t.Errorf("the second phase began after %v", at)
		}
		slices.Sort(had)
		if !slices.Equal(had, []int{10, 11}) { // one begins just now
			t.Errorf("%d turns in ten rounds", had)
		}
		if gap := first[0].gap; gap != 2*time.Millisecond {
			t.Errorf("gaps of %v, want the least", gap)
		}
		for i := range 2 {
			if d := gates[i].begin(20).Sub(gates[i].begin(0)); d < 9*48*time.Millisecond || d > 11*48*time.Millisecond {
				t.Errorf("20 turns of two take %v", d)
			}
		}
	})
}
