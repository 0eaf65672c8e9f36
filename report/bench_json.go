package report

import (
	"encoding/json"
	"io"

	"github.com/dynolab/dyno/analysis"
)

// BenchJSON writes the table as summary.json of a run of benchmarks has it, indented;
// what is not known is null:
//
//	schema                           version of this form, analysis.Schema
//	name                             of the experiment
//	settings[]                       setting, levels, baseline (of the first, true)
//	blocks, elapsed-sec              finished blocks, and the time that they took
//	error, negligible, precision     fractions: chance of a false change in one comparison; what counts as
//	                                 the same; half an interval that is narrow enough
//	looks                            numbers of blocks after which a benchmark may be settled; absent if
//	                                 the number of blocks was given
//	comparisons, false-change-frac   those that noise could make a change of; in what share of runs without
//	                                 any change at least one of them would be called a change, at most
//	benchmarks[]                     in the order of the source: package, name; blocks in which it was
//	                                 measured; n, iterations of a sample; pairs of samples; settled: more
//	                                 blocks would tell nothing more; file, line; units; error, of what failed
//	  units[]                        unit (sec/op, B/op, allocs/op, B/s, the benchmark's own, in base units);
//	                                 better: higher, lower, absent if nobody knows
//	    values[]                     of each setting: blocks; center, the median of their medians, in the unit;
//	                                 its 95 % interval lo, hi, null below 6 blocks
//	    versus[]                     of each setting but the first: blocks; ratio to the baseline with its plain
//	                                 95 % interval lo, hi, null where a value is zero; diff in the unit; p;
//	                                 adjusted-p, for all looks; sd of a block; verdict: better, worse, same, unclear
//	pitfalls[]                       kind, benchmarks (package.name), text
//	warnings[]                       doubts about the run, what failed
//	thresholds[]                     absent without any: package, name, and the fields of [JSON]
//
// The error is w's.
func BenchJSON(w io.Writer, t *analysis.BenchTable) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
