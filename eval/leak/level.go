package main

import (
	"math"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"
)

// A sample is resident memory at a moment of the window.
type sample struct {
	at    time.Duration
	bytes float64
}

// levelOf returns the level that resident memory reaches, and when.
//
// At every sample the highest of the last twentieth of the window is looked at, as the
// study looked once a minute, so that a heap that is collected and given back in
// between is level. The level is the median of these in the second half. It is
// reached with the first from which on all are within 1 MB or 2 % of it, whichever is
// more. ok is false if the second half has begun by then, or there are no samples:
// there is no level.
func levelOf(samples []sample, window time.Duration) (level float64, at time.Duration, ok bool) {
	highest := make([]float64, len(samples))
	var second []float64
	from := 0
	for i, s := range samples {
		for samples[from].at <= s.at-window/20 {
			from++
		}
		for _, before := range samples[from : i+1] {
			highest[i] = max(highest[i], before.bytes)
		}
		if s.at >= window/2 {
			second = append(second, highest[i])
		}
	}
	level = median(second)
	if math.IsNaN(level) {
		return level, 0, false
	}
	near := max(1e6, 0.02*level)
	first := len(samples)
	for first > 0 && math.Abs(highest[first-1]-level) <= near {
		first--
	}
	if first == len(samples) || samples[first].at > window/2 {
		return level, 0, false
	}
	return level, samples[first].at, true
}

// readRSS reads the resident memory of a trial, of its series.parquet (doc/format.md).
func readRSS(trial string) (samples []sample, err error) {
	type row struct {
		Metric string  `parquet:"metric"`
		At     int64   `parquet:"at_ns"`
		Value  float64 `parquet:"value"`
	}
	rows, err := parquet.ReadFile[row](filepath.Join(trial, "series.parquet"))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Metric == "rss-B" {
			samples = append(samples, sample{time.Duration(r.At), r.Value})
		}
	}
	return samples, nil
}
