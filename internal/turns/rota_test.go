package turns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A desk is the Gate of a member in tests: it notes turns.
type desk struct {
	name  string
	log   *[]string
	since time.Time
	own   time.Duration
	last  time.Duration // how long Shut waits for the last answer
}

func (d *desk) Open() { *d.log, d.since = append(*d.log, d.name), time.Now() }

func (d *desk) Shut(context.Context) {
	time.Sleep(d.last)
	d.own += time.Since(d.since)
}

// open makes a rota of members, each of which works until it has had so much time.
func open(seed uint64, length time.Duration, needs ...time.Duration) (r *Rota, desks []*desk, members []*Member, log *[]string) {
	r, log = New(seed), new([]string)
	for i := range needs {
		d := &desk{name: string(rune('a' + i)), log: log}
		m := &Member{Gate: d, Length: func() time.Duration { return length }}
		r.Join(m)
		desks, members = append(desks, d), append(members, m)
	}
	for i, m := range members {
		go func() {
			if m.Await(context.Background(), true) == nil {
				time.Sleep(needs[i]) // of all time, not of its own
			}
			m.Leave()
		}()
	}
	return r, desks, members, log
}

// One works at a time, in random order, and in every other round in the order of the round
// before backwards: each has as many turns as the others, in the mean at the same time.
func TestOrder(t *testing.T) {
	firsts := map[string]int{}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r, desks, members, log := open(seed, 50*time.Millisecond, 3*time.Second, 3*time.Second, 3*time.Second)
			r.Run(t.Context())
			for i := 0; i+6 <= len(*log); i += 6 {
				there, back := slices.Clone((*log)[i:i+3]), slices.Clone((*log)[i+3:i+6])
				slices.Reverse(back)
				if !slices.Equal(there, back) {
					t.Fatalf("rounds %q", (*log)[i:i+6])
				}
				firsts[there[0]]++
				if slices.Sort(there); strings.Join(there, "") != "abc" {
					t.Fatalf("a round of %q", there)
				}
			}
			for i, d := range desks {
				if n := members[i].Turns(); d.own != time.Second || n < 20 || n > 21 { // the last may have no time left
					t.Errorf("%s worked %v in %d turns, want 1s in 20", d.name, d.own, n)
				}
			}
		})
	}
	for name, n := range firsts {
		if all := 40 * 10; n < all/4 || n > all/2 {
			t.Errorf("%s is first in %d of %d rounds", name, n, all)
		}
	}
}

// A turn that waits for its last answer is longer, and takes nothing from the next.
func TestLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, desks, _, _ := open(1, 50*time.Millisecond, 2*time.Second, 2*time.Second)
		desks[0].last = 50 * time.Millisecond
		r.Run(t.Context())
		if a, b := desks[0].own, desks[1].own; a < 2*b-200*time.Millisecond || a > 2*b+200*time.Millisecond {
			t.Errorf("worked %v and %v", a, b)
		}
	})
}

// Who has done all its work leaves, and the others go on; the longest turn that one of them
// wants is that of all.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, desks, members, _ := open(1, 50*time.Millisecond, time.Second, 3*time.Second)
		members[1].Length = func() time.Duration { return 100 * time.Millisecond }
		r.Run(t.Context())
		if a, b := desks[0].own, desks[1].own; a != 500*time.Millisecond || b != 2500*time.Millisecond {
			t.Errorf("worked %v and %v, want 500ms and 2.5s", a, b)
		}
	})
}

// All are awaited before anyone has a turn, and those who left are not.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := New(1), time.Now()
		var mu sync.Mutex
		var log []string
		for i, d := range []time.Duration{time.Second, 5 * time.Second, 3 * time.Second} {
			m := &Member{Gate: &desk{log: &[]string{}}, Length: func() time.Duration { return time.Millisecond }}
			r.Join(m)
			go func() {
				defer m.Leave()
				time.Sleep(d)
				if i == 1 {
					return // it failed
				}
				m.Await(t.Context(), false)
				mu.Lock()
				defer mu.Unlock()
				log = append(log, fmt.Sprint(time.Since(began)))
			}()
		}
		r.Run(t.Context())
		synctest.Wait()
		if want := []string{"5s", "5s"}; !slices.Equal(log, want) {
			t.Errorf("went on after %v, want %v", log, want)
		}
	})
}

// The end of the context ends turns and waiting.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 325*time.Millisecond)
		defer cancel()
		r, _, members, log := open(1, 50*time.Millisecond, time.Minute, time.Minute)
		began := time.Now()
		r.Run(ctx)
		if took := time.Since(began); took != 325*time.Millisecond || len(*log) != 7 {
			t.Errorf("took %v for %d turns", took, len(*log))
		}
		members[0].Leave()
		if err := members[1].Await(ctx, true); err == nil {
			t.Error("awaits others after the end")
		}
		time.Sleep(time.Minute) // until their work is done
	})
}
