package slow

import (
	"sort"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// A Key is one place where the time of requests goes: what the request did, on which line, and who
// kept it from going on.
type Key struct {
	Part Part
	Site Site    // of the subject's own code; empty where none is known
	By   Culprit // of waiting; empty where nobody is known, as for a timer
}

// A Part is what a request's time is spent in.
type Part = exectrace.Part

// Arriving requests were sent, and their goroutine was not yet woken.
const Arriving = exectrace.Arriving

// A Culprit is what the goroutine did that a request waited for.
type Culprit struct {
	Part  Part `json:"part"`
	Site  Site `json:"site"`            // its own line; without a line, the function that it was started with
	Other bool `json:"other,omitempty"` // it served another request
	Idle  bool `json:"idle,omitempty"`  // a P had nothing to do: the kernel woke it late
}

// cost is where the time of requests went, in ns.
type cost map[Key]float64

func (c cost) add(k Key, ns float64) {
	if ns > 0 {
		c[k] += ns
	}
}

// spend adds what a request's goroutine did from one time to another.
func (t *Trace) spend(c cost, n int32, from, to int64) {
	g := t.goroutines[n]
	sampled := g.sampled(from, to)
	bare := 0.0 // running, without a sample of its own
	for i := sort.Search(len(g.life), func(i int) bool { return g.life[i].end > from }); i < len(g.life); i++ {
		s := &g.life[i]
		a, b := max(g.from(i), from), min(s.end, to)
		if a >= to {
			break
		}
		at := t.sites[t.stacks[s.stack].own]
		switch s.part {
		case exectrace.Running:
			mine := g.sampled(a, b)
			for _, x := range mine {
				c.add(Key{Part: s.part, Site: t.sites[t.stacks[x.stack].own]}, float64(b-a)/float64(len(mine)))
			}
			if len(mine) == 0 {
				bare += float64(b - a)
			}
		case exectrace.Runnable:
			t.behind(n, a, b, func(by Culprit, ns float64) { c.add(Key{Part: s.part, By: by}, ns) })
		case exectrace.Assisting, exectrace.Sweeping, exectrace.Stopped, exectrace.Syscall:
			c.add(Key{Part: s.part, Site: at}, float64(b-a))
		default:
			t.blame(n, a, b, func(by Culprit, ns float64) { c.add(Key{Part: s.part, Site: at, By: by}, ns) })
		}
	}
	for _, x := range sampled { // as the samples of the same request are
		c.add(Key{Part: exectrace.Running, Site: t.sites[t.stacks[x.stack].own]}, bare/float64(len(sampled)))
	}
	if len(sampled) == 0 {
		c.add(Key{Part: exectrace.Running}, bare)
	}
}

func (g *goroutine) sampled(from, to int64) []sample {
	a := sort.Search(len(g.samples), func(i int) bool { return g.samples[i].at >= from })
	b := sort.Search(len(g.samples), func(i int) bool { return g.samples[i].at > to })
	return g.samples[a:max(a, b)]
}

// behind splits a time in which a goroutine waited for a P over what the Ps did.
func (t *Trace) behind(self int32, from, to int64, add func(by Culprit, ns float64)) {
	if len(t.running) == 0 || to <= from {
		return
	}
	ps := float64(len(t.running))
	rest := float64(to - from)
	for _, runs := range t.running {
		for i := sort.Search(len(runs), func(i int) bool { return runs[i].end > from }); i < len(runs) && runs[i].begin < to; i++ {
			share := float64(min(to, runs[i].end)-max(from, runs[i].begin)) / ps
			g := t.goroutines[runs[i].goroutine]
			by := Culprit{Part: runs[i].part, Other: g.serves || g.handles}
			if !by.Other {
				by.Site = t.sites[t.ran(g, &runs[i])]
			}
			if runs[i].goroutine != self {
				add(by, share)
				rest -= share
			}
		}
	}
	add(Culprit{Idle: true}, rest)
}

// ran is the line that a goroutine ran on, by a sample or by where it stopped, else the function that it was
// started with.
func (t *Trace) ran(g *goroutine, r *running) int32 {
	for _, s := range g.sampled(r.begin, r.end) {
		if site := t.stacks[s.stack].own; site != 0 {
			return site
		}
	}
	if site := t.stacks[r.stack].own; site != 0 {
		return site
	}
	return g.root
}

// mostSteps bounds the walk back of one wait.
const mostSteps = 10_000

// blame splits a time in which a goroutine waited over what those did who woke it: it goes to the goroutine
// that woke it at the end, back through what that one did, where that one waited to its waker, and so on until
// the wait began. Time that ends with a timer or the network has no culprit.
func (t *Trace) blame(n int32, from, to int64, add func(by Culprit, ns float64)) {
	cur, at, over := n, to, int32(0)
	for range mostSteps {
		if at <= from {
			return
		}
		g := t.goroutines[cur]
		i := g.at(at)
		if i == none {
			if next := g.creator; g.born && next != none && next != cur && at <= g.begin+1 {
				cur, over = next, g.cstack
				continue
			}
			add(Culprit{}, float64(at-from))
			return
		}
		s := &g.life[i]
		lo := max(g.from(i), from)
		if s.part.Waits() {
			if t.wakes(s, cur, at) {
				cur, over = s.waker, s.wstack
				continue
			}
			if cur == n {
				add(Culprit{}, float64(at-lo))
			} else if s.idle {
				add(Culprit{Part: s.part, Other: true}, float64(at-lo)) // it waited for a request
			} else {
				add(t.culprit(s.part, g, s.stack), float64(at-lo))
			}
		} else {
			stack := s.stack
			if over != 0 {
				stack = over
			}
			add(t.culprit(s.part, g, stack), float64(at-lo))
		}
		at, over = lo, 0
	}
	add(Culprit{}, float64(at-from))
}

// wakes reports whether another goroutine ended a wait, and did something just then.
func (t *Trace) wakes(s *stretch, cur int32, at int64) bool {
	if s.waker == none || s.waker == cur || s.end != at {
		return false
	}
	by := t.goroutines[s.waker]
	if t.stacks[s.wstack].own == 0 && strings.HasPrefix(t.sites[by.root].Func, "runtime.") {
		return false // the runtime, which ran a timer or polled the network meanwhile
	}
	i := by.at(at)
	return i != none && !by.life[i].part.Waits()
}

func (t *Trace) culprit(part Part, g *goroutine, stack int32) Culprit {
	by := Culprit{Part: part, Site: t.sites[t.stacks[stack].own]}
	if by.Site.Func == "" {
		by.Other = g.serves || g.handles
		if !by.Other {
			by.Site = t.sites[g.root]
		}
	}
	return by
}
