package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/doubts"
	"github.com/dynolab/dyno/report/layout"
)

// failed are the benchmarks that said why there are no numbers, or fewer; those that
// failed alike once.
func (v *view) failed() (out []failed) {
	at := map[string]int{}
	for _, b := range v.Benchmarks {
		if len(b.Faults) == 0 {
			continue
		}
		text := v.faults(b)
		if n, ok := at[text]; ok {
			out[n].what += ", " + v.called(b)
			continue
		}
		at[text] = len(out)
		out = append(out, failed{v.called(b), layout.CleanLines(text)})
	}
	return out
}

// varying is what differs between two traces of the same failure.
var varying = regexp.MustCompile(`0x[0-9a-f]+|goroutine [0-9]+`)

// faults says why a benchmark has no numbers, or fewer: once what it said in all
// settings, else what it said in each.
func (v *view) faults(b *compare.Benchmark) string {
	var parts []string
	alike := len(b.Faults) == len(v.Settings)
	for _, f := range b.Faults {
		alike = alike && f.Kind == b.Faults[0].Kind && f.Kind != compare.FaultBlocks &&
			varying.ReplaceAllString(f.Said, "") == varying.ReplaceAllString(b.Faults[0].Said, "")
		label := v.labels[f.Setting]
		switch f.Kind {
		case compare.FaultBlocks:
			parts = append(parts, fmt.Sprintf("%s: in %d of %d blocks: %s", label, f.Blocks, f.Tried, f.Said))
		case compare.FaultMissing:
			parts = append(parts, label+" does not have it")
		default:
			parts = append(parts, label+": "+f.Said)
		}
	}
	if alike && b.Faults[0].Kind != compare.FaultMissing {
		return b.Faults[0].Said
	}
	return strings.Join(parts, "; ")
}

// notes are the warnings, and what failed of blocks, each once.
func (v *view) notes() []string {
	notes := v.readableAll(doubts.Words(v.Table, v.Table.Doubts))
	var failed []string
	blocks := map[string][]string{}
	for _, f := range v.Failed {
		what := "a block"
		if f.Result.Trial.For != "" {
			what = "the trial for its " + f.Result.Trial.For
		}
		key := fmt.Sprintf("%s: %s failed: %s", v.labelOf(f.Setting.String()), what, f.Err)
		if blocks[key] == nil {
			failed = append(failed, key)
		}
		blocks[key] = append(blocks[key], fmt.Sprint(f.Result.Trial.Block))
	}
	for _, key := range failed {
		if n := len(blocks[key]); n > 1 {
			key += fmt.Sprintf(" (%d times: in blocks %s)", n, strings.Join(blocks[key], ", "))
		}
		notes = append(notes, key)
	}
	return notes
}
