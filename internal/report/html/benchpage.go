package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// mostListings is the number of bytes of listings in a page.
const mostListings = 400 << 10

// mostIntervals are rows of the picture; the tables have all.
const mostIntervals = 80

// benchmarks adds the blocks of a page of benchmarks.
func (v *pageView) benchmarks(out *paper) {
	out.About = tameAll(v.Measured(), 10, mostNote)
	if len(v.Settings) > 1 {
		out.Foot = "Verdicts compare settings within blocks, in which they took turns of a few milliseconds each."
	}
	out.Doubts = tameAll(v.BenchNotes(), 100, mostNote)
	out.add("thresholds", "Thresholds", v.show(v.ThresholdTable(mostRows, mostRows)))
	if len(v.Settings) == 1 {
		out.add("figures", "Figures", v.show(v.Medians()))
	} else if len(v.Settings) > 1 {
		out.add("change", "Change", v.changeBlocks())
	}
	out.add("why", "Why", listings(v.Excerpts(&v.page.Report, layout.Options{})))
	if lines := v.PitfallLines(tables.MostPitfalls); lines != nil {
		out.add("pitfalls", "Pitfalls", []block{{List: tameAll(lines, mostRows, 2*mostNote)}})
	}
	out.add("failed", "Failed benchmarks", v.failedBlocks())
}

// changeBlocks returns the tables of what changed or is unclear, then the picture of all benchmarks with
// their table, then the other units.
func (v *pageView) changeBlocks() (out []block) {
	for _, i := range v.Others() {
		out = append(out, v.show(v.Packages(i))...) // of a suite, most of whose benchmarks are unclear
		out = append(out, v.show(v.Differences(i))...)
	}
	units, folded := v.Units(true)
	var first, rest []tables.UnitSection
	for n := range units {
		if len(first) < len(v.Others()) && units[n].Unit == units[0].Unit {
			first = append(first, units[n])
		} else {
			rest = append(rest, units[n])
		}
	}
	groups, left := v.benchIntervals()
	if groups != nil && first != nil {
		b := v.svg("change", units[0].Unit+" of all benchmarks", v.showsChanges()+" Changes come first.",
			chart.Intervals(groups, v.Negligible), &first[0].Section, v.BenchLegend())
		for i := range first[1:] {
			b.Figure.Tables = append(b.Figure.Tables, v.tables(&first[i+1].Section)...)
		}
		if left > 0 {
			b.Figure.Notes = append(b.Figure.Notes, fmt.Sprintf("The table has %d more that did not change.", left))
		}
		out = append(out, b)
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
func (v *pageView) benchIntervals() (groups []chart.Group, left int) {
	names := v.UnitsOf()
	if len(names) == 0 {
		return nil, 0
	}
	room := max(1, mostIntervals/len(v.Others()))
	for _, i := range v.Others() {
		g := chart.Group{Title: tame(v.SettingName(i), mostName) + " against " + tame(v.SettingName(0), mostName)}
		var rows []*compare.Benchmark
		for n := range v.Benchmarks {
			if u := tables.Unit(v.Benchmarks[n], names[0]); u != nil && v.Versus(*u, i) != nil {
				rows = append(rows, v.Benchmarks[n])
			}
		}
		slices.SortStableFunc(rows, func(a, b *compare.Benchmark) int {
			if d := v.StandingOf(tables.Unit(b, names[0]), i) - v.StandingOf(tables.Unit(a, names[0]), i); d != 0 {
				return int(d)
			}
			return v.ByWeight(a, b, i)
		})
		left += max(0, len(rows)-room)
		for _, r := range rows[:min(len(rows), room)] {
			u := tables.Unit(r, names[0])
			x := v.Versus(*u, i)
			text := strings.Join(strings.Fields(v.UnitChange(u, i)+" "+layout.Interval(x.Lo, x.Hi)+" "+v.VerdictCell(u, i).Text), " ")
			mark := chart.Mark(x.Verdict)
			if v.StandingOf(u, i) == tables.IsChanged && u.Better == 0 {
				mark = chart.Plain
			}
			g.Rows = append(g.Rows, chart.Interval{Label: layout.Middle(v.Called(r), tables.ReadableName), Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi, Mark: mark, Better: u.Better, Text: text})
		}
		if g.Rows != nil {
			groups = append(groups, g)
		}
	}
	return groups, left
}

// failedBlocks lists failed benchmarks with what they printed.
func (v *pageView) failedBlocks() (out []block) {
	for n, f := range v.FailedBenchmarks() {
		if n == layout.MostItems {
			return append(out, block{Lines: []string{"More are in results.jsonl."}})
		}
		out = append(out, block{Title: tame(f.What, mostNote), Pre: tame(strings.Join(f.Lines, "\n")+"\n", mostNote)})
	}
	return out
}

// listings are texts in columns, as far as a page has room for them.
func listings(all []tables.Excerpt) (out []block) {
	room := mostListings
	for n, l := range all {
		text := tame(l.Text, mostText)
		if room -= len(text); room < 0 {
			return append(out, block{Lines: []string{fmt.Sprintf("%d more are left out, as the page would be too large.", len(all)-n)}})
		}
		out = append(out, block{Title: tame(l.Title, mostCell), Pre: text})
	}
	return out
}
