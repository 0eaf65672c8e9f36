package slow

import (
	"slices"
	"sort"
	"strings"
)

// handlers finds for requests, sorted by sent, which handler each is, where no connection has it. A handler has one
// request, so nothing tells whose it is but when it began and ended: one began after the request was sent, wrote
// before that was done, and of all the least squares of what is left around them are taken. Requests that begin
// and end together may be taken for each other, which changes nothing: their times are the same.
func handlers(rs []Request, all []served, of []int32) {
	h := pairing{rs: rs, all: all, of: of, to: make([]int32, len(all))}
	for n := range h.to {
		h.to[n] = none
	}
	for i := range rs { // how far back one is that is still open
		h.longest = max(h.longest, rs[i].Done-rs[i].Sent)
	}
	for n := range all {
		if all[n].handler {
			h.first(int32(n))
		}
	}
	for better := true; better && h.steps < mostPairs; {
		better = false
		for n := range all {
			better = all[n].handler && h.improve(int32(n)) || better
		}
	}
}

// mostPairs bounds the search for the best pairs.
const mostPairs = 100_000_000

// A pairing gives requests to handlers.
type pairing struct {
	rs      []Request
	all     []served
	of      []int32 // the handler of a request
	to      []int32 // the request of a handler
	longest int64
	steps   int
}

// open calls do for each request that a handler may be, the latest sent first.
func (h *pairing) open(n int32, do func(r int32)) {
	s := &h.all[n]
	end := sort.Search(len(h.rs), func(i int) bool { return h.rs[i].Sent > s.woken+slack })
	for i := end - 1; i >= 0 && h.rs[i].Sent+h.longest >= s.wrote-slack; i-- {
		h.steps++
		if owner := h.of[i]; h.fits(n, int32(i)) && (owner == none || h.all[owner].handler) {
			do(int32(i))
		}
	}
}

func (h *pairing) fits(n, r int32) bool {
	s, q := &h.all[n], &h.rs[r]
	return q.Sent <= s.woken+slack && q.Done >= s.wrote-slack
}

// cost of a pair; none costs the same for all.
func (h *pairing) cost(n, r int32) float64 {
	if r == none {
		return 0
	}
	s, q := &h.all[n], &h.rs[r]
	before, after := float64(s.woken-q.Sent), float64(q.Done-s.done)
	return before*before + after*after
}

func (h *pairing) give(n, r int32) {
	h.to[n] = r
	if r != none {
		h.of[r] = n
	}
}

// first gives a handler the one that was sent first of those that are left: handlers begin in the order of frames.
func (h *pairing) first(n int32) {
	first := int32(none)
	h.open(n, func(r int32) {
		if h.of[r] == none {
			first = r
		}
	})
	h.give(n, first)
}

// improve takes a free request instead, or exchanges with another handler, if that costs less.
func (h *pairing) improve(n int32) (better bool) {
	h.open(n, func(r int32) {
		mine, other := h.to[n], h.of[r]
		switch {
		case r == mine:
			return
		case other == none:
			if mine != none && h.cost(n, r) >= h.cost(n, mine) {
				return
			}
			if mine != none {
				h.of[mine] = none
			}
		case mine != none && !h.fits(other, mine), h.cost(n, r)+h.cost(other, mine) >= h.cost(n, mine)+h.cost(other, r):
			return
		default:
			h.give(other, mine)
		}
		h.give(n, r)
		better = true
	})
	return better
}

// writers are the goroutines of grpc-go that write the answers of handlers, by the goroutine that started those: of
// each connection the one that its handlers wake.
func (t *Trace) writers() map[int32]int32 {
	woken := map[[2]int32]int{}
	for n, g := range t.goroutines {
		if !strings.HasPrefix(t.sites[g.root].Func, "google.golang.org/grpc/internal/transport.") {
			continue
		}
		for i := range g.life {
			if w := g.life[i].waker; w != none && t.goroutines[w].handles && t.goroutines[w].creator != none {
				woken[[2]int32{t.goroutines[w].creator, int32(n)}]++
			}
		}
	}
	of, most := map[int32]int32{}, map[int32]int{}
	for k, n := range woken {
		if n > most[k[0]] || n == most[k[0]] && k[1] < of[k[0]] {
			of[k[0]], most[k[0]] = k[1], n
		}
	}
	return of
}

// written is when a writer had written the answer of a handler that ended: the end of its next write, if it was
// woken by the handler, or was busy when that ended.
func (t *Trace) written(writer, handler int32) (at int64, ok bool) {
	g, h := t.goroutines[writer], t.goroutines[handler]
	ended := h.life[len(h.life)-1].end
	i := sort.Search(len(g.life), func(i int) bool { return g.life[i].end > h.begin })
	for ; i < len(g.life) && g.life[i].end <= ended; i++ {
		if g.life[i].waker == handler { // its last
			at = g.life[i].end
		}
	}
	if at == 0 && (i == len(g.life) || g.life[i].part.Waits()) {
		return 0, false // it had written all before
	}
	if at == 0 {
		at = ended
	}
	from := sort.Search(len(g.life), func(i int) bool { return g.life[i].end > at })
	n := slices.IndexFunc(g.life[from:], func(s stretch) bool { return t.stacks[s.stack].writes || s.part.Waits() })
	if n < 0 || g.life[from+n].part.Waits() {
		return 0, false
	}
	return g.life[from+n].end, true
}
