// Package timeline shows a run over time: response times as heat maps with the
// collections in them, series as tracks, and whether response times were steady.
//
// It owns the axis of time on which blocks lie side by side. What it paints comes
// from functions; how it looks is package report's.
package timeline

import (
	"time"

	"github.com/dynolab/dyno"
)

// A Stretch is a part of one block's time, drawn in so many columns. Blocks lie side by side
// on one axis of all settings, so that no trial is mixed with another.
type Stretch struct {
	Block    int           // from 1
	From, To time.Duration // since the windows of the block's trials began
	Columns  int
}

// A Picture is quantities over time: all settings on one axis and one scale of latency.
type Picture struct {
	Axis      []Stretch
	Rows      int           // of latency, of equal ratio
	Low, High time.Duration // the scale of latency, for all settings and all parts of the axis; 0 if none is known
	Settings  []PictureOf   // in the order of the table
	Notes     []string      // what could not be read, and why
}

// A PictureOf is one setting of a picture.
type PictureOf struct {
	Setting dyno.Setting
	Trials  []int   // numbers of the trials, by stretch; 0 where there is none
	Heats   []*Heat // by stretch; nil where there is no trial
	Whole   bool    // false if some of the requests were not kept, so that counts are of a sample
	Seconds bool    // counts are known by the second only, and of when requests were done
	Slowest []Slow  // of all trials within the stretches, the slowest first
	Tracks  []Track // in the order of TrackMetrics; those that nobody sampled are missing
}

// A Slow is one slow request.
type Slow struct {
	Trial int
	dyno.Request
	Met   bool // a collection was under way meanwhile
	Known bool // whether that is known
}

// A Track is a series over the axis: the least, greatest and last reading of each column,
// NaN without one.
type Track struct {
	Metric         string
	Min, Max, Last []float64
}

// collectingMetric is the track of a column's share of time under collection.
const collectingMetric = "gc-wall-frac"

// TrackMetrics are the series that pictures show, in order.
var TrackMetrics = []string{
	"rss-B", "heap-live-B", "heap-B", "heap-goal-B", "goroutines", "threads", "cpu-frac", collectingMetric, "throttled-frac", "fds",
}

// mostSlow is how many slow requests of a setting are told.
const mostSlow = 10
