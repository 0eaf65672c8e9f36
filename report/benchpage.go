package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/report/layout"
)

// mostListings is how much of listings a page has, in bytes.
const mostListings = 400 << 10

// mostIntervals are rows of the picture; the tables have all.
const mostIntervals = 80

// newBenchPaper makes a paper of a page of benchmarks that is [tamed].
func newBenchPaper(p *Page) *paper {
	v := &pageView{view: p.view(wide), page: p}
	v.keys = nil // cells wrap, so that names may be long
	out := &paper{Page: p, Title: p.title(), About: tameAll(v.measured(), 10, mostNote)}
	if len(v.Settings) > 1 {
		out.Foot = "Verdicts are of blocks, in which the settings took turns of a few milliseconds each."
	}
	for _, s := range v.verdicts() {
		out.Verdicts = append(out.Verdicts, said{tame(s.Name, mostCell), tame(s.Rest, 2*mostNote)})
	}
	if len(out.Verdicts) > mostVerdicts {
		out.Verdicts, out.More = out.Verdicts[:mostVerdicts], out.Verdicts[mostVerdicts:]
	}
	out.Doubts = tameAll(v.notes(), 100, mostNote)
	out.add("thresholds", "Thresholds", v.show(v.thresholds(mostRows, mostRows)))
	if len(v.Settings) == 1 {
		out.add("figures", "Figures", v.show(v.medians()))
	} else if len(v.Settings) > 1 {
		out.add("change", "Change", v.changeBlocks())
	}
	out.add("why", "Why", listings(v.excerpts(&p.Report, layout.Options{})))
	if lines := v.pitfallLines(mostPitfalls); lines != nil {
		out.add("pitfalls", "Pitfalls", []block{{List: tameAll(lines, mostRows, 2*mostNote)}})
	}
	out.add("failed", "Failed benchmarks", v.failedBlocks())
	out.add("again", "Where it comes from", v.origin())
	return out
}

// changeBlocks are what changed or is unclear as tables, then the picture of all
// benchmarks with their table, then the other units.
func (v *pageView) changeBlocks() (out []block) {
	for _, i := range v.others() {
		out = append(out, v.show(v.differences(i))...)
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
	groups, left := v.benchIntervals()
	if groups != nil && first != nil {
		f := &figure{
			ID: "fig-change", Kind: "svg", Name: fileName(v.Name) + "-change", Title: units[0].unit + " of all benchmarks",
			Shows: fmt.Sprintf("Each mark is a change, and the line through it its 95%% interval: what is left of 0 is lower than the baseline, what is right of it higher. "+
				"Changes within the shaded band of ±%s count as none. What changed comes first.", dyno.Fraction(v.Negligible)),
			Picture: template.HTML(chart.Intervals(groups, v.Negligible)), Summary: "Table", Notes: []string{v.benchLegend()},
		}
		for i := range first {
			f.Tables = append(f.Tables, v.tables(&first[i].Section)...)
		}
		if left > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%d more that did not change are in the table.", left))
		}
		out = append(out, block{Figure: f})
	} else {
		rest = units
	}
	for _, s := range rest {
		out = append(out, tucked(v.show(s.Section, true))...)
	}
	if folded != nil {
		out = append(out, block{Lines: tameAll(folded, 50, mostNote)})
	}
	return out
}

// benchIntervals are the rows of the picture in the first unit, and how many it has no
// room for.
func (v *view) benchIntervals() (groups []chart.Group, left int) {
	names := v.unitsOf()
	if len(names) == 0 {
		return nil, 0
	}
	room := max(1, mostIntervals/len(v.others()))
	for _, i := range v.others() {
		g := chart.Group{Title: tame(v.name(i), mostName) + " against " + tame(v.name(0), mostName)}
		var rows []*compare.Benchmark
		for n := range v.Benchmarks {
			if u := unit(v.Benchmarks[n], names[0]); u != nil && v.Versus(*u, i) != nil {
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
			x := v.Versus(*u, i)
			text := v.unitChange(u, i)
			for _, more := range []string{layout.Interval(x.Lo, x.Hi), v.verdictCell(u, i).Text} {
				if more != "" {
					text += " " + more
				}
			}
			mark := chartMark(x.Verdict)
			if v.standingOf(u, i) == isChanged && u.Better == 0 {
				mark = chart.Plain
			}
			g.Rows = append(g.Rows, chart.Interval{Label: layout.Middle(v.called(r), readableName), Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi, Mark: mark, Better: u.Better, Text: text})
		}
		if g.Rows != nil {
			groups = append(groups, g)
		}
	}
	return groups, left
}

// failedBlocks are what failed, with the words of the benchmark.
func (v *view) failedBlocks() (out []block) {
	for n, f := range v.failed() {
		if n == layout.MostItems {
			return append(out, block{Lines: []string{"More are in results.jsonl."}})
		}
		out = append(out, block{Title: tame(f.what, mostNote), Pre: tame(strings.Join(f.lines, "\n")+"\n", mostNote)})
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
