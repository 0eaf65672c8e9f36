package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/dynolab/dyno/analysis"
)

// BenchJSON writes the report as summary.json of a run of benchmarks has it, indented;
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
//	warnings[]                       doubts about the run, what failed
//	thresholds[]                     absent without any: package, name, and the fields of [JSON]
//	pitfalls[]                       kind, benchmarks (package.name), text
//	why[]                            absent without any: benchmark (package.name), setting, differences: as
//	                                 of [ProfileJSON], a kind of profile each
//	baseline                         absent without a file to compare with: as of [BenchstatJSON]
//
// The error is w's.
func BenchJSON(w io.Writer, r *BenchReport) error {
	text, err := json.MarshalIndent(r.Table, "", "  ")
	if err != nil {
		return err
	}
	var whys []whyJSON
	for _, y := range r.Whys {
		j := whyJSON{Benchmark: y.Benchmark, Setting: y.Setting}
		for _, p := range y.Parts {
			j.Profiles = append(j.Profiles, p.Diff)
		}
		whys = append(whys, j)
	}
	more := func(key string, value any) error {
		data, err := json.MarshalIndent(value, "  ", "  ")
		// The table is an object with fields, and these come behind them.
		text = fmt.Appendf(bytes.TrimSuffix(text, []byte("\n}")), ",\n  %q: %s\n}", key, data)
		return err
	}
	err = more("pitfalls", append([]pitfallNote{}, newBenchView(r.Table, 0).pitfalls()...))
	if len(whys) > 0 && err == nil {
		err = more("why", whys)
	}
	if r.Against != nil && err == nil {
		err = more("baseline", r.Against)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

type whyJSON struct {
	Benchmark string                  `json:"benchmark"`
	Setting   string                  `json:"setting"`
	Profiles  []*analysis.ProfileDiff `json:"differences"`
}
