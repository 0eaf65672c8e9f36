package slow

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// A Request is one that a client sent, in ns of the trace's clock.
type Request struct {
	Client          int
	Due, Sent, Done int64
}

// served is a request as the service saw it.
type served struct {
	goroutine   int32
	waits       int64 // its connection began to wait for it; woken, if it was there already; 0 of a new connection
	woken       int64 // its goroutine became runnable, or was made
	wrote, done int64 // the last write of its answer began, ended
	handler     bool  // its goroutine's life is the request: what it did after its last wait may follow the write
	ended       int64 // the handler, whose answer another goroutine wrote; 0 of all others
	writer      int32 // that one
}

// served lists the requests that began and ended in the trace, in the order of their begins.
func (t *Trace) served() (all []served) {
	if t.named != nil {
		return t.named
	}
	writers := t.writers()
	for n, g := range t.goroutines {
		switch {
		case g.serves:
			all = t.connection(all, int32(n), g)
		case g.handles && g.born && g.dead && len(g.life) > 0:
			all = append(all, t.handler(int32(n), g, writers))
		}
	}
	slices.SortFunc(all, func(a, b served) int { return int(a.woken - b.woken) })
	return all
}

// handler is the request of a goroutine that has one.
func (t *Trace) handler(n int32, g *goroutine, writers map[int32]int32) served {
	end := g.life[len(g.life)-1].end
	r := served{goroutine: n, woken: g.begin, wrote: end, done: end, handler: true}
	for i := len(g.life) - 1; i >= 0; i-- {
		if g.life[i].part.Waits() { // for the goroutine that writes, it may be
			r.wrote = g.from(i)
			break
		}
	}
	if writer, ok := writers[g.creator]; ok {
		if at, ok := t.written(writer, end); ok {
			r.done, r.ended, r.writer = at, end, writer
		}
	}
	return r
}

// connection adds the requests of one HTTP/1 connection. One begins with the end of an idle wait, or with the read
// after an answer, if the next was there already.
func (t *Trace) connection(all []served, n int32, g *goroutine) []served {
	r := served{goroutine: n}
	if g.born {
		r.woken = g.begin
	}
	for i := range g.life {
		s := &g.life[i]
		switch k := &t.stacks[s.stack]; {
		case s.goesOn: // with a read or a write, while the kernel took the CPU away
			if s.part == exectrace.Syscall && k.serves && k.writes {
				r.done = s.end
			}
		case s.idle, s.part == exectrace.Syscall && k.awaits && k.reads && r.done != 0:
			if r.woken != 0 && r.done != 0 {
				all = append(all, r)
			}
			r = served{goroutine: n, waits: s.end, woken: s.end}
			if s.idle {
				r.waits = g.from(i)
			}
		case s.part == exectrace.Syscall && k.serves && k.writes:
			r.wrote, r.done = g.from(i), s.end
		}
	}
	if g.dead && r.woken != 0 && r.done != 0 { // the connection was closed behind it
		all = append(all, r)
	}
	return all
}

// slack is by how much the clocks of client and trace may differ, in ns. On one machine both read the same
// clock, but not at the same instant as what they time.
const slack = 20_000

// match finds for each request, sorted by sent, which of those that connections served it is; none where it is not
// known. A goroutine serves one client at a time: it is the client whose requests contain those of the goroutine, and
// closely. A service that asks another in its own process has requests within requests, so the closest are given
// first. What two clients may have sent is left out.
func match(rs []Request, all []served) []int32 {
	of := make([]int32, len(rs))
	for i := range of {
		of[i] = none
	}
	if len(rs) == 0 {
		return of
	}
	m := matcher{rs: rs, all: all, clients: map[int][]int32{}, of: of}
	for i := range rs {
		m.clients[rs[i].Client] = append(m.clients[rs[i].Client], int32(i))
	}
	last := int64(0)
	for i := range rs {
		last = max(last, rs[i].Done)
	}
	byGoroutine := map[int32][]int32{}
	for i := range all {
		if all[i].handler || all[i].woken < rs[0].Sent-slack || all[i].woken > last { // of no request that is known
			continue
		}
		byGoroutine[all[i].goroutine] = append(byGoroutine[all[i].goroutine], int32(i))
	}
	m.most = mostLooked / max(1, len(byGoroutine))
	every := slices.Collect(maps.Keys(m.clients))
	var left []*seeker
	for g, mine := range byGoroutine {
		left = append(left, m.seeker(g, mine, every))
	}
	slices.SortFunc(left, func(a, b *seeker) int {
		few := func(s *seeker) int { return min(len(s.mine), enough) }
		return cmp.Or(few(b)-few(a), cmp.Compare(a.gap, b.gap), cmp.Compare(a.goroutine, b.goroutine))
	})
	for before := -1; len(left) != before; { // a client that is taken may leave another goroutine with one
		before = len(left)
		left = slices.DeleteFunc(left, m.assign)
	}
	return of
}

// enough requests tell whose a goroutine is.
const enough = 8

type matcher struct {
	rs      []Request
	all     []served
	clients map[int][]int32 // requests of those that have no goroutine yet
	of      []int32
	most    int // pairs that are looked at for a goroutine
}

// mostLooked bounds the time of a search, to some seconds. Where thousands of clients always wait for an answer, each
// contains nearly all of every goroutine's.
const mostLooked = 100_000_000

// A seeker is a goroutine that seeks its client.
type seeker struct {
	goroutine int32
	mine      []int32 // its requests, in the order of time
	clients   []int   // that may be it
	gap       int64   // the least mean one around its requests
	looked    int     // at pairs, since the first search
}

// A candidate is a client whose requests contain some of a goroutine's.
type candidate struct {
	client, votes int
	gap           int64 // that is left around them, together
	requests      []int32
	at            int // the first that may contain the next
}

func (m *matcher) seeker(g int32, mine []int32, every []int) *seeker {
	s := &seeker{goroutine: g, mine: mine, clients: every, gap: math.MaxInt64}
	left := m.candidates(s)
	s.clients, s.looked = make([]int, 0, len(left)), 0
	for _, c := range left { // the best may be taken by another
		s.clients = append(s.clients, c.client)
	}
	for _, c := range best(left) {
		s.gap = min(s.gap, c.gap/int64(c.votes))
	}
	return s
}

// best are the candidates whose requests contain the most of a goroutine's.
func best(all []candidate) []candidate {
	greatest := 1
	for _, c := range all {
		greatest = max(greatest, c.votes)
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return c.votes < greatest })
}

// candidates are the clients whose requests contain nearly as many of a goroutine's as any; none if the search would take
// too long.
func (m *matcher) candidates(s *seeker) []candidate {
	left := make([]candidate, 0, len(s.clients))
	for _, c := range s.clients {
		left = append(left, candidate{client: c, requests: m.clients[c]})
	}
	greatest := 1
	for i, n := range s.mine {
		for k := range left {
			if r := left[k].contains(m, n); r != none {
				left[k].votes++
				left[k].gap += m.all[n].woken - m.rs[r].Sent + m.rs[r].Done - m.all[n].wrote
			}
			greatest = max(greatest, left[k].votes)
		}
		seen := i + 1
		if seen >= 4 {
			least := max(seen*3/4, greatest-4-seen/8)
			left = slices.DeleteFunc(left, func(c candidate) bool { return c.votes < least })
		}
		if s.looked += len(left); s.looked > m.most {
			if seen < leastSeen {
				return nil
			}
			break
		}
		if len(left) == 1 && seen >= leastSeen {
			break
		}
	}
	return left
}

// leastSeen is how many of a goroutine's requests are looked at before the search ends.
const leastSeen = 16

// assign finds the client of one goroutine's requests: the only one whose requests contain most of them, or, of
// several, the only one with as many requests.
func (m *matcher) assign(s *seeker) bool {
	left := best(m.candidates(s))
	if len(left) > 1 {
		left = slices.DeleteFunc(left, func(c candidate) bool { return len(m.clients[c.client]) != len(s.mine) })
	}
	if len(left) != 1 {
		return false
	}
	c := candidate{client: left[0].client, requests: m.clients[left[0].client]}
	for _, n := range s.mine {
		if r := c.contains(m, n); r != none {
			m.of[r] = n
		}
	}
	// A client that connects anew has another goroutine for the rest of its requests.
	m.clients[c.client] = slices.DeleteFunc(c.requests, func(r int32) bool { return m.of[r] != none })
	if len(m.clients[c.client]) == 0 {
		delete(m.clients, c.client)
	}
	return true
}

// contains returns the request of a client that a served one may be. It is asked in the order of time.
func (c *candidate) contains(m *matcher, n int32) int32 {
	s := &m.all[n]
	for c.at+1 < len(c.requests) && m.rs[c.requests[c.at+1]].Sent <= s.woken+slack {
		c.at++
	}
	if c.at < len(c.requests) {
		if r := c.requests[c.at]; m.rs[r].Sent <= s.woken+slack && m.rs[r].Done >= s.wrote-slack {
			return r
		}
	}
	return none
}
