// Package stats turns the numbers of trials into summaries, comparisons and verdicts, and
// says how many blocks a plan needs. Every function is pure. Which metrics form a family,
// package compare decides.
//
// The unit of replication is the trial. A metric is a matrix, blocks in rows and settings
// in columns; column 0 is the baseline; NaN is a missing trial. doc/method/verdicts.md has the
// reasons for the methods and their simulations.
package stats

import (
	"encoding/json"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// MedianTrials is the least number of trials with a 95 % interval of the median: their
// range misses it with probability 2^(1-n), below 5 % from 6 on.
const MedianTrials = 6

// A Summary describes the trials of one setting for one metric.
type Summary struct {
	N      int     // trials used; those that are NaN or infinite are not
	Center float64 // their median, in the metric's unit; NaN without trials
	Lo, Hi float64 // 95 % interval of the median; NaN with N < MedianTrials
}

// Summarize returns the median and its 95 % interval by order statistics, exactly as
// benchstat does (benchmath.AssumeNothing).
func Summarize(trials []float64) Summary {
	vs := usables(trials)
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

// usables returns those of vs that are usable.
func usables(vs []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(vs), func(v float64) bool { return !usable(v) })
}

// usable reports whether v is finite and so small that no sum or difference overflows.
func usable(v float64) bool { return math.Abs(v) <= 1e300 } // false for NaN

// Median returns the median of xs without those that are NaN; if all are, NaN.
func Median(xs []float64) float64 {
	xs = slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	if len(xs) == 0 {
		return math.NaN()
	}
	return medianIn(xs)
}

// A Mean is the mean of the trials of one setting, with its 95 % interval by
// Student's t: NaN below two trials, and all of it NaN without any.
type Mean struct{ Mean, Lo, Hi float64 }

// MarshalJSON implements json.Marshaler; NaN becomes null.
func (m Mean) MarshalJSON() ([]byte, error) {
	known := func(x float64) any {
		if usable(x) {
			return x
		}
		return nil
	}
	return json.Marshal(struct {
		Mean any `json:"mean"`
		Lo   any `json:"lo"`
		Hi   any `json:"hi"`
	}{known(m.Mean), known(m.Lo), known(m.Hi)})
}

// MeanOf returns the mean of trials with its 95 % interval; those that are NaN or infinite are left out.
func MeanOf(trials []float64) Mean { return MeanAt(trials, 0.05) }

// MeanAt is MeanOf with an interval that misses the true mean in a fraction alpha of cases.
func MeanAt(trials []float64, alpha float64) Mean {
	vs := usables(trials)
	nan := math.NaN()
	switch len(vs) {
	case 0:
		return Mean{nan, nan, nan}
	case 1:
		return Mean{vs[0], nan, nan}
	}
	mean, variance := meanVar(vs)
	n := float64(len(vs))
	half := quantileT(alpha, n-1) * math.Sqrt(variance/n)
	return Mean{mean, mean - half, mean + half}
}
