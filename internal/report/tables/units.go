package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/plot"
	"github.com/dynolab/dyno/internal/report/suites"
)

// The signs before the rows of a table, as in plots.
const (
	signChanged = "●"
	signUnclear = "○"
)

// For a table to fit the page, names of benchmarks are cut to ReadableName characters,
// then columns are left out, then names are cut to leastName.
const (
	ReadableName = 28
	leastName    = 16
)

// A UnitSection is the comparison of one setting in one unit.
type UnitSection struct {
	layout.Section
	Unit string
}

// Units are the tables of a comparison: of each unit one for each setting, and lines
// for those in which nothing differs. Of units but the first there are only the rows
// that differ, unless whole.
func (v *View) Units(whole bool) (out []UnitSection, folded []string) {
	var allEqual, allSame []string
	for n, name := range v.UnitsOf() {
		most, told := isUntold, false
		for _, r := range v.Benchmarks {
			u := Unit(r, name)
			if u == nil {
				continue
			}
			for _, i := range v.Others() {
				if !v.echoes(u) {
					most, told = max(most, v.StandingOf(u, i)), true
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
			for _, i := range v.Others() {
				if s, ok := v.unitTable(name, i, whole || n == 0); ok {
					out = append(out, UnitSection{s, name})
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
func (v *View) unitTable(name string, i int, whole bool) (layout.Section, bool) {
	g := v.comparison(i, "")
	left := 0 // rows that are left out
	group := ""
	for _, r := range v.Benchmarks {
		u := Unit(r, name)
		if u == nil {
			continue
		}
		if s := v.StandingOf(u, i); !whole && (s == isEqual || s == isSame) {
			left++
			continue
		}
		v.add(&g, r, &group, v.line(v.row(r), u, i, false))
	}
	if len(g.Rows) == 0 {
		return layout.Section{}, false
	}
	if whole {
		if mean, ok := v.geomean(name, i, len(g.Cols)); ok {
			g.Rows = append(g.Rows, mean)
		}
	}
	s := layout.Section{Title: name + v.compared(i)}
	if left > 0 {
		s.Title += fmt.Sprintf(" (the same for %d more)", left)
	}
	v.fitNames(&g, 1)
	s.Grids = []layout.Grid{g}
	return s, true
}

// compared ends a title with which settings a table compares, if there are several.
func (v *View) compared(i int) string {
	if len(v.Settings) < 3 {
		return ""
	}
	return ": " + v.SettingName(i) + " against " + v.SettingName(0)
}

// add adds the row of a benchmark, below the heading of its package if there are several.
func (v *View) add(g *layout.Grid, b *compare.Benchmark, group *string, r layout.Row) {
	if len(v.packages) > 1 && b.Package != *group {
		*group = b.Package
		g.Rows = append(g.Rows, layout.Row{Group: *group})
	}
	g.Rows = append(g.Rows, r)
}

// comparison is an empty table that compares setting i with the baseline; with a
// column for the unit's name if that has a heading.
func (v *View) comparison(i int, of string) layout.Grid {
	g := layout.Grid{
		Signs: true,
		Cols:  []layout.Column{{Left: true}, {Left: true}, {Left: true, Keep: 3}, {Left: true}, {}, {Left: true, Keep: 1}, {}, {Left: true, Keep: 1}, {}, {Left: true}, {Keep: 2}, {Left: true}},
	}
	for _, h := range v.head([]int{0, i}) {
		g.Head = append(g.Head, []string{"", h[0], "", "", h[1], "", h[2], "", "", "", "", ""})
	}
	last := g.Head[len(g.Head)-1]
	last[2] = of
	copy(last[8:], []string{"change", "95% interval", "p", "verdict"})
	return g
}

// line is a row of a comparison.
func (v *View) line(name string, u *compare.Row, i int, named bool) layout.Row {
	base, now := v.median(u, 0), v.median(u, i)
	sc := layout.ScaleOf(u.Name, base.Center, now.Center)
	cs := []layout.Cell{{}, {Text: name}, {}, {Text: sc.Unit}, number(sc, base.Center), {Text: layout.Spread(base.Center, base.Lo, base.Hi), Mark: layout.Faint}, number(sc, now.Center), {Text: layout.Spread(now.Center, now.Lo, now.Hi), Mark: layout.Faint}, {}, {}, {}, v.VerdictCell(u, i)}
	if named {
		cs[2].Text = u.Name
	}
	if x := v.Versus(*u, i); x != nil {
		cs[8] = layout.Cell{Text: v.UnitChange(u, i), Mark: cs[11].Mark}
		if v.StandingOf(u, i) != isEqual {
			cs[9].Text, cs[10].Text = layout.Interval(x.Lo, x.Hi), layout.Pvalue(x.P, 4)
		}
	}
	switch v.StandingOf(u, i) {
	case IsChanged:
		cs[0] = layout.Cell{Text: signChanged, Mark: cs[11].Mark}
	case isUnclear:
		cs[0] = layout.Cell{Text: signUnclear, Mark: layout.Faint}
	}
	return layout.Row{Cells: cs}
}

func number(sc layout.Scale, x float64) layout.Cell {
	if math.IsNaN(x) {
		return layout.Cell{Text: "-", Mark: layout.Faint}
	}
	return layout.Cell{Text: sc.Format(x)}
}

// geomean is the row of the geometric means of the benchmarks that have a ratio, as
// benchstat has it. It is a summary for the eye; no verdict rests on it.
func (v *View) geomean(name string, i, columns int) (layout.Row, bool) {
	var base, now, ratio float64
	n, all := 0, 0
	for k := range v.Benchmarks {
		u := Unit(v.Benchmarks[k], name)
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
		return layout.Row{}, false
	}
	mean := func(sum float64) float64 { return math.Exp(sum / float64(n)) }
	sc := layout.ScaleOf(name, mean(base), mean(now))
	label := "geomean"
	if n < all {
		label += fmt.Sprintf(" of %d", n)
	}
	cs := make([]layout.Cell, columns)
	cs[1], cs[3], cs[4].Text, cs[6].Text, cs[8].Text = layout.Cell{Text: label, Mark: layout.Faint}, layout.Cell{Text: sc.Unit}, sc.Format(mean(base)), sc.Format(mean(now)), layout.Change(mean(ratio))
	return layout.Row{Cells: cs}, true
}

// fitNames makes a table, whose names of benchmarks are in column at, fit the page.
func (v *View) fitNames(g *layout.Grid, at int) {
	g.Cut(at, v.Width, ReadableName)
	g.Narrow(v.Width)
	g.Cut(at, v.Width, leastName)
}

// Differences are the comparisons of setting i that changed or are unclear, in all
// units: those that became worse first.
func (v *View) Differences(i int) (layout.Section, bool) {
	g := v.comparison(i, "unit")
	for _, d := range v.differing(i) {
		g.Rows = append(g.Rows, v.line(v.Called(d.row), d.unit, i, true))
	}
	if len(g.Rows) == 0 {
		return layout.Section{}, false
	}
	v.fitNames(&g, 1)
	return layout.Section{Title: "Changed or unclear" + v.compared(i), Grids: []layout.Grid{g}}, true
}

// Packages is what benchmarks come to in setting i, package by package.
func (v *View) Packages(i int) (layout.Section, bool) {
	return suites.Section(v.Table, i, "Packages"+v.compared(i))
}

// A difference is one comparison that is changed or unclear.
type difference struct {
	row  *compare.Benchmark
	unit *compare.Row
}

// differing returns the benchmarks of setting i that changed, named as in verdicts, then those that are
// unclear.
func (v *View) differing(i int) (out []difference) {
	rows := slices.Clone(v.Benchmarks)
	slices.SortStableFunc(rows, func(a, b *compare.Benchmark) int { return v.ByWeight(a, b, i) })
	for _, want := range []standing{IsChanged, isUnclear} {
		for _, r := range rows {
			for k := range r.Units {
				if u := &r.Units[k]; v.StandingOf(u, i) == want && !v.echoes(u) {
					out = append(out, difference{r, u})
				}
			}
		}
	}
	return out
}

// CountChanged is the number of rows that Differences begins with, which changed.
func (v *View) CountChanged(i int) (n int) {
	for _, d := range v.differing(i) {
		if v.StandingOf(d.unit, i) == IsChanged {
			n++
		}
	}
	return n
}

// mostPlotted are rows of a plot; the tables have all.
const mostPlotted = 24

// Plotted is the plot of what changed or is unclear.
func (v *View) Plotted() (layout.Section, bool) {
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {Left: true, Keep: 1}, {Left: true}}, Head: [][]string{{"", "", ""}}}
	var rows []chart.Interval
	var at []compare.Versus // of each row of the grid; none of headings
	for _, i := range v.Others() {
		begun, more := false, 0
		for _, d := range v.differing(i) {
			x := v.Versus(*d.unit, i)
			if !plot.Drawn(*x) {
				continue
			}
			if len(rows) == mostPlotted {
				more++
				continue
			}
			if !begun && len(v.Settings) > 2 {
				g.Rows, at = append(g.Rows, layout.Row{Group: v.SettingName(i)}), append(at, compare.Versus{})
			}
			begun = true
			name := d.unit.Name
			if name == "sec/op" {
				name = ""
			}
			g.Rows, at = append(g.Rows, layout.Row{Cells: layout.Cells(layout.Middle(v.Called(d.row), ReadableName), name, "")}), append(at, *x)
			rows = append(rows, chart.Interval{Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi})
		}
		if more > 0 {
			g.Rows, at = append(g.Rows, layout.Row{Group: fmt.Sprintf("and %d more of %s", more, v.SettingName(i))}), append(at, compare.Versus{})
		}
	}
	p := plot.New(rows, v.Negligible)
	if p == nil {
		return layout.Section{}, false
	}
	p.Lay(max(plot.Least, min(v.Width-g.Width()-len(layout.Gap), plot.Most)))
	g.Head[0][2] = p.Axis()
	for n := range g.Rows {
		if cs := g.Rows[n].Cells; cs != nil {
			cs[2] = p.Cell(at[n])
		}
	}
	return layout.Section{Title: "Changes and their 95% intervals", Grids: []layout.Grid{g}, Notes: []string{p.Note()}}, true
}

// Medians returns the table of the medians of a single setting.
func (v *View) Medians() (layout.Section, bool) {
	names := v.UnitsOf()
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{""}}}
	for range names {
		g.Cols = append(g.Cols, layout.Column{}, layout.Column{Left: true, Keep: 1})
	}
	for _, name := range names {
		g.Head[0] = append(g.Head[0], name, "")
	}
	group := ""
	for _, r := range v.Benchmarks {
		if len(r.Units) == 0 {
			continue
		}
		cs := []layout.Cell{{Text: v.row(r)}}
		for _, name := range names {
			c, around := layout.Cell{Text: "-", Mark: layout.Faint}, layout.Cell{}
			if u := Unit(r, name); u != nil {
				x := v.median(u, 0)
				if !math.IsNaN(x.Center) {
					c = layout.Cell{Text: layout.ScaleOf(name, x.Center).With(x.Center)}
				}
				around = layout.Cell{Text: layout.Spread(x.Center, x.Lo, x.Hi), Mark: layout.Faint}
			}
			cs = append(cs, c, around)
		}
		v.add(&g, r, &group, layout.Row{Cells: cs})
	}
	v.fitNames(&g, 0)
	return layout.Section{Title: "Medians of the blocks", Grids: []layout.Grid{g}}, len(g.Rows) > 0
}

// BenchLegend explains the words of a comparison of benchmarks.
func (v *View) BenchLegend() string {
	return fmt.Sprintf("Medians are over blocks; changes compare turns side by side, so they can differ from the ratio of the medians. "+
		"Same: surely within ±%s; unclear: the blocks cannot decide. p is adjusted for all looks, intervals are not.", dyno.Fraction(v.Negligible))
}
