package stats

import (
	"math"
	"slices"
)

// BenchLooks stands in for the real one until branches are merged.
var BenchLooks = []int{14, 18, 23, 30, 40, 52, 68, 88}

// CompareRanks stands in for the real one until branches are merged: the median,
// an interval by order statistics and the sign test's normal approximation.
func CompareRanks(values []float64, logs bool, looks []int) Comparison {
	nan := math.NaN()
	c := Comparison{Ratio: nan, Lo: nan, Hi: nan, Diff: nan, P: nan, Adjusted: nan, Tests: 1, SD: nan}
	d := slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return !usable(x) })
	if c.N = len(d); c.N == 0 {
		return c
	}
	slices.Sort(d)
	mid := (d[(c.N-1)/2] + d[c.N/2]) / 2
	if logs {
		c.Ratio = math.Exp(mid)
	} else {
		c.Diff = mid
	}
	if c.N < 2 {
		return c
	}
	sign := 0.0
	for _, x := range d {
		if x > 0 {
			sign++
		} else if x < 0 {
			sign--
		}
	}
	z := math.Abs(sign) / math.Sqrt(float64(c.N))
	c.P = math.Erfc(z / math.Sqrt2)
	if math.Abs(sign) == float64(c.N) {
		c.P = math.Ldexp(1, 1-c.N)
	}
	c.Adjusted = min(1, c.P*float64(max(1, len(looks))))
	_, variance := meanVar(d)
	c.SD = math.Sqrt(variance)
	if c.SD < 1e-12 {
		c.SD, c.Lo, c.Hi = 0, c.Ratio, c.Ratio
		return c
	}
	if logs && c.N >= MedianTrials {
		half := 1.25 * 1.96 * c.SD / math.Sqrt(float64(c.N))
		c.Lo, c.Hi = math.Exp(mid-half), math.Exp(mid+half)
	}
	return c
}
