// Package report writes what was found of a run: as text on a terminal, as Markdown in a
// pull request, as JSON and JUnit for programs. Its tables are package tables', its
// sentences package words', the page is package html's.
package report

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// Text writes the report for a reader at a terminal: the answer on one screen of [Screen] lines,
// or with o.Full, of a service, pooled response times, memory, the comparison with the baseline,
// doubts, failed trials and what was found; of benchmarks the verdict comes first. Only names and lines of source can make
// a line longer than o.Width. The error is w's.
func Text(w io.Writer, r *tables.Report, o layout.Options) error {
	v := view{r.View(o.Columns())}
	if !o.Full {
		_, err := io.WriteString(w, v.brief(r, o))
		return err
	}
	var b strings.Builder
	v.text(&b, v.parts(r, o, false), o.Color)
	_, err := io.WriteString(w, b.String())
	return err
}

// after writes what follows a [Summary], as Text has it: where memory is, what leaks,
// whether response times were steady, and the thresholds.
func after(w io.Writer, t *compare.Table, o layout.Options) error {
	var b strings.Builder
	v := tables.NewView(t, o.Columns())
	sections := v.Lasting()
	for i := range sections {
		if !o.Full && len(sections[i].Notes) > 0 { // which say what the table does
			sections[i].Grids = nil
		}
	}
	sections = append(sections, v.Slowest()...)
	if s, ok := v.ThresholdTable(math.MaxInt, math.MaxInt); ok {
		sections = append(sections, s)
	}
	for _, s := range sections {
		s.Text(&b, o.Columns(), o.Color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the text as GitHub Markdown, for a comment on a pull request or a job summary: findings and
// thresholds first, long tables folded, at most MostMarkdown bytes. It leaves out whole sections that are too
// much, and names them. The error is w's.
func Markdown(w io.Writer, r *tables.Report) error {
	v := view{r.View(math.MaxInt)}
	v.Keys = nil // cells wrap, so that names may be long
	title := layout.Piece{Title: "heading", Text: "### " + layout.TextLine(r.Title()) + "\n", Rank: 0}
	_, err := io.WriteString(w, layout.Page(append([]layout.Piece{title}, v.pieces(v.parts(r, layout.Options{}, true))...), " The full report: `dyno report DIR`, with the run directory."))
	return err
}
