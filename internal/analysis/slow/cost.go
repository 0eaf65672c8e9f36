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
	By   Culprit // of waiting; empty where none is known, as for a timer
}

// A Part is what a request's time is spent in.
type Part = exectrace.Part

// Arriving requests were sent, and their goroutine was not yet woken.
const Arriving = exectrace.Arriving

// A Culprit is what the goroutine did that a request waited for.
type Culprit struct {
	Part  Part
	Site  Site // its own line; without a line, the function that it was started with
	Other bool // it served another request
	Idle  bool // a P had nothing to do: the kernel woke it late
}

// cost is where the time of requests went, in ns.
type cost map[Key]float64

func (c cost) add(k Key, ns float64) {
	if ns > 0 {
		c[k] += ns
	}
}

// A tally is what one or several requests spent. Running has no line in it: which lines ran is known by samples, and
// few requests have any, so samples of many requests are put together.
type tally struct {
	cost    cost
	samples map[Site]int     // while they were running
	calls   map[Site]float64 // ns of running up to a call on a line
}

// spend adds what a request's goroutine did from one time to another.
func (t *Trace) spend(c *tally, n int32, from, to int64) {
	g := t.goroutines[n]
	for i := sort.Search(len(g.life), func(i int) bool { return g.life[i].end > from }); i < len(g.life); i++ {
		s := &g.life[i]
		a, b := max(g.from(i), from), min(s.end, to)
		if a >= to {
			break
		}
		at := t.at(s.stack, s.part)
		switch s.part {
		case exectrace.Running:
			c.cost.add(Key{Part: s.part}, float64(b-a))
			for _, x := range g.sampled(a, b) {
				c.samples[t.sites[t.stacks[x.stack].own]]++
			}
			if site := t.sites[t.stacks[s.stack].own]; b == s.end && site.Func != "" {
				c.calls[site] += float64(b - a)
			}
		case exectrace.Preempted:
			c.cost.add(Key{Part: s.part}, float64(b-a))
		case exectrace.Runnable:
			t.behind(a, b, func(by Culprit, ns float64) { c.cost.add(Key{Part: s.part, By: by}, ns) })
		case exectrace.Assisting, exectrace.Sweeping, exectrace.Stopped, exectrace.Syscall:
			c.cost.add(Key{Part: s.part, Site: at}, float64(b-a))
		default:
			t.blame(n, a, b, func(by Culprit, ns float64) { c.cost.add(Key{Part: s.part, Site: at, By: by}, ns) })
		}
	}
}

func (g *goroutine) sampled(from, to int64) []sample {
	a := sort.Search(len(g.samples), func(i int) bool { return g.samples[i].at >= from })
	b := sort.Search(len(g.samples), func(i int) bool { return g.samples[i].at > to })
	return g.samples[a:max(a, b)]
}

// A calm is when a P was free and the world was not stopped, in spans that do not touch.
type calm struct {
	spans []span
	sum   []int64 // of all spans before
}

func (t *Trace) idle() calm {
	var all []span
	for _, free := range t.free {
		all = append(all, free...)
	}
	c := calm{sum: []int64{0}}
	for _, s := range union(all) {
		overlap(t.stops, s.begin, s.end, func(k int) {
			c.add(s.begin, t.stops[k].begin)
			s.begin = t.stops[k].end
		})
		c.add(s.begin, s.end)
	}
	return c
}

func (c *calm) add(begin, end int64) {
	if end > begin {
		c.spans, c.sum = append(c.spans, span{begin, end}), append(c.sum, c.sum[len(c.sum)-1]+end-begin)
	}
}

// in is how much of a time is calm.
func (c calm) in(from, to int64) int64 {
	until := func(at int64) int64 {
		i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].end > at })
		if i < len(c.spans) && c.spans[i].begin < at {
			return c.sum[i] + at - c.spans[i].begin
		}
		return c.sum[i]
	}
	return max(0, until(to)-until(from))
}

// ran is the line that a goroutine ran on, by a sample or by where it stopped, else the function that it was
// started with.
func (t *Trace) ran(g *goroutine, r *running) int32 {
	sampled := g.sampled(r.begin, r.end)
	if i := g.at(r.end); len(sampled) == 0 && i != none {
		sampled = g.pieces(i)
	}
	for _, s := range sampled {
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

// A step of a walk back is a part of one stretch of a goroutine.
type step struct {
	goroutine int32
	stretch   int   // none: it is not known what the goroutine did
	over      int32 // the stack on which it let the next go on, if it did
	from, to  int64
}

// back walks back from when a goroutine goes on after a wait to when the wait began: to the goroutine that woke it, back
// through what that one did, where that one waited to its waker, and so on. went is called where it changes over.
func (t *Trace) back(n int32, from, to int64, each func(step), went func(waker, woken int32, at int64)) {
	cur, at, over := n, to, int32(0)
	for range mostSteps {
		if at <= from {
			return
		}
		g := t.goroutines[cur]
		i := g.at(at)
		if i == none {
			if next := g.creator; g.born && next != none && next != cur && at <= g.begin+1 {
				went(next, cur, at)
				cur, over = next, g.cstack
				continue
			}
			each(step{cur, none, 0, from, at})
			return
		}
		s := &g.life[i]
		if s.part.Waits() && t.wakes(s, cur, at) {
			went(s.waker, cur, at)
			cur, over = s.waker, s.wstack
			continue
		}
		lo := max(g.from(i), from)
		each(step{cur, i, over, lo, at})
		if at = lo; !s.goesOn {
			over = 0
		}
	}
	each(step{cur, none, 0, from, at})
}

// blame splits a time in which a goroutine waited over what those did who kept it waiting. Time that ends with a timer
// or the network has no culprit.
func (t *Trace) blame(n int32, from, to int64, add func(by Culprit, ns float64)) {
	t.back(n, from, to, func(x step) {
		took := float64(x.to - x.from)
		if x.stretch == none {
			add(Culprit{}, took)
			return
		}
		g := t.goroutines[x.goroutine]
		s := &g.life[x.stretch]
		switch {
		case !s.part.Waits():
			t.did(g, x, add)
		case x.goroutine == n:
			add(Culprit{}, took)
		case s.idle:
			add(Culprit{Part: s.part, Other: true}, took) // it waited for a request
		default:
			add(t.culprit(s.part, g, s.stack), took)
		}
	}, func(int32, int32, int64) {})
}

// did charges what a goroutine did that was not waiting: running to the lines of its samples, else to where it woke
// the next, or where it stopped.
func (t *Trace) did(g *goroutine, x step, add func(by Culprit, ns float64)) {
	s, took := &g.life[x.stretch], float64(x.to-x.from)
	stack := s.stack
	if x.over != 0 {
		stack = x.over
	}
	sampled := []sample(nil)
	if s.part == exectrace.Running {
		if sampled = g.sampled(x.from, x.to); len(sampled) == 0 {
			sampled = g.pieces(x.stretch)
		}
	}
	for _, y := range sampled {
		add(t.culprit(s.part, g, y.stack), took/float64(len(sampled)))
	}
	if len(sampled) == 0 {
		add(t.culprit(s.part, g, stack), took)
	}
}

// wakes reports whether another goroutine ended a wait, and did something just then.
func (t *Trace) wakes(s *stretch, cur int32, at int64) bool {
	if s.waker == none || s.waker == cur || s.end != at || s.part == exectrace.Network { // whoever polled it
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
	if part == exectrace.Preempted {
		return Culprit{Part: part}
	}
	by := Culprit{Part: part, Site: t.at(stack, part), Other: g.serves || g.handles}
	if by.Site.Func == "" && !by.Other {
		by.Site = t.sites[g.root]
	}
	return by
}
