// Package timeline shows a run over time: response times as heat maps with the
// collections in them, series as tracks, and whether response times were steady.
//
// It owns the axis of time on which blocks lie side by side. What it paints comes
// from functions; how it looks is package html's.
package timeline

import (
	"maps"
	"math"
	"slices"
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

// Lost is a part of a trial that could not be read.
type Lost struct {
	Trial int
	Err   error
}

// A Picture is quantities over time: all settings on one axis and one scale of latency.
type Picture struct {
	Axis      []Stretch
	Rows      int           // of latency, of equal ratio
	Low, High time.Duration // the scale of latency, for all settings and all parts of the axis; 0 if none is known
	Settings  []PictureOf   // in the order of the table
	Lost      []Lost        // what could not be read
}

// A PictureOf is one setting of a picture.
type PictureOf struct {
	Setting dyno.Setting
	Trials  []int   // numbers of the trials, by stretch; 0 if absent
	Heats   []*Heat // by stretch; nil where there is no trial
	Whole   bool    // false if some of the requests were not kept, so that counts are of a sample
	Seconds bool    // counts are known by the second only, and of when requests were done
	Slowest []Slow  // of all trials within the stretches, the slowest first
	Tracks  []Track // in the order of TrackMetrics; those not sampled are missing
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

const (
	leastColumns  = 20  // of a stretch of a whole axis
	mostStretches = 120 // of an axis; what comes after them is not shown
)

// Axis makes the axis of a whole run, of about so many columns: a stretch for each of the
// first 120 blocks, as long as the longest window of its trials that are compared.
func Axis(rs []*dyno.Result, columns int) (axis []Stretch) {
	long := windows(rs)
	for _, block := range slices.Sorted(maps.Keys(long)) {
		if len(axis) < mostStretches {
			axis = append(axis, Stretch{Block: block, To: long[block]})
		}
	}
	share(axis, columns, leastColumns)
	return axis
}

// AxisBlocks is how many blocks have a trial that an axis may show.
func AxisBlocks(rs []*dyno.Result) int { return len(windows(rs)) }

func windows(rs []*dyno.Result) map[int]time.Duration {
	long := map[int]time.Duration{}
	for _, r := range rs {
		if pictured(r) {
			long[r.Trial.Block] = max(long[r.Trial.Block], r.Elapsed)
		}
	}
	return long
}

// pictured reports whether a trial belongs to a picture: what it measured counts.
func pictured(r *dyno.Result) bool { return r.Trial.For == "" && r.Err == "" && r.Elapsed > 0 }

// share gives each stretch columns by its length, and at least so many.
func share(axis []Stretch, columns, least int) {
	total := AxisLength(axis)
	before, given := time.Duration(0), 0
	for i := range axis {
		before += axis[i].To - axis[i].From
		upTo := int(math.Round(float64(columns) * float64(before) / float64(max(total, 1))))
		axis[i].Columns = max(upTo-given, least)
		given = upTo
	}
}

// AxisLength is how much time an axis shows.
func AxisLength(axis []Stretch) (d time.Duration) {
	for _, s := range axis {
		d += s.To - s.From
	}
	return d
}

// CutAxis cuts from an axis the part between two times of its stretches laid end to end, of
// about so many columns; it may be empty.
func CutAxis(axis []Stretch, from, to time.Duration, columns int) (part []Stretch) {
	begins := time.Duration(0)
	for _, s := range axis {
		first, last := max(from-begins, 0)+s.From, min(to-begins, s.To-s.From)+s.From
		if begins += s.To - s.From; first < last {
			part = append(part, Stretch{Block: s.Block, From: first, To: last})
		}
	}
	share(part, columns, 1)
	return part
}
