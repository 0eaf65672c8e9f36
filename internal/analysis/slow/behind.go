package slow

import (
	"slices"
	"sort"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// behind splits a time in which a goroutine waited for a P. While a P is free, the kernel holds it up, which has to
// wake a thread; while the world is stopped, that does; else it is what the Ps run.
func (t *Trace) behind(from, to int64, add func(by Culprit, ns float64)) {
	if from = max(from, t.Begin); t.ledger == nil && len(t.running) > 0 && to > from {
		t.ledger = t.account()
	}
	l := t.ledger
	if l == nil || to-from < 2*l.page {
		t.moments(from, to, add)
		return
	}
	first, last := (from-t.Begin+l.page-1)/l.page, (to-t.Begin)/l.page
	t.moments(from, t.Begin+first*l.page, add)
	for by, n := range l.numbers {
		if ns := l.until(last, n) - l.until(first, n); ns > 1 { // less is rounding
			add(by, ns)
		}
	}
	t.moments(t.Begin+last*l.page, to, add)
}

// A ledger has the sums of what all Ps did, from the beginning of the trace to that of each page. Thousands of requests
// that wait behind thousands of others would take minutes without it.
type ledger struct {
	page    int64 // ns
	numbers map[Culprit]int
	sums    [][]float64 // of pages, by number
}

const pages = 4096

func (t *Trace) account() *ledger {
	l := &ledger{page: (t.End-t.Begin)/pages + 1, numbers: map[Culprit]int{}}
	var sums []float64
	for at := t.Begin; at < t.End; at += l.page {
		l.sums = append(l.sums, slices.Clone(sums))
		t.moments(at, at+l.page, func(by Culprit, ns float64) {
			n, ok := l.numbers[by]
			if !ok {
				n = len(sums)
				l.numbers[by], sums = n, append(sums, 0)
			}
			sums[n] += ns
		})
	}
	l.sums = append(l.sums, sums)
	return l
}

// until is the sum of a culprit before a page.
func (l *ledger) until(page int64, n int) float64 {
	if sums := l.sums[min(max(page, 0), int64(len(l.sums)-1))]; n < len(sums) {
		return sums[n]
	}
	return 0
}

// moments splits a time as behind does, from one change of any P to the next.
func (t *Trace) moments(from, to int64, add func(by Culprit, ns float64)) {
	if to <= from || len(t.running) == 0 {
		return
	}
	stops := after(t.stops, from)
	free, ps := make([]rest[span], 0, len(t.free)), make([]watched, 0, len(t.running))
	for _, of := range t.free {
		free = append(free, after(of, from))
	}
	for p, runs := range t.running {
		ps = append(ps, watched{runs: after(runs, from), away: after(t.away[p], from)})
	}
	for at, next := from, to; at < to; at, next = next, to {
		idle, stopped := false, stops.now(at, &next)
		for i := 0; i < len(free) && !stopped && !idle; i++ {
			idle = free[i].now(at, &next)
		}
		switch {
		case stopped:
			add(Culprit{Part: exectrace.Stopped}, float64(next-at))
		case idle:
			add(Culprit{Idle: true}, float64(next-at))
		default:
			for i := range ps {
				if by := ps[i].does(t, at, &next); by != ps[i].by {
					add(ps[i].by, ps[i].took)
					ps[i].by, ps[i].took = by, 0
				}
			}
			for i := range ps {
				ps[i].took += float64(next-at) / float64(len(ps))
			}
		}
	}
	for i := range ps {
		add(ps[i].by, ps[i].took)
	}
}

// A watched P is one that a goroutine waits for.
type watched struct {
	runs rest[running]
	away rest[span]

	by   Culprit // what it does, and for how long already, in ns
	took float64
	run  Culprit // what the first of so many runs that are left is
	left int
}

// does is what a P does at a time.
func (w *watched) does(t *Trace, at int64, next *int64) Culprit {
	away, runs := w.away.now(at, next), w.runs.now(at, next)
	switch {
	case away, runs && w.runs[0].part == exectrace.Preempted:
		return Culprit{Part: exectrace.Preempted}
	case !runs:
		return Culprit{Part: exectrace.Syscall} // or the scheduler
	}
	if len(w.runs) != w.left {
		r := &w.runs[0]
		g := t.goroutines[r.goroutine]
		w.left, w.run = len(w.runs), Culprit{Part: r.part, Other: g.serves || g.handles}
		if !w.run.Other {
			w.run.Site = t.sites[t.ran(g, r)]
		}
	}
	return w.run
}

// A timed stretch has a begin and an end.
type timed interface{ bounds() (begin, end int64) }

func (s span) bounds() (int64, int64)    { return s.begin, s.end }
func (r running) bounds() (int64, int64) { return r.begin, r.end }

// overlap calls do for each of sorted stretches that is in a time.
func overlap[T timed](all []T, from, to int64, do func(i int)) {
	i := sort.Search(len(all), func(i int) bool { _, end := all[i].bounds(); return end > from })
	for ; i < len(all); i++ {
		if begin, _ := all[i].bounds(); begin >= to {
			return
		}
		do(i)
	}
}

// A rest is of sorted stretches: those that are left of a walk through time.
type rest[T timed] []T

func after[T timed](all []T, from int64) rest[T] {
	return all[sort.Search(len(all), func(i int) bool { _, end := all[i].bounds(); return end > from }):]
}

// now reports whether a stretch has the moment after a time, and is the first. If that changes before next, next becomes when.
func (r *rest[T]) now(at int64, next *int64) bool {
	for len(*r) > 0 {
		switch begin, end := (*r)[0].bounds(); {
		case end <= at:
			*r = (*r)[1:]
		case begin > at:
			*next = min(*next, begin)
			return false
		default:
			*next = min(*next, end)
			return true
		}
	}
	return false
}
