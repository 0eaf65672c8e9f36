// Package report shows tables to readers: as text on a terminal, as Markdown
// in a pull request, as JSON for programs, and results in the Go benchmark
// format for benchstat.
//
// It owns layout, units and wording. It computes nothing: every figure and
// every verdict is package analysis'.
package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/profile"
)

// Text writes the report for a reader at a terminal. Of a service: pooled response
// times, memory, the comparison with the baseline, doubts, failed trials and what was
// found; of benchmarks the verdict comes first. Only names and lines of source can make
// a line longer than o.Width. The error is w's.
func Text(w io.Writer, r *Report, o layout.Options) error {
	v := r.view(o.Columns())
	var b strings.Builder
	v.text(&b, v.parts(r, o, false), o.Color)
	_, err := io.WriteString(w, b.String())
	return err
}

// Hours writes the sections on what takes a while to show, as Text has them, for a
// reader who is shown a [Summary]: where memory is, what leaks, and whether response
// times were steady; nothing if there is no such section. The error is w's.
func Hours(w io.Writer, t *compare.Table, o layout.Options) error {
	var b strings.Builder
	for _, s := range newView(t, o.Columns()).hours() {
		s.Text(&b, o.Columns(), o.Color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// heading is the line of what was measured.
func heading(t *compare.Table) string {
	name := ""
	if t.Name != "" {
		name = t.Name + ": "
	}
	settings := ""
	switch {
	case len(t.Settings) > 1:
		settings = fmt.Sprintf(" of %d settings", len(t.Settings))
	case len(t.Settings) == 1 && len(t.Settings[0].Setting) > 0:
		settings = " of " + t.Settings[0].Setting.String()
	}
	if t.Trials == 0 {
		return fmt.Sprintf("%sno finished trial%s, so there is nothing to report", name, settings)
	}
	s := fmt.Sprintf("%s%s in %s%s", name, layout.Count(t.Trials, "trial"), layout.Count(t.Blocks, "block"), settings)
	if n := len(t.Failed); n > 0 {
		s += fmt.Sprintf("; %d more failed", n)
	}
	return s
}

// sections are the tables of a report, in order.
func (v *view) sections() []layout.Section {
	if v.Trials == 0 {
		return nil
	}
	var out []layout.Section
	if s, ok := v.pooled(); ok {
		out = append(out, s)
	}
	if s, ok := v.memory(); ok {
		out = append(out, s)
	}
	out = append(out, v.hours()...)
	switch {
	case len(v.Rows) == 0:
	case len(v.Settings) == 1:
		out = append(out, v.values())
	default:
		changes := v.changes()
		v.picture(changes)
		out = append(out, changes...)
	}
	if s, ok := v.why(); ok {
		out = append(out, s)
	}
	if len(v.CPU) > 0 {
		out = append(out, profile.CPUShares(v.CPU, v.named, v.width))
	}
	if s, ok := v.tail(); ok {
		out = append(out, s)
	}
	if s, ok := v.attribution(); ok {
		out = append(out, s)
	}
	return out
}

// hours are those of [Hours].
func (v *view) hours() (out []layout.Section) {
	for _, build := range []func() (layout.Section, bool){v.resident, v.givenBack, v.leak, v.steady} {
		if s, ok := build(); ok {
			out = append(out, s)
		}
	}
	return out
}

// failures lists the failed trials, those that failed alike once.
func failures(t *compare.Table) []failed {
	type alike struct{ setting, err string }
	var keys []alike
	numbers := map[alike][]string{}
	for _, f := range t.Failed {
		key := alike{f.Trial.Setting.String(), f.Err}
		if numbers[key] == nil {
			keys = append(keys, key)
		}
		numbers[key] = append(numbers[key], strconv.Itoa(f.Trial.N))
	}
	var out []failed
	for _, key := range keys {
		trials := "trial"
		if len(numbers[key]) > 1 {
			trials += "s"
		}
		trials += " " + strings.Join(numbers[key], ", ")
		if key.setting != "" {
			trials += " " + key.setting
		}
		out = append(out, failed{trials, layout.CleanLines(key.err)})
	}
	return out
}

// Markdown writes what Text writes as GitHub Markdown, for a comment on a pull
// request or a job summary: what was found and the thresholds first, long tables
// folded, at most MostMarkdown bytes. What is too much is left out by sections,
// and named. The error is w's.
func Markdown(w io.Writer, r *Report) error {
	v := r.view(math.MaxInt)
	v.keys = nil // cells wrap, so that names may be long
	title := layout.Piece{Title: "heading", Text: "### " + layout.TextLine(r.title()) + "\n", Rank: 0}
	_, err := io.WriteString(w, layout.Page(append([]layout.Piece{title}, v.pieces(v.parts(r, layout.Options{}, true))...)))
	return err
}
