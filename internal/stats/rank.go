package stats

import (
	"math"
	"slices"
)

// methodRanks is Comparison.Method of CompareRanks; without spread it is methodLockstep.
const methodRanks = "signed ranks"

// BenchLooks are the numbers of blocks after which a run of benchmarks may end early.
// Eight looks share the error; 14 is the least that can find anything at 0.001: 8·2^(1-14)
// = 0.00098. Each look waits for about 30 % more. Not to be changed.
var BenchLooks = []int{14, 18, 23, 30, 40, 52, 68, 88}

// RankBlocks is the least number of values for which the signed ranks have a 95 % interval: n values of one sign have the
// p-value 2^(1-n).
const RankBlocks = 6

// FewBlocks is the least number of values for which CompareRanks has an interval at all.
const FewBlocks = 3

// rounding makes values about 1 that are closer than this tied, and those closer to 0
// zero.
const rounding = 1e-12

// CompareRanks compares one setting with the baseline by Wilcoxon's signed ranks
// (Biometrics Bulletin 1, 1945). Element i of values is block i's log ratio if logs, else
// its difference in the metric's unit; NaN and infinite values are missing. P is exact if,
// under no difference, each value is symmetric about 0, as when labels are drawn by lot in
// each block.
//
//   - Ratio is exp of the Hodges-Lehmann estimate, the median of the means of all pairs
//     of values (Walsh averages). Lo and Hi are Walsh averages too, by inversion of the
//     test. From [FewBlocks] values on and below [RankBlocks] they are wider than the values
//     lie apart, and suppose that the noise has one mode. With fewer they are NaN. Diff is
//     NaN. If not logs, Diff is the estimate and the others are NaN.
//   - P is two-sided, twice the smaller tail. Ties share their mean rank; zeros are
//     ranked and then left out (Pratt, JASA 54, 1959). Beyond 200 values the tail is the
//     normal one with corrections for continuity and ties. With zeros only, P is 1.
//   - Adjusted allows for ending at one of the looks, numbers of values decided beforehand: it is
//     the number of looks times P, at most 1 (Bonferroni's inequality, which holds however the
//     looks depend on one another). A last value between looks stands for the next look.
//     Without looks Adjusted is P. See [GateRanks] for a run that may be ended anywhere.
//
// Lo and Hi make no allowance for looks: Interval does. Without spread the interval has no
// width from 2 values on, and SD is 0.
func CompareRanks(values []float64, logs bool, looks []int) Comparison {
	if len(looks) == 0 {
		return compareRanks(values, logs, lastOnly)
	}
	return compareRanks(values, logs, looking(len(looks)))
}

// GateRanks is CompareRanks for a run that may be looked at, and ended, after each block, at an
// error of 0.1 % or more.
func GateRanks(values []float64, logs bool) Comparison { return compareRanks(values, logs, anyBlock) }

// FewestGateBlocks is the least number of blocks in which GateRanks can find anything at an error of alpha.
func FewestGateBlocks(alpha float64) int {
	n := FewestBlocks
	for anytimeRanks(math.Ldexp(1, 1-n), n) > alpha {
		n++
	}
	return n
}

func compareRanks(values []float64, logs bool, looks looking) Comparison {
	nan := math.NaN()
	c := Comparison{Ratio: nan, Lo: nan, Hi: nan, Diff: nan, P: nan, Adjusted: nan, Tests: 1, SD: nan, looks: looks}
	d := usables(values)
	scale := 0.0
	for _, v := range d {
		scale = max(scale, math.Abs(v))
	}
	if c.N = len(d); c.N == 0 {
		return c
	}
	near := rounding
	if !logs {
		near *= scale
	}
	k := &ranks{sorted: slices.Sorted(slices.Values(d))}
	estimate := k.median()
	if math.Abs(estimate) <= near {
		estimate = 0
	}
	if logs {
		c.Ratio = expFinite(estimate)
	} else {
		c.Diff = estimate
	}
	if c.N < 2 {
		return c
	}
	c.ranks, c.Method, c.DF = k, methodRanks, float64(c.N-1)
	c.P = signedP(d, near)
	c.Adjusted = c.Single()
	if k.sorted[c.N-1]-k.sorted[0] <= near {
		c.SD, c.Method, c.Lo, c.Hi = 0, methodLockstep, c.Ratio, c.Ratio
		return c
	}
	for i := range d {
		d[i] /= scale // no square overflows
	}
	_, variance := meanVar(d)
	c.SD = math.Sqrt(variance) * scale
	if logs && c.N >= FewBlocks {
		lo, hi := k.interval(0.05)
		if c.N < RankBlocks {
			lo, hi = fewInterval(k.sorted, 0.05)
		}
		c.Lo, c.Hi = expFinite(lo), expFinite(hi)
	}
	return c
}

// fewInterval is an interval about the middle of the least and the greatest value. Of n values from one uniform distribution that middle
// is further from the center than k times half of their distance with a chance of (1+k)^(1-n). A symmetric
// distribution with one mode is a mixture of uniform ones (Khinchin, 1938); among 132 mixtures of two, none was worse than one alone. Two modes are
// worse: all values lie on one side with a chance of 2^(1-n).
func fewInterval(sorted []float64, alpha float64) (lo, hi float64) {
	n := len(sorted)
	half := (sorted[n-1] - sorted[0]) / 2
	k := max(1, math.Pow(alpha, 1/float64(1-n))-1)
	return sorted[0] + half - k*half, sorted[0] + half + k*half
}
