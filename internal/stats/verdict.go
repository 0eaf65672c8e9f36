package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Verdict is the word for one comparison.
type Verdict string

const (
	Better  Verdict = "better"  // a change in the wanted direction
	Worse   Verdict = "worse"   // a change in the other direction
	Same    Verdict = "same"    // no change beyond what the user calls negligible
	Unclear Verdict = "unclear" // the trials cannot tell
)

// Adjust sets Adjusted and Tests by Holm's step-down procedure (Scand. J. Statist. 6,
// 1979) from what Single returns, whatever the dependence. Comparisons without a p-value
// do not count.
func Adjust(family []*Comparison) {
	tested := make([]*Comparison, 0, len(family))
	for _, c := range family {
		if !math.IsNaN(c.P) {
			tested = append(tested, c)
		}
	}
	slices.SortStableFunc(tested, func(a, b *Comparison) int { return cmp.Compare(a.Single(), b.Single()) })
	floor := 0.0
	for i, c := range tested {
		floor = max(floor, min(1, c.Single()*float64(len(tested)-i)))
		c.Adjusted, c.Tests = floor, len(tested)
	}
}

// A Rule says how comparisons become verdicts. Its zero value works.
type Rule struct {
	// Alpha is the error allowed to the whole family; 0 means 0.05.
	Alpha float64
	// Negligible is a change, as a fraction, that does not matter: ratios from
	// 1/(1+Negligible) to 1+Negligible are the same. 0 means 0.01, negative none.
	Negligible float64
	// Better is positive if higher is better; otherwise lower is.
	Better int
}

func (r Rule) alpha() float64 {
	return cmp.Or(r.Alpha, 0.05)
}

// margin returns the largest negligible log ratio; 0 for none.
func (r Rule) margin() float64 {
	return math.Log1p(max(0, cmp.Or(r.Negligible, 0.01)))
}

// Verdict returns the word for c. Same comes first: a change whose whole interval is
// negligible is none. Then a change counts if Adjusted is at most Alpha. Without a Ratio
// only values that never differed are the same.
func (c Comparison) Verdict(r Rule) Verdict {
	m := r.margin()
	change := c.Diff
	if !math.IsNaN(c.Ratio) {
		change = math.Log(c.Ratio)
	}
	switch {
	case c.N < 2:
		return Unclear
	case c.SD == 0 && change == 0:
		return Same
	case m > 0 && math.Log(c.Lo) >= -m && math.Log(c.Hi) <= m:
		return Same
	case !(c.Adjusted <= r.alpha()), change == 0: // few differ, all one way: that is no size
		return Unclear
	case change > 0 == (r.Better > 0):
		return Better
	}
	return Worse
}

// moreLimit is the most blocks that More names: beyond, accept the doubt.
const moreLimit = 1000

// More returns about how many further blocks would settle an unclear c if estimate and
// deviation stayed: a change by the strictest step of its family, or a negligible
// interval. 0 if it is settled, has fewer than two pairs, or would take over 1000.
func (c Comparison) More(r Rule) int {
	if c.Verdict(r) != Unclear || c.N < 2 {
		return 0
	}
	return c.until(func(n int) bool { return c.settledAt(n, r) })
}

// until returns how many more blocks than c has it takes to be enough, or 0.
func (c Comparison) until(enough func(n int) bool) int {
	more := 1 + sort.Search(moreLimit, func(i int) bool { return enough(c.N + i + 1) })
	if more > moreLimit {
		return 0
	}
	return more
}

func (c Comparison) settledAt(n int, r Rule) bool {
	alpha := c.allowed(r.alpha()/float64(c.Tests), n)
	if c.SD == 0 {
		return exactP(c.Method, n) <= alpha
	}
	change := math.Abs(c.Diff)
	ratio := !math.IsNaN(c.Ratio)
	if ratio {
		change = math.Abs(math.Log(c.Ratio))
	}
	return change > c.half(n, alpha) || ratio && change+c.half(n, c.allowed(0.05, n)) <= r.margin()
}

// Interval returns the interval of the ratio that misses the true one with probability
// alpha, whenever it is looked at: with 0.05 it is Lo and Hi. NaN without a ratio, and in too few
// blocks for one. Without spread it is the ratio alone if the exact test allows alpha.
func (c Comparison) Interval(alpha float64) (lo, hi float64) {
	nan := math.NaN()
	alpha = c.allowed(alpha, c.N)
	switch {
	case math.IsNaN(c.Ratio) || c.N < 2 || alpha == 0:
		return nan, nan
	case c.SD == 0 && (c.P == 1 || exactP(c.Method, c.N) <= alpha):
		return c.Ratio, c.Ratio
	case c.SD == 0:
		return nan, nan
	case c.ranks != nil:
		lo, hi = c.ranks.interval(alpha)
		if math.IsInf(lo, 0) {
			return nan, nan
		}
		return expFinite(lo), expFinite(hi)
	}
	h := c.half(c.N, alpha)
	return expFinite(math.Log(c.Ratio) - h), expFinite(math.Log(c.Ratio) + h)
}

// MoreBeside returns how many further blocks would take the limit out of Interval(alpha),
// if estimate and deviation stayed; 0 as for [Comparison.More].
func (c Comparison) MoreBeside(limit, alpha float64) int {
	lo, hi := c.Interval(alpha)
	if math.IsNaN(lo) || limit < lo || limit > hi {
		return 0
	}
	distance := math.Abs(math.Log(c.Ratio) - math.Log(limit))
	return c.until(func(n int) bool {
		if c.SD == 0 {
			return distance > 0 && exactP(c.Method, n) <= c.allowed(alpha, n)
		}
		return distance > c.half(n, c.allowed(alpha, n))
	})
}
