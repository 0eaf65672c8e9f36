package dyno

import "cmp"

// A Bench says which benchmarks of Go test packages are compared, instead of a load.
//
// Each block is a new layout of the program (the linker's -randlayout). In it each
// benchmark is launched some times in every setting at once, pinned to the same CPUs; the
// processes take turns of a sample. doc/method/benchmarks.md, "Micro-benchmarks", has the reasons.
type Bench struct {
	Packages  []string  `json:"packages,omitempty"`  // patterns as of go list, in Subject.Dir; none means "."
	Match     string    `json:"match,omitempty"`     // regular expressions as of go test -bench; "" means all
	CPUs      int       `json:"cpus,omitempty"`      // that all processes are pinned to; 0 means 1, a negative number that they are not pinned
	Duration  Duration  `json:"duration,omitempty"`  // most time for blocks, builds and links included; 0 means DefaultBenchDuration, or up to half as long again if then all benchmarks get the fewest blocks that can tell a change; Blocks are always run
	Sample    Duration  `json:"sample,omitempty"`    // of one turn; 0 means that dyno chooses for each benchmark
	Blocks    int       `json:"blocks,omitempty"`    // as many, whatever is seen; 0 means until all is settled, or Duration
	All       bool      `json:"all,omitempty"`       // runs benchmarks that are the same code in all settings, too
	Precision *Fraction `json:"precision,omitempty"` // half an interval that is narrow enough; nil means DefaultPrecision
	Error     *Fraction `json:"error,omitempty"`     // chance of a false change in one comparison; nil means DefaultBenchError
	Resumed   []More    `json:"resumed,omitempty"`   // each time that a run was resumed: after so many blocks, with so many more; 0 more if it went on as planned
}

// Planned is the number of blocks that the run has, with those that were added; 0 if it decides itself, or its time does.
func (b *Bench) Planned() int {
	if n := len(b.Resumed); n > 0 && b.Resumed[n-1].Blocks > 0 {
		return b.Resumed[n-1].After + b.Resumed[n-1].Blocks
	}
	return b.Blocks
}

// BenchFactor is the factor of settings that are benchmarks of one package. Its level is
// an element of their names, such as Pipeline1 or variant=slow; names that are otherwise
// equal are compared.
const BenchFactor = "bench"

// AAFactor is the factor of two equal settings: an environment variable without effect.
const AAFactor = "AA"

// A Benchmark is the result of one benchmark in one trial.
type Benchmark struct {
	Package string `json:"package"` // import path
	Name    string `json:"name"`    // without "Benchmark" and GOMAXPROCS; with BenchFactor the level in it is "*"
	N       int64  `json:"n"`       // iterations of a sample; in a trial ForProfile, of all of them

	// Launches are the processes, and the samples of each: element j of launch i took its
	// turn beside that of every other setting in the block. Metrics are those of package
	// testing in base units: sec/op, B/op, allocs/op, B/s, and the benchmark's own.
	Launches [][]Values `json:"launches,omitempty"`
	Err      string     `json:"error,omitempty"` // why there are none, or fewer: what the benchmark said
}

// SurveySkipped begins Survey.Err if the benchmark skipped itself.
const SurveySkipped = "skipped"

// A Survey is the result of a trial ForSurvey for one benchmark in one setting. Seconds and bytes are per
// iteration unless said.
type Survey struct {
	Package string  `json:"package"`
	Name    string  `json:"name"`    // as Benchmark.Name
	Printed string  `json:"printed"` // the name that go test prints, without GOMAXPROCS
	N       int64   `json:"n"`       // iterations of the long sample, of some 100 ms
	Sec     float64 `json:"sec/op"`
	Bytes   float64 `json:"B/op"`
	Allocs  float64 `json:"allocs/op"`

	FewN   int64   `json:"few_n,omitempty"`      // of a sample with an eighth of the iterations; 0 if N is below 8
	FewSec float64 `json:"few-sec/op,omitempty"` // what it took: more than Sec if something is done once, and timed

	Collections float64 `json:"gc-cycles,omitempty"`   // in the long sample
	GCFrac      float64 `json:"gc-frac,omitempty"`     // CPU time of collecting over the sample's time
	Outside     float64 `json:"outside-sec,omitempty"` // of one call of the benchmark's function, beside what it times: its set-up
	Goroutines  float64 `json:"goroutines,omitempty"`  // more after the benchmark than before it

	Source BenchSource `json:"source,omitzero"`
	Err    string      `json:"error,omitempty"` // what the benchmark said when it failed
}

// A BenchSource describes the source of a benchmark.
type BenchSource struct {
	File  string `json:"file,omitempty"`  // relative to the package's directory; "" if the function was not found
	Line  int    `json:"line,omitempty"`  // of the function, or of the literal given to b.Run
	Loop  string `json:"loop,omitempty"`  // "b.Loop", "b.N" or "RunParallel"; NoLoop if it surely has none; "" if none is seen, as where a helper elsewhere may have it
	Timed string `json:"timed,omitempty"` // the first call before the loop that the timer runs for, such as "makeInput(1000)"
}

// NoLoop is BenchSource.Loop of a benchmark that does not use b.N.
const NoLoop = "none"

// Resolved returns b with its defaults written out.
func (b Bench) Resolved() Bench {
	if len(b.Packages) == 0 {
		b.Packages = []string{"."}
	}
	b.Match = cmp.Or(b.Match, ".")
	b.CPUs = cmp.Or(b.CPUs, 1)
	b.Duration = cmp.Or(b.Duration, DefaultBenchDuration)
	if b.Precision == nil {
		b.Precision = fraction(DefaultPrecision)
	}
	if b.Error == nil {
		b.Error = fraction(DefaultBenchError)
	}
	return b
}
