package report

import (
	"io"
	"math"
	"strings"
)

// BenchMarkdown writes what BenchText writes as GitHub Markdown, for a comment on a pull
// request or a job summary: the verdict and what changed or is unclear first, the
// tables of all benchmarks folded, at most MostMarkdown bytes. What is too much is
// left out by sections, and named. The error is w's.
func BenchMarkdown(w io.Writer, r *BenchReport) error {
	t, v := r.Table, newReportView(r, math.MaxInt)
	v.keys = nil // cells wrap, so that names may be long
	title := "Benchmarks"
	if t.Name != "" {
		title += " of " + t.Name
	}
	pieces := []piece{{"heading", "### " + textLine(title) + "\n", 0}}
	text := ""
	for _, s := range v.verdicts() {
		text += "\n"
		if s.Name != "" {
			text += "**" + textLine(s.Name) + "**"
		}
		text += textLine(s.Rest) + "\n"
	}
	pieces = append(pieces, piece{"the verdict", text, 1})
	if s, ok := v.thresholds(mostJudged, mostJudged); ok {
		pieces = append(pieces, s.pieces(2, mostJudged)...)
	}
	for n, i := range v.others() {
		if s, ok := v.differences(i); ok {
			pieces = append(pieces, s.pieces(3+n, 3*openRows)...)
		}
	}
	last := 3 + len(t.Settings)
	if notes := v.pitfalls(); notes != nil {
		var lines []string
		for i := range notes {
			lines = append(lines, v.pitfall(&notes[i], mostPitfall))
		}
		pieces = append(pieces, items("Pitfalls", lines, last))
	}
	if failed := v.failed(); failed != nil {
		var lines []string
		for _, f := range failed {
			lines = append(lines, f.trials+": "+strings.Join(f.lines, " "))
		}
		pieces = append(pieces, items("Failed benchmarks", lines, last+1))
	}
	if notes := v.notes(); len(notes) > 0 {
		pieces = append(pieces, items("Warnings", notes, last+2))
	}
	sections, notes := v.sections(true)
	for n, s := range sections {
		s.title = "All benchmarks: " + s.title
		pieces = append(pieces, s.pieces(last+4+n, 0)...)
	}
	how := ""
	for _, line := range append(notes, v.measured()...) {
		how += "\n" + textLine(line) + "\n"
	}
	pieces = append(pieces, piece{"how it was measured", how, last + 3})
	pieces = append(pieces, v.whyPieces(r, last)...)
	_, err := io.WriteString(w, page(pieces))
	return err
}
