package track

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// Blocks of a look at a candidate.
const (
	mostLook = 36 // after so many it is not shown
	vainLook = 8  // from so many on it ends if nothing hints at a change
	vainP    = 0.3
)

// A Verdict is what fresh blocks say about a candidate.
type Verdict struct {
	stats.Comparison
	Shown bool // it changed, at an error of Alpha, whenever it was looked at
	Done  bool // more blocks are not worth it
}

// Judge judges the logarithms of the ratios of two commits, one of each fresh block. negligible is a share. Ending early for want of a change only
// makes false alarms rarer.
func Judge(logs []float64, negligible float64) (v Verdict) {
	v.Comparison = stats.GateRanks(logs, true)
	v.Shown = v.Adjusted <= Alpha && v.Ratio != 1
	margin := math.Log1p(negligible)
	same := v.N >= stats.RankBlocks && math.Log(v.Lo) > -margin && math.Log(v.Hi) < margin
	v.Done = v.Shown || same || v.N >= mostLook || v.N >= vainLook && v.P > vainP
	v.Shown = v.Shown && !same
	return v
}

// Enough reports whether a look in several metrics ends: all are done, or one is shown and the others had their chance.
func Enough(vs []Verdict) bool {
	shown := slices.ContainsFunc(vs, func(v Verdict) bool { return v.Shown })
	return !slices.ContainsFunc(vs, func(v Verdict) bool { return !v.Done && !(shown && v.N >= Fewest()) })
}

// Fewest is the least number of blocks that can show a change.
func Fewest() int { return stats.FewestGateBlocks(Alpha) }
