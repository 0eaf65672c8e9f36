// Package gcmodel predicts what garbage collection costs under settings that were not measured: how often
// it runs, what CPU time and what memory it takes, and where a memory limit turns into a spiral.
//
// It replays the collections of a window that was measured through the rules of the runtime's pacer
// (runtime/mgcpacer.go, Go 1.19 to 1.27) with another GOGC, GOMEMLIMIT or live heap. It owns the
// arithmetic and its doubts; which files it comes from is package findings', the sentences are
// package words'.
package gcmodel

import "math"

// MiB is 1 MiB in bytes.
const MiB = 1 << 20

// A Setting is what the collector is told. Its zero value is GOGC=0, which collects all the time.
type Setting struct {
	GOGC  float64 // percent; Off means off
	Limit float64 // GOMEMLIMIT in bytes; 0 means none
	Live  float64 // factor of the live heap that was measured; 0 means 1
	Rate  float64 // factor of the rate at which the program allocated and was asked; 0 means 1, as in all that was measured
}

// Off is GOGC=off.
var Off = math.Inf(1)

// A Cycle is one collection that was measured. Sizes are bytes, times seconds.
type Cycle struct {
	Trigger float64 // heap when marking began
	End     float64 // heap when marking ended
	Marked  float64 // what it found live, what was allocated while marking included
	Goal    float64 // that the pacer wanted End to stay below; 0 if there was none
	Mark    float64 // from the beginning of marking to its end, wall clock
	Assist  float64 // CPU time of marking by goroutines that allocate
	Idle    float64 // likewise by Ps that have nothing else to do
	Exact   bool    // the sizes are to the byte, not of whole MiB
}

// live is the true live heap: what was allocated while marking counts as marked, and is not.
func (c *Cycle) live() float64 { return max(c.Marked-(c.End-c.Trigger), 0) }

// A Window is what was measured at one setting. NaN stands for what is not known.
type Window struct {
	Setting
	Cycles   []Cycle // those that ended in the window and were not forced, in order
	Left     int     // collections that are not in Cycles though what was allocated before them is in Alloc
	Launches int     // that were put together, each with a window of its own; 0 means 1
	Requests float64 // of the window; 1 if there is no load, so that all is of the window as a whole
	Elapsed  float64 // seconds
	Alloc    float64 // bytes that were allocated
	CPU      float64 // CPU seconds of the process
	GCCPU    float64 // CPU seconds of collection by the runtime's accounts, idle Ps included
	Procs    float64 // GOMAXPROCS
	RSSPeak  float64 // of one launch, bytes; likewise the next two
	HeapPeak float64
	Mapped   float64 // most memory that GOMEMLIMIT counts, in bytes
	Overhead float64 // of Mapped, what is neither heap in use nor free when the heap is nearly full
	Filling  float64 // bytes by which that falls for each byte that the heap grows until it is full
}

// An Estimate is a predicted value with the interval in which it lies in 90 of 100 cases. All are NaN if
// it is not known.
type Estimate struct{ Value, Lo, Hi float64 }

// A Prediction is what is expected of one setting under the load that was measured.
type Prediction struct {
	Setting
	Cycles   Estimate // collections per request
	GCCPU    Estimate // CPU seconds of collection per request, idle Ps included
	CPU      Estimate // CPU seconds of the process per request
	HeapPeak Estimate // bytes
	RSSPeak  Estimate // bytes
	Marking  Estimate // share of time in which a collection is under way
	Limited  bool     // the limit sets the heap's goal in most cycles, and not GOGC
	Spiral   bool     // collections follow each other without a pause, or reach the runtime's CPU limiter
	Doubts   []Doubt  // why it may be wrong, beside the usual error
}

// A Doubt is a reason why a prediction may be wrong.
type Doubt string

const (
	FewCycles  Doubt = "few-cycles"  // fewer than 15 collections were measured
	SmallHeap  Doubt = "small-heap"  // less than 16 MiB live: the runtime's minimums decide
	Phases     Doubt = "phases"      // the live heap grew, or went up and down, in the window
	MuchGC     Doubt = "much-gc"     // collection takes, or would take, more than 30 % of the CPU time
	ShortMarks Doubt = "short-marks" // collections are so short that the runtime's clock says little of their CPU time
	Clamped    Doubt = "clamped"     // marking began as early as it may in the window: how much is allocated beside it is not known
	NearCliff  Doubt = "near-cliff"  // the limit leaves less than 30 % of the live heap to allocate in
	FarAway    Doubt = "far-away"    // the setting's heap is more than five times as large or small
	NoOverhead Doubt = "no-overhead" // memory beside the heap is not known, which limits count, too
)
