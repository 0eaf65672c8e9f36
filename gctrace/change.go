package gctrace

import (
	"math"
	"time"
)

// A Change of the settings in the middle of a process: its collections before and after it are of two settings, and no mean of both
// means anything.
type Change struct {
	N        int           // the first collection after it
	At       time.Duration // since the process began
	Procs    bool          // GOMAXPROCS; else goals no longer follow the GOGC before: another GOGC, or a memory limit
	From, To float64       // GOMAXPROCS, or GOGC; NaN if that is not known
}

const (
	mostChanges = 8 // that a process keeps
	steadyGoals = 5 // collections whose goals agree in one GOGC, before a change can be seen
	otherGoals  = 3 // in a row whose goals do not follow it any more
)

// goals watch whether the goals of a process follow one GOGC. Each tells an interval of it; as long as these have a part in common, one
// value explains them all.
type goals struct {
	before Cycle
	live   float64 // of the collection before that
	lo, hi float64 // that all since the last change have in common
	n      int     // of those
	other  int     // in a row that do not follow
	at     Cycle   // the first of these
	olo    float64 // what they have in common
	ohi    float64
}

// next takes a collection, and reports a change of GOGC.
func (g *goals) next(c *Cycle) (ch Change, ok bool) {
	lo, hi, known := GOGC(&g.before, c)
	before, live := g.before, g.live
	g.before, g.live = *c, before.Live
	if before.N == 0 || !known {
		return ch, false
	}
	if live > 0 && g.other == 0 && math.Abs(c.Goal/before.Goal-1) < 0.01 && math.Abs(before.Live/live-1) > 0.05 { // a limit decides, not what is live
		g.n, g.other = 0, 0
		return ch, false
	}
	if g.n == 0 {
		g.lo, g.hi = 0, math.Inf(1)
	}
	if max(g.lo, lo) <= min(g.hi, hi) {
		g.lo, g.hi, g.other = max(g.lo, lo), min(g.hi, hi), 0
		g.n++
		return ch, false
	}
	if g.n < steadyGoals { // they never agreed: a limit decides, or nothing is known
		g.lo, g.hi, g.n = lo, hi, 1
		return ch, false
	}
	if g.other++; g.other == 1 {
		g.at, g.olo, g.ohi = *c, 0, math.Inf(1)
	}
	g.olo, g.ohi = max(g.olo, lo), min(g.ohi, hi)
	if g.other < otherGoals {
		return ch, false
	}
	ch = Change{N: g.at.N, At: g.at.Start, From: middle(g.lo, g.hi), To: math.NaN()}
	if g.olo <= g.ohi {
		ch.To = middle(g.olo, g.ohi)
	}
	g.lo, g.hi, g.n, g.other = lo, hi, 1, 0
	return ch, true
}

// middle is a value of GOGC in an interval: a round one, if there is one.
func middle(lo, hi float64) float64 {
	if math.IsInf(hi, 1) {
		return math.NaN()
	}
	for _, unit := range []float64{100, 50, 25, 10, 5, 1} {
		if x := math.Ceil(lo/unit) * unit; x <= hi && x > 0 {
			return x
		}
	}
	return (lo + hi) / 2
}

// change notes changes of a process's settings.
func (p *Process) change(c *Cycle) {
	note := func(ch Change) {
		if p.Changed++; len(p.Changes) < mostChanges {
			p.Changes = append(p.Changes, ch)
		}
		p.LastChange = max(p.LastChange, ch.N)
	}
	if p.Collections > 0 && c.Procs != p.Procs {
		note(Change{N: c.N, At: c.Start, Procs: true, From: float64(p.Procs), To: float64(c.Procs)})
	}
	if ch, ok := p.goals.next(c); ok {
		note(ch)
	}
}

// tick is what coarse clocks count in: that of Windows has 0.5 or 1 ms.
const tick = 500 * time.Microsecond

// short is below what the runtime prints of a stop's fractions (runtime/mgc.go, fmtNSAsMS): longer ones are whole milliseconds with any clock.
const short = 10 * time.Millisecond

// coarse reports whether both stops of a collection are whole ticks, where they tell.
func (c *Cycle) coarse() (coarse, told bool) {
	return c.SweepTerm%tick == 0 && c.MarkTerm%tick == 0, c.SweepTerm < short && c.MarkTerm < short
}

// fewTicks is from how many collections on a clock is called coarse.
const fewTicks = 5

// Coarse reports whether the clock of the log counts in milliseconds, so that stops and CPU times of less are not known: nearly all stops are
// 0 or whole.
func (f *Figures) Coarse() bool {
	return f.short >= fewTicks && float64(f.whole) >= 0.9*float64(f.short)
}
