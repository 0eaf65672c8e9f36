// Package pitfall finds benchmarks of Go that measure something else than they seem to,
// in what was measured of them and in what their source says. A false pitfall is as bad
// as one that is missed, so each kind is one that can be shown; sentences about them are
// package words'.
package pitfall

import (
	"math"

	"github.com/dynolab/dyno"
)

// A Kind is a kind of pitfall.
type Kind string

// The kinds, in the order in which they are told: first what makes a figure
// meaningless, then what shifts it.
const (
	Empty      Kind = "optimised away"
	Constant   Kind = "b.N is not the number of iterations"
	Grows      Kind = "work depends on b.N"
	Loop126    Kind = "b.Loop before and after Go 1.26"
	Goroutines Kind = "goroutines left running"
	SetUp      Kind = "set-up inside the timer"
	Parallel   Kind = "parallel on one CPU"
	GCLeftOut  Kind = "GC left out"
)

// Kinds are all kinds, in their order.
var Kinds = []Kind{Empty, Constant, Grows, Loop126, Goroutines, SetUp, Parallel, GCLeftOut}

// A Benchmark is what is known of one benchmark.
type Benchmark struct {
	Package, Name string
	N             int64     // iterations of a turn's sample; 0 if it took no turns
	Settings      []Setting // the baseline first
}

// A Setting is what is known of a benchmark in one setting.
type Setting struct {
	Survey  *dyno.Survey // nil if absent
	Go      int          // x of Go 1.x, 0 if it is not known
	Turn    float64      // seconds of an iteration in turns, 0 if it took none
	Fastest float64      // the same in the fastest block
}

// A Found is a pitfall of one benchmark.
type Found struct {
	Kind          Kind
	Package, Name string
	Setting       int // in which it was seen, -1 if in all that were surveyed

	// Figures; what a kind has none of is zero. Empty has Sec; Grows has Sec, N,
	// FewSec and FewN; Loop126 has Go and BaseGo; Goroutines has Count and N; SetUp
	// has Call, Once, Share and FewN; GCLeftOut has Share and Count.
	Sec    float64 // seconds of an iteration
	N      int64   // of this many iterations
	FewSec float64 // the same of a sample with fewer
	FewN   int64
	Once   float64 // seconds of what is done once
	Call   string  // where that begins, "" if the source does not say
	Share  float64 // SetUp: of the time of FewN iterations; GCLeftOut: CPU time of collecting over the sample's time
	Count  float64 // of goroutines, or of collections in a turn's sample
	Go     int     // as of Setting
	BaseGo int
}

// A rule finds one kind in one setting.
type rule struct {
	kind Kind
	all  bool // it counts only if it is so in all settings: what a single noisy sample might show
	only bool // if it is so in all settings, the figure means nothing and has no other pitfall
	see  func(r *run, b *Benchmark, setting int) *Found
}

var rules = []rule{
	{Constant, true, true, (*run).constant},
	{Empty, false, true, (*run).empty},
	{Grows, true, false, (*run).grows},
	{Loop126, false, false, (*run).loop126},
	{Goroutines, false, false, (*run).goroutines},
	{SetUp, true, false, (*run).setUp},
	{Parallel, false, false, (*run).parallel},
	{GCLeftOut, false, false, (*run).gcLeftOut},
}

// A run is all benchmarks that were measured together.
type run struct {
	all  []Benchmark
	cpus int
}

// Find returns the pitfalls of benchmarks, at most one of a kind each. cpus is how many CPUs
// each ran on; 0 or less means all.
func Find(all []Benchmark, cpus int) (found []Found) {
	r := &run{all, cpus}
	for i := range all {
		found = append(found, r.find(&all[i])...)
	}
	return found
}

func (r *run) find(b *Benchmark) (found []Found) {
	for _, rule := range rules {
		var first *Found
		surveyed, seen := 0, 0
		for i := range b.Settings {
			if !b.Settings[i].surveyed() {
				continue
			}
			surveyed++
			f := rule.see(r, b, i)
			if f == nil {
				continue
			}
			if seen++; seen == 1 {
				first = f
				f.Kind, f.Package, f.Name, f.Setting = rule.kind, b.Package, b.Name, i
			}
		}
		if first == nil || rule.all && seen < surveyed {
			continue
		}
		if seen == surveyed {
			first.Setting = -1
		}
		found = append(found, *first)
		if rule.only && seen == surveyed {
			break
		}
	}
	return found
}

func (s *Setting) surveyed() bool {
	v := s.Survey
	return v != nil && v.Err == "" && v.N > 0 && v.Sec >= 0 && !math.IsInf(v.Sec, 0)
}
