package tables

import (
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/plot"
)

// picture adds a plot to the changes of primary metrics: beside their table if the page has room, else in a
// table below it. sections are those of Changes.
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
	if room := v.Width - g.Width() - len(layout.Gap); room >= plot.Least {
		p.Lay(min(room, plot.Most))
		v.addPlot(g, metrics, p)
	} else {
		sections[0].Grids = append(sections[0].Grids, v.plotBelow(metrics, p))
	}
	notes := &sections[len(sections)-1].Notes
	*notes = append(*notes, p.Note())
}

// addPlot adds the plot as the last column of the table of primary metrics.
func (v *View) addPlot(g *layout.Grid, metrics []dyno.Metric, p *plot.Plot) {
	g.Add(len(g.Cols), layout.Column{Left: true}, p.Axis())
	for n, m := range metrics {
		for i := range v.Settings {
			// primary makes a heading for each metric, then a row for each setting.
			row := n*(1+len(v.Settings)) + 1 + i
			if len(v.Settings) == 2 { // the baseline is in the same row
				row, i = n, 1
			}
			cs := g.Rows[row].Cells
			cs[len(cs)-1] = p.Cell(v.Settings[i].Versus[m.Name])
		}
	}
}

// plotBelow is the plot as a table of its own, without the numbers of the other.
func (v *View) plotBelow(metrics []dyno.Metric, p *plot.Plot) layout.Grid {
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {Left: true}, {Left: true}}, Head: [][]string{{"", "", ""}}}
	var changes []compare.Versus // of each row
	for _, m := range metrics {
		label, _ := layout.UnitOf(m.Name)
		for _, i := range v.Others() {
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(label, v.SettingName(i), "")})
			changes = append(changes, v.Settings[i].Versus[m.Name])
			label = ""
		}
	}
	p.Lay(max(plot.Least, min(v.Width-g.Width()-len(layout.Gap), plot.Most)))
	g.Head[0][2] = p.Axis()
	for n, x := range changes {
		g.Rows[n].Cells[2] = p.Cell(x)
	}
	return g
}

// plotOf is the plot of all changes of metrics.
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
