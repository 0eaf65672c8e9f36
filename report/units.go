package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/chart"
)

// The signs before the rows of a table, as in plots.
const (
	signChanged = "●"
	signUnclear = "○"
)

// For a table to fit the page, names of benchmarks are cut to readableName characters,
// then columns are left out, then names are cut to leastName.
const (
	readableName = 28
	leastName    = 16
)

// A unitSection is the comparison of one setting in one unit.
type unitSection struct {
	section
	unit string
}

// units are the tables of a comparison: of each unit one for each setting, and lines
// for those in which nothing differs. Of units but the first there are only the rows
// that differ, unless whole.
func (v *view) units(whole bool) (out []unitSection, folded []string) {
	var allEqual, allSame []string
	for n, name := range v.unitsOf() {
		most, told := isUntold, false
		for _, r := range v.Benchmarks {
			u := unit(r, name)
			if u == nil {
				continue
			}
			for _, i := range v.others() {
				if !v.echoes(u) {
					most, told = max(most, v.standingOf(u, i)), true
				}
			}
		}
		switch {
		case !told:
			folded = append(folded, name+": computed from sec/op, and says the same.")
		case most == isUntold:
		case most == isEqual && n > 0:
			allEqual = append(allEqual, name)
		case most == isSame && n > 0:
			allSame = append(allSame, name)
		default:
			for _, i := range v.others() {
				if s, ok := v.unitTable(name, i, whole || n == 0); ok {
					out = append(out, unitSection{s, name})
				}
			}
		}
	}
	if allSame != nil {
		folded = slices.Insert(folded, 0, strings.Join(allSame, ", ")+": all the same.")
	}
	if allEqual != nil {
		folded = slices.Insert(folded, 0, strings.Join(allEqual, ", ")+": all equal.")
	}
	return out, folded
}

// unitTable compares setting i with the baseline in one unit.
func (v *view) unitTable(name string, i int, whole bool) (section, bool) {
	g := v.comparison(i, "")
	left := 0 // rows that are left out
	group := ""
	for _, r := range v.Benchmarks {
		u := unit(r, name)
		if u == nil {
			continue
		}
		if s := v.standingOf(u, i); !whole && (s == isEqual || s == isSame) {
			left++
			continue
		}
		v.add(&g, r, &group, v.line(v.row(r), u, i, false))
	}
	if len(g.rows) == 0 {
		return section{}, false
	}
	if whole {
		if mean, ok := v.geomean(name, i, len(g.cols)); ok {
			g.rows = append(g.rows, mean)
		}
	}
	s := section{title: name + v.compared(i)}
	if left > 0 {
		s.title += fmt.Sprintf(" (the same for %d more)", left)
	}
	v.fitNames(&g, 1)
	s.grids = []grid{g}
	return s, true
}

// compared ends a title with which settings a table compares, if there are several.
func (v *view) compared(i int) string {
	if len(v.Settings) < 3 {
		return ""
	}
	return ": " + v.name(i) + " against " + v.name(0)
}

// add adds the row of a benchmark, below the heading of its package if there are several.
func (v *view) add(g *grid, b *compare.Benchmark, group *string, r row) {
	if len(v.packages) > 1 && b.Package != *group {
		*group = b.Package
		g.rows = append(g.rows, row{group: *group})
	}
	g.rows = append(g.rows, r)
}

// comparison is an empty table that compares setting i with the baseline; with a
// column for the unit's name if that has a heading.
func (v *view) comparison(i int, of string) grid {
	g := grid{
		signs: true,
		cols:  []column{{left: true}, {left: true}, {left: true, keep: 3}, {left: true}, {}, {left: true, keep: 1}, {}, {left: true, keep: 1}, {}, {left: true}, {keep: 2}, {left: true}},
	}
	for _, h := range v.head([]int{0, i}) {
		g.head = append(g.head, []string{"", h[0], "", "", h[1], "", h[2], "", "", "", "", ""})
	}
	last := g.head[len(g.head)-1]
	last[2] = of
	copy(last[8:], []string{"change", "95% interval", "p", "verdict"})
	return g
}

// line is a row of a comparison.
func (v *view) line(name string, u *compare.Row, i int, named bool) row {
	base, now := v.median(u, 0), v.median(u, i)
	sc := scaleOf(u.Name, base.Center, now.Center)
	cs := []cell{{}, {text: name}, {}, {text: sc.unit}, number(sc, base.Center), {text: spread(base.Center, base.Lo, base.Hi), mark: faint}, number(sc, now.Center), {text: spread(now.Center, now.Lo, now.Hi), mark: faint}, {}, {}, {}, v.verdictCell(u, i)}
	if named {
		cs[2].text = u.Name
	}
	if x := v.Versus(*u, i); x != nil {
		cs[8] = cell{text: v.unitChange(u, i), mark: cs[11].mark}
		if v.standingOf(u, i) != isEqual {
			cs[9].text, cs[10].text = Interval(x.Lo, x.Hi), pvalue(x.P, 4)
		}
	}
	switch v.standingOf(u, i) {
	case isChanged:
		cs[0] = cell{text: signChanged, mark: cs[11].mark}
	case isUnclear:
		cs[0] = cell{text: signUnclear, mark: faint}
	}
	return row{cells: cs}
}

func number(sc scale, x float64) cell {
	if math.IsNaN(x) {
		return cell{text: "-", mark: faint}
	}
	return cell{text: sc.format(x)}
}

// geomean is the row of the geometric means of the benchmarks that have a ratio, as
// benchstat has it. It is a summary for the eye; no verdict rests on it.
func (v *view) geomean(name string, i, columns int) (row, bool) {
	var base, now, ratio float64
	n, all := 0, 0
	for k := range v.Benchmarks {
		u := unit(v.Benchmarks[k], name)
		if u == nil {
			continue
		}
		all++
		x, b, c := v.Versus(*u, i), v.median(u, 0).Center, v.median(u, i).Center
		if x == nil || !(x.Ratio > 0 && b > 0 && c > 0) {
			continue
		}
		n++
		base, now, ratio = base+math.Log(b), now+math.Log(c), ratio+math.Log(x.Ratio)
	}
	if n < 2 {
		return row{}, false
	}
	mean := func(sum float64) float64 { return math.Exp(sum / float64(n)) }
	sc := scaleOf(name, mean(base), mean(now))
	label := "geomean"
	if n < all {
		label += fmt.Sprintf(" of %d", n)
	}
	cs := make([]cell, columns)
	cs[1], cs[3], cs[4].text, cs[6].text, cs[8].text = cell{text: label, mark: faint}, cell{text: sc.unit}, sc.format(mean(base)), sc.format(mean(now)), Change(mean(ratio))
	return row{cells: cs}, true
}

// fitNames makes a table, whose names of benchmarks are in column at, fit the page.
func (v *view) fitNames(g *grid, at int) {
	g.cut(at, v.width, readableName)
	g.narrow(v.width)
	g.cut(at, v.width, leastName)
}

// differences are the comparisons of setting i that changed or are unclear, in all
// units: those that became worse first.
func (v *view) differences(i int) (section, bool) {
	g := v.comparison(i, "unit")
	for _, d := range v.differing(i) {
		g.rows = append(g.rows, v.line(v.called(d.row), d.unit, i, true))
	}
	if len(g.rows) == 0 {
		return section{}, false
	}
	v.fitNames(&g, 1)
	return section{title: "Changed or unclear" + v.compared(i), grids: []grid{g}}, true
}

// A difference is one comparison that is changed or unclear.
type difference struct {
	row  *compare.Benchmark
	unit *compare.Row
}

// differing are those of setting i: benchmarks that changed as verdicts name them, then
// those that are unclear.
func (v *view) differing(i int) (out []difference) {
	rows := slices.Clone(v.Benchmarks)
	slices.SortStableFunc(rows, func(a, b *compare.Benchmark) int { return v.byWeight(a, b, i) })
	for _, want := range []standing{isChanged, isUnclear} {
		for _, r := range rows {
			for k := range r.Units {
				if u := &r.Units[k]; v.standingOf(u, i) == want && !v.echoes(u) {
					out = append(out, difference{r, u})
				}
			}
		}
	}
	return out
}

// mostPlotted are rows of a plot; the tables have all.
const mostPlotted = 24

// plotted is the plot of what changed or is unclear.
func (v *view) plotted() (section, bool) {
	g := grid{cols: []column{{left: true}, {left: true, keep: 1}, {left: true}}, head: [][]string{{"", "", ""}}}
	var rows []chart.Interval
	var at []compare.Versus // of each row of the grid; none of headings
	for _, i := range v.others() {
		begun, more := false, 0
		for _, d := range v.differing(i) {
			x := v.Versus(*d.unit, i)
			if !drawn(*x) {
				continue
			}
			if len(rows) == mostPlotted {
				more++
				continue
			}
			if !begun && len(v.Settings) > 2 {
				g.rows, at = append(g.rows, row{group: v.name(i)}), append(at, compare.Versus{})
			}
			begun = true
			name := d.unit.Name
			if name == "sec/op" {
				name = ""
			}
			g.rows, at = append(g.rows, row{cells: cells(middle(v.called(d.row), readableName), name, "")}), append(at, *x)
			rows = append(rows, chart.Interval{Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi})
		}
		if more > 0 {
			g.rows, at = append(g.rows, row{group: fmt.Sprintf("and %d more of %s", more, v.name(i))}), append(at, compare.Versus{})
		}
	}
	p := v.plotOf(rows)
	if p == nil {
		return section{}, false
	}
	p.lay(max(leastPlot, min(v.width-g.width()-len(gap), mostPlot)))
	g.head[0][2] = p.axis()
	for n := range g.rows {
		if cs := g.rows[n].cells; cs != nil {
			cs[2] = p.cell(at[n])
		}
	}
	return section{title: "Changes and their 95% intervals", grids: []grid{g}, notes: []string{p.note()}}, true
}

// medians are those of a single setting.
func (v *view) medians() (section, bool) {
	names := v.unitsOf()
	g := grid{cols: []column{{left: true}}, head: [][]string{{""}}}
	for range names {
		g.cols = append(g.cols, column{}, column{left: true, keep: 1})
	}
	for _, name := range names {
		g.head[0] = append(g.head[0], name, "")
	}
	group := ""
	for _, r := range v.Benchmarks {
		if len(r.Units) == 0 {
			continue
		}
		cs := []cell{{text: v.row(r)}}
		for _, name := range names {
			c, around := cell{text: "-", mark: faint}, cell{}
			if u := unit(r, name); u != nil {
				x := v.median(u, 0)
				if !math.IsNaN(x.Center) {
					c = cell{text: scaleOf(name, x.Center).with(x.Center)}
				}
				around = cell{text: spread(x.Center, x.Lo, x.Hi), mark: faint}
			}
			cs = append(cs, c, around)
		}
		v.add(&g, r, &group, row{cells: cs})
	}
	v.fitNames(&g, 0)
	return section{title: "Medians of the blocks", grids: []grid{g}}, len(g.rows) > 0
}

// benchLegend explains the words of a comparison of benchmarks.
func (v *view) benchLegend() string {
	return fmt.Sprintf("Medians are of the blocks; a change is of turns side by side, so that it need not be the quotient of the medians. "+
		"Same: surely within ±%s; unclear: the blocks cannot tell. p is adjusted for all looks, intervals are not.", dyno.Fraction(v.Negligible))
}
