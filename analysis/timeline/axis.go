package timeline

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
)

// The columns of an axis.
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
