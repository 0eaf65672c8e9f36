package slow

import (
	"sort"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// handlers finds for requests, sorted by sent, which handler each is; none where it is not known. A handler has one
// request, so nothing tells whose it is but when it began and ended: one began after the request was sent, and wrote
// before that was done. The first guess is the order in which they were sent. Then two are exchanged at a time, while that
// lessens the sum of squares of the time left before and after. Two requests that begin and end together may be
// exchanged by mistake. That changes nothing: their times are the same.
func handlers(rs []Request, all []served) []int32 {
	h := pairing{rs: rs, all: all, of: make([]int32, len(rs)), to: make([]int32, len(all))}
	for i := range h.of {
		h.of[i] = none
	}
	for n := range all {
		if h.to[n] = none; all[n].handler {
			h.first(int32(n))
		}
	}
	for better, round := true, 0; better && round < mostRounds; round++ {
		better = false
		for n := range all {
			better = all[n].handler && h.improve(int32(n)) || better
		}
	}
	return h.of
}

// The search for better pairs looks at so many requests before and after, and at each handler so often.
const reach, mostRounds = 64, 20

// A pairing gives requests to handlers.
type pairing struct {
	rs  []Request
	all []served
	of  []int32 // the handler of a request
	to  []int32 // the request of a handler
	low int     // all requests before are given, or were done too early
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
	woken := h.all[n].woken
	for h.low < len(h.rs) && (h.of[h.low] != none || h.rs[h.low].Done < woken-slack) {
		h.low++
	}
	for r := h.low; r < len(h.rs) && h.rs[r].Sent <= woken+slack; r++ {
		if h.of[r] == none && h.fits(n, int32(r)) {
			h.give(n, int32(r))
			return
		}
	}
}

// improve takes a free request instead, or exchanges with another handler, if that costs less.
func (h *pairing) improve(n int32) (better bool) {
	at := int(h.to[n])
	if at == none {
		at = sort.Search(len(h.rs), func(i int) bool { return h.rs[i].Sent > h.all[n].woken+slack }) - 1
	}
	for i := max(0, at-reach); i < min(len(h.rs), at+reach); i++ {
		r := int32(i)
		if !h.fits(n, r) {
			continue
		}
		mine, other := h.to[n], h.of[r]
		switch {
		case r == mine:
			continue
		case other == none:
			if mine != none && h.cost(n, r) >= h.cost(n, mine) {
				continue
			}
			if mine != none {
				h.of[mine] = none
			}
		case mine != none && !h.fits(other, mine), h.cost(n, r)+h.cost(other, mine) >= h.cost(n, mine)+h.cost(other, r):
			continue
		default:
			h.give(other, mine)
		}
		h.give(n, r)
		better = true
	}
	return better
}

// writers are the goroutines of grpc-go that write the answers of handlers, by the goroutine that started those: of
// each connection the one that its handlers wake.
func (t *Trace) writers() map[int32]int32 {
	woken := map[[2]int32]int{}
	for n, g := range t.goroutines {
		name, ok := strings.CutPrefix(t.sites[g.root].Func, "google.golang.org/grpc/internal/transport.")
		if !ok || !strings.HasPrefix(name, "NewServerTransport.") && !strings.HasPrefix(name, "newHTTP2Server.") {
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

// written is when a writer had written the answer of a handler that ended: the end of its next write, or false if it
// waited already, as it had written all.
func (t *Trace) written(writer int32, ended int64) (at int64, ok bool) {
	life := t.goroutines[writer].life
	for i := sort.Search(len(life), func(i int) bool { return life[i].end > ended }); i < len(life) && !life[i].part.Waits(); i++ {
		if s := &life[i]; s.part == exectrace.Syscall && t.stacks[s.stack].writes {
			for i+1 < len(life) && life[i+1].goesOn { // the kernel took the CPU away meanwhile
				i++
			}
			return life[i].end, true
		}
	}
	return 0, false
}
