// Package stats turns the numbers of trials into summaries, comparisons and
// verdicts, and says how many blocks a plan needs.
//
// It owns the arithmetic: the median and its interval, the comparison of a
// setting with the baseline within blocks, the protection of a family of
// comparisons, and the words better, worse, same and unclear. It knows no
// metric by name, reads no file and decides nothing about which metrics form
// a family: that is package analysis. Every function is pure.
//
// The unit of replication is the trial. A metric arrives as a matrix, blocks
// in rows and settings in columns, one number a trial; column 0 is the
// baseline; NaN says that the trial is missing. doc/method.md gives the
// reasons for the methods and the simulations they were chosen by.
package stats

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// MedianTrials is the least number of trials for which a distribution-free
// 95 % interval of the median exists: the range of n trials misses the median
// with probability 2^(1-n), which first falls below 5 % at 6.
const MedianTrials = 6

// A Summary describes the trials of one setting for one metric.
type Summary struct {
	N      int     // trials used; those that are NaN or infinite are not
	Center float64 // their median, in the metric's unit; NaN without trials
	Lo, Hi float64 // 95 % interval of the median; NaN with N < MedianTrials
}

// Summarize returns the median of the trials and its 95 % interval by order
// statistics, exactly as benchstat does (benchmath.AssumeNothing). The
// argument is not changed.
func Summarize(trials []float64) Summary {
	vs := make([]float64, 0, len(trials))
	for _, v := range trials {
		if usable(v) {
			vs = append(vs, v)
		}
	}
	nan := math.NaN()
	if len(vs) == 0 {
		return Summary{Center: nan, Lo: nan, Hi: nan}
	}
	b := benchmath.AssumeNothing.Summary(benchmath.NewSample(vs, &benchmath.DefaultThresholds), 0.95)
	s := Summary{N: len(vs), Center: b.Center, Lo: b.Lo, Hi: b.Hi}
	if s.N < MedianTrials {
		s.Lo, s.Hi = nan, nan
	}
	return s
}

// usable reports whether v can be computed with. Numbers beyond 1e300 count
// as missing, so that no difference or sum of them can overflow.
func usable(v float64) bool { return math.Abs(v) <= 1e300 } // false for NaN
