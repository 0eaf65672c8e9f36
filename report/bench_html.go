package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/report/pprofpage"
)

// A BenchPage is one run of benchmarks as its HTML report shows it.
type BenchPage struct {
	BenchReport
	Origin findings.Origin
	Ran    string // what was measured, such as the Go versions and revisions
}

// An excerpt is text in columns, such as the lines of a function with what each costs.
type excerpt struct{ title, text string }

// mostListings is how much of listings a page has, in bytes.
const mostListings = 400 << 10

// mostIntervals are rows of the picture; the tables have all.
const mostIntervals = 80

// BenchHTML writes the page as one self-contained file, which asks nobody for anything.
// The error is w's.
func BenchHTML(w io.Writer, p *BenchPage) error {
	out := newBenchPaper(p, tamed(&Page{Table: &compare.Table{}, Origin: p.Origin}))
	out.Head, out.Tail = inlined("", nil, pprofpage.Blocks{})
	return templates.ExecuteTemplate(w, "page", out)
}

// newBenchPaper makes a paper of a page; inner is what it has in common with others.
func newBenchPaper(p *BenchPage, inner *Page) *paper {
	t := tamedTable(p.Table)
	v := newReportView(&BenchReport{Table: t, Against: p.Against}, wide)
	v.keys = nil // cells wrap, so that names may be long
	out := &paper{Page: inner, Title: "Benchmarks", About: tameAll(v.measured(), 10, mostNote)}
	if len(t.Settings) > 1 {
		out.Foot = "Verdicts are of blocks, in which the settings took turns of a few milliseconds each."
	}
	if t.Name != "" {
		out.Title += " of " + t.Name
	}
	for _, s := range v.verdicts() {
		out.Verdicts = append(out.Verdicts, said{tame(s.Name, mostCell), tame(s.Rest, 2*mostNote)})
	}
	if len(out.Verdicts) > mostVerdicts {
		out.Verdicts, out.More = out.Verdicts[:mostVerdicts], out.Verdicts[mostVerdicts:]
	}
	out.Doubts = tameAll(v.notes(), 100, mostNote)
	for _, x := range []chapter{
		{"thresholds", "Thresholds", v.block(v.thresholds(mostRows, mostRows))},
		{"change", "Change", v.changeBlocks()},
		{"figures", "Figures", v.aloneBlocks()},
		{"why", "Why", listings(newBenchView(p.Table, wide).excerpts(&p.BenchReport))},
		{"pitfalls", "Pitfalls", v.pitfallBlocks()},
		{"failed", "Failed benchmarks", v.failedBlocks()},
		{"again", "Where it comes from", inner.whence(p.Ran, "As run.json has it.", benchFiles)},
	} {
		if len(x.Blocks) > 0 {
			out.Parts = append(out.Parts, x)
		}
	}
	return out
}

// benchFiles is what the run directory of benchmarks holds.
const benchFiles = "results.jsonl has a setting of a block a line, bench.txt the same for benchstat, trials/ the profiles."

// block makes a block of a section.
func (v *benchView) block(s section, ok bool) []block {
	if !ok {
		return nil
	}
	return []block{{Title: tame(s.title, mostCell), Tables: v.sheets(&s), Lines: tameAll(s.notes, 100, mostNote)}}
}

// sheets are the tables of a section; the signs before the rows of comparisons are left
// to texts, so that a row's heading is its name.
func (v *benchView) sheets(s *section) (out []sheet) {
	for _, g := range s.grids {
		if len(g.cols) == comparisonColumns {
			g.drop(0)
		}
		out = append(out, sheet{tame(s.title, mostCell), g.html(s.title, allIn)})
	}
	return out
}

// changeBlocks are what changed or is unclear as tables, then the picture of all
// benchmarks with their table, then the other units.
func (v *benchView) changeBlocks() (out []block) {
	if len(v.Settings) < 2 {
		return nil
	}
	for _, i := range v.others() {
		out = append(out, v.block(v.differences(i))...)
	}
	units, folded := v.units(true)
	var first, rest []unitSection
	for n := range units {
		if len(first) < len(v.others()) && units[n].unit == units[0].unit {
			first = append(first, units[n])
		} else {
			rest = append(rest, units[n])
		}
	}
	groups, left := v.intervals()
	if groups != nil && first != nil {
		f := &figure{
			ID: "fig-change", Kind: "svg", Name: fileName(v.Name) + "-change", Title: units[0].unit + " of all benchmarks",
			Shows: fmt.Sprintf("Each mark is a change, and the line through it its 95%% interval: what is left of 0 is lower than the baseline, what is right of it higher. "+
				"Changes within the shaded band of ±%s count as none. What changed comes first.", dyno.Fraction(v.Negligible)),
			Picture: template.HTML(chart.Intervals(groups, v.Negligible)), Summary: "Table", Notes: []string{v.legend()},
		}
		for i := range first {
			f.Tables = append(f.Tables, v.sheets(&first[i].section)...)
		}
		if left > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%d more that did not change are in the table.", left))
		}
		out = append(out, block{Figure: f})
	} else {
		rest = units
	}
	for _, s := range rest {
		out = append(out, tucked(v.block(s.section, true))...)
	}
	if folded != nil {
		out = append(out, block{Lines: tameAll(folded, 50, mostNote)})
	}
	return out
}

// intervals are the rows of the picture in the first unit, and how many it has no
// room for.
func (v *benchView) intervals() (groups []chart.Group, left int) {
	names := v.unitsOf()
	if len(names) == 0 {
		return nil, 0
	}
	room := max(1, mostIntervals/len(v.others()))
	for _, i := range v.others() {
		g := chart.Group{Title: tame(v.name(i), mostName) + " against " + tame(v.name(0), mostName)}
		var rows []*compare.Benchmark
		for n := range v.Benchmarks {
			if u := unit(v.Benchmarks[n], names[0]); u != nil && v.versus(u, i) != nil {
				rows = append(rows, v.Benchmarks[n])
			}
		}
		slices.SortStableFunc(rows, func(a, b *compare.Benchmark) int {
			if d := v.standingOf(unit(b, names[0]), i) - v.standingOf(unit(a, names[0]), i); d != 0 {
				return int(d)
			}
			return v.byWeight(a, b, i)
		})
		left += max(0, len(rows)-room)
		for _, r := range rows[:min(len(rows), room)] {
			u := unit(r, names[0])
			x := v.versus(u, i)
			text := v.benchChange(u, i)
			for _, more := range []string{interval(x.Lo, x.Hi), v.benchWord(u, i).text} {
				if more != "" {
					text += " " + more
				}
			}
			mark := chartMark(x.Verdict)
			if v.standingOf(u, i) == isChanged && u.Better == 0 {
				mark = chart.Plain
			}
			g.Rows = append(g.Rows, chart.Interval{Label: middle(v.called(r), readableName), Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi, Mark: mark, Better: u.Better, Text: text})
		}
		if g.Rows != nil {
			groups = append(groups, g)
		}
	}
	return groups, left
}

func (v *benchView) aloneBlocks() []block {
	if len(v.Settings) != 1 {
		return nil
	}
	return v.block(v.figures())
}

// pitfallBlocks are the doubts about benchmarks.
func (v *benchView) pitfallBlocks() []block {
	var lines []string
	for _, n := range v.pitfalls() {
		lines = append(lines, v.pitfall(&n, mostPitfalls))
	}
	if lines == nil {
		return nil
	}
	return []block{{List: tameAll(lines, mostRows, 2*mostNote)}}
}

// failedBlocks are what failed, with the words of the benchmark.
func (v *benchView) failedBlocks() (out []block) {
	for n, f := range v.failed() {
		if n == mostItems {
			return append(out, block{Lines: []string{"More are in results.jsonl."}})
		}
		text := ""
		for _, l := range f.lines {
			text += l + "\n"
		}
		out = append(out, block{Title: tame(f.trials, mostNote), Pre: tame(text, mostNote)})
	}
	return out
}

// listings are texts in columns, as far as a page has room for them.
func listings(all []excerpt) (out []block) {
	room := mostListings
	for n, l := range all {
		text := tame(l.text, mostText)
		if room -= len(text); room < 0 {
			return append(out, block{Lines: []string{fmt.Sprintf("%d more are left out, as the page would be too large.", len(all)-n)}})
		}
		out = append(out, block{Title: tame(l.title, mostCell), Pre: text})
	}
	return out
}
