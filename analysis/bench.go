package analysis

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// A BenchTable is what a run of benchmarks found.
type BenchTable struct {
	Name       string
	Settings   []dyno.Setting // the baseline first
	Blocks     int            // finished
	Seconds    float64        // of measuring
	Error      float64        // chance of a false change, in one comparison
	Negligible float64
	Precision  float64
	Rows       []BenchRow  // a benchmark each, in the order of the source
	Pitfalls   []BenchNote // about benchmarks as they are written, and as they ran
	Notes      []string    // about the run: warnings, what failed
}

// A BenchRow is one benchmark.
type BenchRow struct {
	Package, Name string
	Blocks        int        // in which it was measured
	Settled       bool       // nothing more to be learned: changed, same, or precise enough
	Units         []BenchUnit // sec/op first, then B/op, allocs/op, others by name
	Err           string
}

// A BenchUnit is one benchmark in one unit.
type BenchUnit struct {
	Unit    string
	Better  int             // as of dyno.Metric; 0 if nobody knows
	Centers []stats.Summary // of each setting: of its blocks' medians
	Versus  []BenchVersus   // of each setting but the first
}

// A BenchVersus is one comparison.
type BenchVersus struct {
	stats.Comparison
	Verdict stats.Verdict
}

// A BenchNote is a doubt about benchmarks.
type BenchNote struct {
	Kind       string   // such as "optimised away", "no b.Loop"
	Benchmarks []string // Package.Name
	Text       string   // what was seen, why it matters and the cure
}

// BenchOf makes the table of a run.
func BenchOf(e *dyno.Experiment, rs []*dyno.Result) *BenchTable { return nil }

// Open reports whether a benchmark needs more blocks.
func (t *BenchTable) Open(pkg, name string) bool { return true }
