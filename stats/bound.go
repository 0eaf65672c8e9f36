package stats

import "math"

// Interval returns the interval of the ratio that misses the true one with probability
// alpha: with 0.05 it is Lo and Hi, NaN where those are. Without spread it is the ratio
// alone if the exact test allows alpha, else 0 and +Inf, as with too few blocks. With
// looks it is wider than Lo and Hi, and holds at whichever look the run ended.
func (c Comparison) Interval(alpha float64) (lo, hi float64) {
	alpha = c.allowed(alpha)
	switch {
	case math.IsNaN(c.Lo) || c.N < 2:
		return math.NaN(), math.NaN()
	case c.SD == 0 && exactP(c.Method, c.N) <= alpha:
		return c.Ratio, c.Ratio
	case c.SD == 0:
		return 0, math.Inf(1)
	case c.ranks != nil:
		lo, hi = c.ranks.interval(alpha)
		if math.IsInf(lo, 0) {
			return 0, math.Inf(1)
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
	alpha = c.allowed(alpha)
	distance := math.Abs(math.Log(c.Ratio) - math.Log(limit))
	return c.until(func(n int) bool {
		if c.SD == 0 {
			return distance > 0 && exactP(c.Method, n) <= alpha
		}
		return distance > c.half(n, alpha)
	})
}
