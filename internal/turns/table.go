package turns

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A Table says when a member's turns by the clock begin. In each round each of Size
// members has a turn, in random order and in the next round backwards. It is data alone, so that
// generators on several machines can follow one.
type Table struct {
	Start       time.Time     // of the first round
	Turn, Every time.Duration // a turn, and a turn with the gap after it
	Size, Place int           // of how many members this is which, from 0
	Seed        [2]uint64     // of the orders
}

// Begin returns a function that says when turn n of the member begins. It depends on no turn before, so
// that none is late because another was. Several goroutines may call it.
func (t Table) Begin() func(n int) time.Time {
	var (
		mu     sync.Mutex
		rng    = rand.New(rand.NewPCG(t.Seed[0], t.Seed[1]))
		places []int // in every other round
	)
	return func(n int) time.Time {
		mu.Lock()
		defer mu.Unlock()
		for len(places) <= n/2 {
			places = append(places, slices.Index(rng.Perm(t.Size), t.Place))
		}
		place := places[n/2]
		if n%2 == 1 {
			place = t.Size - 1 - place
		}
		return t.Start.Add(time.Duration(n*t.Size+place) * t.Every)
	}
}
