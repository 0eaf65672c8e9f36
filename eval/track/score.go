//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	leastTrue = 0.002 // logarithm of a true change that an alarm may be about
	late      = 40    // commits after a change, or the end of a creep, in which it has to be told
)

// report says which of the planted changes were found, and what else was.
func (s *study) report() {
	fmt.Println()
	wrong := 0
	for i := range s.alarms {
		if a := &s.alarms[i]; math.Abs(s.truth(a)) < leastTrue || s.truth(a) > 0 != (a.Ratio > 1) {
			wrong++
			fmt.Printf("FALSE: %s from %d to %d\n", a.Metric, s.index(a.From), s.index(a.To))
		}
	}
	found, changes, open := 0, 0, 0
	for _, c := range s.planted {
		if !s.over(c) {
			open++
			continue
		}
		changes++
		told := math.MaxInt
		for _, a := range s.alarms {
			from, to := s.index(a.From), s.index(a.To)
			if (a.Metric == "rss-peak-B") == c.mem && from < c.to+1 && to >= c.at && a.by <= c.to+late && math.Abs(s.truth(&a)) >= leastTrue {
				told = min(told, a.by)
			}
		}
		if told == math.MaxInt {
			fmt.Printf("%s at %d: missed\n", c.name, c.at)
			continue
		}
		found++
		fmt.Printf("%s at %d: told at %d, after %d commits\n", c.name, c.at, told, told-c.at)
	}
	if open > 0 {
		fmt.Printf("%d changes came too late to be counted\n", open)
	}
	slices.Sort(s.took)
	fmt.Printf("dyno track: of %d commits in %v, %d of %d changes found, %d alarms, %d false; a commit takes %v (median of %d); %d were drawn from\n",
		s.done, time.Since(s.began).Round(time.Minute), found, changes, len(s.alarms), wrong, s.took[len(s.took)/2].Round(time.Second), len(s.took), len(s.points))
	raw := s.raw[1 : s.done+1]
	s.compare("z-score of 3 over the last 20, CPU per request as it was", zScores(raw))
	s.compare("PELT, CPU per request as it was", pelt(raw))
}

// over reports whether a change counts: the commits in which it has to be told are over, or all are.
func (s *study) over(c change) bool { return c.to+late <= s.done || s.done == s.commits-1 }

// compare says what others find in plain figures.
func (s *study) compare(name string, at []int) {
	found, wrong := 0, 0
	changes := 0
	for _, c := range s.planted {
		if c.mem || !s.over(c) {
			continue
		}
		changes++
		if slices.ContainsFunc(at, func(i int) bool { return i >= c.at-1 && i <= c.to+late }) {
			found++
		}
	}
	for _, i := range at {
		if !slices.ContainsFunc(s.planted, func(c change) bool { return !c.mem && i >= c.at-1 && i <= c.to+late }) {
			wrong++
		}
	}
	fmt.Printf("%s: %d of %d changes found, %d alarms, %d false\n", name, found, changes, len(at), wrong)
}

// zScores are the commits, counted from 1, that deviate by more than three standard deviations of the 20 before.
func zScores(xs []float64) (at []int) {
	const window, most = 20, 3
	for i := window; i < len(xs); i++ {
		mean, sq := 0.0, 0.0
		for _, x := range xs[i-window : i] {
			mean += x / window
		}
		for _, x := range xs[i-window : i] {
			sq += (x - mean) * (x - mean) / (window - 1)
		}
		if math.Abs(xs[i]-mean) > most*math.Sqrt(sq) {
			at = append(at, i+1)
		}
	}
	return at
}

// pelt are the change points of the mean by least squares, with the penalty 2 σ² log n (Killick, Fearnhead, Eckley, JASA 107 (2012)). σ is that
// of neighbours.
func pelt(xs []float64) (at []int) {
	n := len(xs)
	var diffs []float64
	for i := 1; i < n; i++ {
		diffs = append(diffs, math.Abs(xs[i]-xs[i-1]))
	}
	sigma := 1.4826 * median(diffs) / math.Sqrt2
	penalty := 2 * sigma * sigma * math.Log(float64(n))
	sum, sq := make([]float64, n+1), make([]float64, n+1)
	for i, x := range xs {
		sum[i+1], sq[i+1] = sum[i]+x, sq[i]+x*x
	}
	cost := func(a, b int) float64 { d := sum[b] - sum[a]; return sq[b] - sq[a] - d*d/float64(b-a) }
	best, last := make([]float64, n+1), make([]int, n+1)
	best[0] = -penalty
	from := []int{0}
	for t := 1; t <= n; t++ {
		best[t] = math.Inf(1)
		for _, a := range from {
			if c := best[a] + cost(a, t) + penalty; c < best[t] {
				best[t], last[t] = c, a
			}
		}
		from = slices.DeleteFunc(from, func(a int) bool { return best[a]+cost(a, t) > best[t] })
		from = append(from, t)
	}
	for t := last[n]; t > 0; t = last[t] {
		at = append(at, t+1)
	}
	slices.Sort(at)
	return at
}
