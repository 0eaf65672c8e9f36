package tables

import (
	"math"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/plot"
)

const betterPlot = 24 // columns that a plot has at least beside sparklines

// picture adds to the changes of primary metrics the courses of their trials and a
// plot: in the table of them if the page has room beside it, else below it in a table
// of its own. The sections are those of changes.
//
// Note: not in Markdown, whose cells have no fixed width.
func (v *View) picture(sections []layout.Section) {
	metrics := v.Metrics(true)
	if len(metrics) == 0 || v.Width == math.MaxInt {
		return
	}
	p := v.plotOf(metrics)
	if p == nil {
		return
	}
	g := &sections[0].Grids[0]
	c := v.courses(metrics)
	sparks := v.addCourses(g, c)
	if room := v.Width - g.Width() - len(layout.Gap); room >= plot.Least {
		p.Lay(min(room, plot.Most))
		v.addPlot(g, metrics, p)
	} else {
		below := v.plotBelow(metrics, p, c)
		sparks = below.Shows(trialsHead)
		sections[0].Grids = append(sections[0].Grids, below)
	}
	notes := &sections[len(sections)-1].Notes
	*notes = append(*notes, p.Note())
	if sparks {
		*notes = append(*notes, "Trials: in the order of blocks, how far each is from its setting's median; one scale for all settings of a metric.")
	}
}

const trialsHead = "trials"

// courses are the sparklines of each metric, and how long the longest is.
type courses struct {
	lines   [][]string // by metric and setting
	longest int
}

func (v *View) courses(metrics []dyno.Metric) (c courses) {
	for _, m := range metrics {
		lines := v.sparklines(m.Name)
		for _, l := range lines {
			c.longest = max(c.longest, utf8.RuneCountInString(l))
		}
		c.lines = append(c.lines, lines)
	}
	return c
}

// takes is the room of a column of them.
func (c *courses) takes() int { return max(c.longest, len(trialsHead)) + len(layout.Gap) }

// rowOf is the row of the table of primary metrics that has the n-th of them for
// setting i, or -1 if there is none.
func (v *View) rowOf(n, i int) int {
	if len(v.Settings) > 2 {
		return n*(1+len(v.Settings)) + 1 + i
	}
	if i == 0 { // it is in the same row
		return -1
	}
	return n
}

// addPlot adds the plot as the last column of the table.
func (v *View) addPlot(g *layout.Grid, metrics []dyno.Metric, p *plot.Plot) {
	g.Add(len(g.Cols), layout.Column{Left: true}, p.Axis())
	for n, m := range metrics {
		for i := range v.Settings {
			if r := v.rowOf(n, i); r >= 0 {
				cs := g.Rows[r].Cells
				cs[len(cs)-1] = p.Cell(v.Settings[i].Versus[m.Name])
			}
		}
	}
}

// plotBelow is the plot as a table of its own, without the numbers of the other; with
// the courses if there is room, and then with the baseline's.
func (v *View) plotBelow(metrics []dyno.Metric, p *plot.Plot, c courses) layout.Grid {
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {Left: true}, {Left: true}, {Left: true}}, Head: [][]string{{"", "", "", ""}}}
	first := 1
	build := func() {
		g.Rows = nil
		for n, m := range metrics {
			label, _ := layout.UnitOf(m.Name)
			for i := first; i < len(v.Settings); i++ {
				course := ""
				if first == 0 {
					course = c.lines[n][i]
				}
				var plotted layout.Cell
				if p.Width > 0 {
					plotted = p.Cell(v.Settings[i].Versus[m.Name])
				}
				g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{{Text: label}, {Text: v.SettingName(i)}, {Text: course}, plotted}})
				label = ""
			}
		}
	}
	build()
	if c.longest > 0 && v.Width-g.Width()-len(layout.Gap) >= c.takes()+betterPlot {
		first = 0
		g.Head[0][2] = trialsHead
		build()
	}
	p.Lay(max(plot.Least, min(v.Width-g.Width()-len(layout.Gap), plot.Most)))
	build()
	g.Head[0][3] = p.Axis()
	return g
}

// addCourses adds the courses of the trials to the table, behind the medians, if it
// is whole and leaves room for the plot.
func (v *View) addCourses(g *layout.Grid, c courses) bool {
	at := []int{3} // where columns are put in
	whole := len(g.Cols) == 8
	if len(v.Settings) == 2 {
		at, whole = []int{4, 7}, len(g.Cols) == 11
	}
	if c.longest == 0 || !whole || v.Width-g.Width()-len(layout.Gap) < len(at)*c.takes()+betterPlot {
		return false
	}
	for _, col := range at {
		g.Add(col, layout.Column{Left: true}, trialsHead)
	}
	for n := range c.lines {
		for i := range v.Settings {
			r, col := v.rowOf(n, i), at[0]
			if len(at) == 2 {
				r, col = v.rowOf(n, 1), at[i]
			}
			g.Rows[r].Cells[col] = layout.Cell{Text: c.lines[n][i]}
		}
	}
	return true
}

// newPlot is the plot of all changes of metrics.
func (v *View) plotOf(metrics []dyno.Metric) *plot.Plot {
	var rows []chart.Interval
	for i := range v.Settings {
		for _, m := range metrics {
			if x, ok := v.Settings[i].Versus[m.Name]; ok && plot.Drawn(x) {
				rows = append(rows, chart.Interval{Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi})
			}
		}
	}
	return plot.New(rows, v.Negligible)
}
