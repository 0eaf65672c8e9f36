package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
)

// BenchText writes the report for a reader at a terminal: the verdict in words, the
// comparisons unit by unit as benchstat has them with dyno's verdict beside each, a
// plot of what changed or is unclear, what is doubtful about the benchmarks, what
// failed, how it was measured, and why. Only names, and lines of source, can make a line
// longer than o.Width. The error is w's.
func BenchText(w io.Writer, r *BenchReport, o Options) error {
	t, v := r.Table, newReportView(r, o.width())
	var b strings.Builder
	for _, s := range v.verdicts() {
		b.WriteString(fold(s.Name+s.Rest, "", "  ", v.width))
	}
	for i, key := range v.keys {
		name := v.label(i)
		if i == 0 && len(t.Settings) > 1 {
			name += " (baseline)"
		}
		b.WriteString(fold(name, "  "+key+" ", "      ", v.width))
	}
	if s, ok := v.thresholds(mostJudged, mostJudged); ok {
		s.text(&b, v.width, o.Color)
	}
	sections, notes := v.sections(false)
	if last := len(sections) - 1; last >= 0 {
		sections[last].notes = notes
		if s, ok := v.plotted(); ok {
			sections = append(sections, s)
		}
	}
	for _, s := range sections {
		s.text(&b, v.width, o.Color)
	}
	if notes := v.pitfalls(); notes != nil {
		b.WriteString("\nPitfalls\n")
		for i := range notes {
			b.WriteString(fold(v.pitfall(&notes[i], mostPitfall), "  ! ", "    ", v.width))
		}
	}
	if failed := v.failed(); failed != nil {
		b.WriteString("\nFailed benchmarks\n")
		for _, f := range failed {
			b.WriteString(fold(f.trials+": "+f.lines[0], "  ", "    ", v.width))
			for _, l := range f.lines[1:] {
				b.WriteString("    " + l + "\n")
			}
		}
	}
	if notes := v.notes(); len(notes) > 0 {
		b.WriteString("\nWarnings\n")
		for _, n := range notes {
			b.WriteString(fold(n, "  ! ", "    ", v.width))
		}
	}
	if how := v.measured(); how != nil {
		b.WriteByte('\n')
		for _, line := range how {
			b.WriteString(fold(line, "", "", v.width))
		}
	}
	v.whys(&b, r, o)
	_, err := io.WriteString(w, b.String())
	return err
}

// sections are the tables of a text, in order, and what is to be said of all of them.
func (v *benchView) sections(whole bool) (out []section, notes []string) {
	if len(v.Settings) < 2 {
		if s, ok := v.figures(); ok {
			out = append(out, s)
		}
		return out, nil
	}
	units, folded := v.units(whole)
	for _, u := range units {
		out = append(out, u.section)
	}
	if out == nil {
		return nil, nil
	}
	return out, append(folded, v.legend())
}

const mostJudged = 50 // thresholds that failed, and as many that are unclear

// failed are the benchmarks that said why there are no numbers, or fewer; those that
// failed alike once.
func (v *benchView) failed() (out []failed) {
	at := map[string]int{}
	for _, b := range v.Benchmarks {
		if len(b.Faults) == 0 {
			continue
		}
		text := v.faults(b)
		if n, ok := at[text]; ok {
			out[n].trials += ", " + v.called(b)
			continue
		}
		at[text] = len(out)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for n := range lines {
			lines[n] = clean(lines[n])
		}
		out = append(out, failed{v.called(b), lines})
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
		label := v.settingLabel(f.Setting)
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
func (v *benchView) notes() []string {
	notes := v.readableAll(Warnings(v.Table))
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

// settingLabel names setting i in a sentence.
func (v *view) settingLabel(i int) string {
	if v.Kind == compare.OfBenchmarks {
		return v.labels[i]
	}
	return v.Settings[i].Setting.Label()
}
