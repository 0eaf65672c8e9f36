package tables

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// FailedBenchmarks are the benchmarks that said why there are no numbers, or fewer; those that
// failed alike once.
func (v *View) FailedBenchmarks() (out []Failed) {
	at := map[string]int{}
	for _, b := range v.Benchmarks {
		if len(b.Faults) == 0 {
			continue
		}
		text := v.Faults(b)
		if n, ok := at[text]; ok {
			out[n].What += ", " + v.Called(b)
			continue
		}
		at[text] = len(out)
		out = append(out, Failed{v.Called(b), layout.CleanLines(text)})
	}
	return out
}

// varying matches texts that differ between two traces, or messages, of the same failure.
var varying = regexp.MustCompile(`0x[0-9a-f]+|goroutine [0-9]+|127\.0\.0\.1:[0-9]+|[0-9]+ of [0-9]+ requests failed \([^)]*\)|such as [^\n]*`)

// Faults says why a benchmark has no numbers, or fewer: once what it said in all
// settings, else what it said in each.
func (v *View) Faults(b *compare.Benchmark) string {
	var parts []string
	alike := len(b.Faults) == len(v.Settings)
	for _, f := range b.Faults {
		alike = alike && f.Kind == b.Faults[0].Kind && f.Kind != compare.FaultBlocks &&
			varying.ReplaceAllString(f.Said, "") == varying.ReplaceAllString(b.Faults[0].Said, "")
		label := v.Labels[f.Setting]
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

// BenchNotes are the warnings, and what failed of blocks, each once.
func (v *View) BenchNotes() []string {
	notes := v.readableAll(words.Warnings(v.Table))
	var failed []string
	blocks := map[string][]string{}
	for _, f := range v.Failed {
		what := "a block"
		if f.Trial.For != "" {
			what = "the trial for its " + f.Trial.For
		}
		key := fmt.Sprintf("%s: %s failed: %s", v.labelOf(f.Trial.Setting.String()), what, f.Err)
		if blocks[key] == nil {
			failed = append(failed, key)
		}
		blocks[key] = append(blocks[key], fmt.Sprint(f.Trial.Block))
	}
	for _, key := range failed {
		if n := len(blocks[key]); n > 1 {
			key += fmt.Sprintf(" (%d times: in blocks %s)", n, strings.Join(blocks[key], ", "))
		}
		notes = append(notes, key)
	}
	return notes
}

// A Failed is what failed of one error: trials of a setting, or benchmarks.
type Failed struct {
	What  string   // such as "trials 2, 7 GOGC=50"
	Lines []string // of the error, which may hold the last words of the subject
}
