package tables

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
)

const (
	leastPlot  = 16 // columns of a plot within a table; a narrower one shows nothing
	betterPlot = 24 // that it has at least beside sparklines
	mostPlot   = 60
)

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
	p := v.newPlot(metrics)
	if p == nil {
		return
	}
	g := &sections[0].Grids[0]
	c := v.courses(metrics)
	sparks := v.addCourses(g, c)
	if room := v.Width - g.Width() - len(layout.Gap); room >= leastPlot {
		p.lay(min(room, mostPlot))
		v.addPlot(g, metrics, p)
	} else {
		below := v.plotBelow(metrics, p, c)
		sparks = below.Shows(trialsHead)
		sections[0].Grids = append(sections[0].Grids, below)
	}
	notes := &sections[len(sections)-1].Notes
	*notes = append(*notes, p.note())
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
func (v *View) addPlot(g *layout.Grid, metrics []dyno.Metric, p *plot) {
	g.Add(len(g.Cols), layout.Column{Left: true}, p.axis())
	for n, m := range metrics {
		for i := range v.Settings {
			if r := v.rowOf(n, i); r >= 0 {
				cs := g.Rows[r].Cells
				cs[len(cs)-1] = p.cell(v.Settings[i].Versus[m.Name])
			}
		}
	}
}

// plotBelow is the plot as a table of its own, without the numbers of the other; with
// the courses if there is room, and then with the baseline's.
func (v *View) plotBelow(metrics []dyno.Metric, p *plot, c courses) layout.Grid {
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
				if p.width > 0 {
					plotted = p.cell(v.Settings[i].Versus[m.Name])
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
	p.lay(max(leastPlot, min(v.Width-g.Width()-len(layout.Gap), mostPlot)))
	build()
	g.Head[0][3] = p.axis()
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

// A plot is an axis of logarithms of ratios, in characters.
type plot struct {
	lo, hi     float64
	negligible float64
	width      int
}

// newPlot is the plot of all changes of metrics.
func (v *View) newPlot(metrics []dyno.Metric) *plot {
	var rows []chart.Interval
	for i := range v.Settings {
		for _, m := range metrics {
			if x, ok := v.Settings[i].Versus[m.Name]; ok && drawn(x) {
				rows = append(rows, chart.Interval{Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi})
			}
		}
	}
	return v.plotOf(rows)
}

// plotOf is a plot with room for the changes, nil without changes.
func (v *View) plotOf(rows []chart.Interval) *plot {
	if rows == nil {
		return nil
	}
	p := &plot{negligible: v.Negligible}
	if !(p.negligible < 0.9) {
		p.negligible = 0
	}
	p.lo, p.hi = chart.RatioRange(rows, p.negligible)
	return p
}

// drawn reports whether there is a change to draw.
func drawn(x compare.Versus) bool { return x.Ratio > 0 && !math.IsInf(x.Ratio, 0) && x.Note.Kind == "" }

// lay gives the plot its width, and makes the axis longer by a character, so that no
// change is the middle of one and what is negligible lies alike on both sides.
func (p *plot) lay(width int) {
	p.width = width
	each := math.Log(p.hi/p.lo) / float64(width-1)
	left := math.Ceil(-math.Log(p.lo)/each) + 0.5
	left = min(left, float64(width)-0.5)
	p.lo, p.hi = math.Exp(-each*left), math.Exp(each*(float64(width)-left))
}

// at is the column of a ratio.
func (p *plot) at(ratio float64) int {
	share := math.Log(max(p.lo, min(ratio, p.hi))/p.lo) / math.Log(p.hi/p.lo)
	return min(int(share*float64(p.width)), p.width-1)
}

// axis is the heading of the plot: changes above their columns.
func (p *plot) axis() string {
	place := func(t chart.Tick) int {
		n := utf8.RuneCountInString(t.Label)
		return max(0, min(p.at(t.Value)-n/2, p.width-n))
	}
	ticks := chart.RatioTicks(p.lo, p.hi, func(ts []chart.Tick) bool {
		for i := 1; i < len(ts); i++ {
			if place(ts[i-1])+utf8.RuneCountInString(ts[i-1].Label)+2 > place(ts[i]) {
				return false
			}
		}
		return true
	})
	line := ""
	for _, t := range ticks {
		line += strings.Repeat(" ", max(0, place(t)-utf8.RuneCountInString(line))) + t.Label
	}
	return line
}

// cell draws a change on the ground that all rows have: the line of no change, and
// what is negligible.
func (p *plot) cell(x compare.Versus) layout.Cell {
	line := []rune(strings.Repeat(" ", p.width))
	for i := range line {
		if p.shaded(i) {
			line[i] = '░'
		}
	}
	zero := p.at(1)
	line[zero] = '│'
	if !drawn(x) {
		return layout.Cell{Text: string(line), Mark: layout.Faint}
	}
	if x.Lo >= 0 && x.Hi > 0 && x.Lo <= x.Hi {
		lo, hi := p.at(x.Lo), p.at(x.Hi)
		for i := lo; i <= hi; i++ {
			line[i] = '─'
		}
		if lo < zero && zero < hi {
			line[zero] = '┼'
		}
		line[lo], line[hi] = '├', '┤'
		if x.Lo < p.lo {
			line[lo] = '<'
		}
		if x.Hi > p.hi {
			line[hi] = '>'
		}
	}
	line[p.at(x.Ratio)] = '●'
	if x.Verdict == stats.Unclear {
		line[p.at(x.Ratio)] = '○'
	}
	return layout.Cell{Text: string(line), Mark: layout.MarkOf(x.Verdict)}
}

// shaded reports whether the middle of a column is negligible, as verdicts have it:
// by the same factor down and up.
func (p *plot) shaded(column int) bool {
	change := math.Log(p.lo) + math.Log(p.hi/p.lo)*(float64(column)+0.5)/float64(p.width)
	return math.Abs(change) < math.Log1p(p.negligible) && column != p.at(1)
}

// note explains the plot.
func (p *plot) note() string {
	s := "Plot: ● the change, ○ if unclear, ├─┤ its interval, │ no change"
	negligible := fmt.Sprintf("negligible (±%s)", dyno.Fraction(p.negligible))
	switch zero := p.at(1); {
	case p.negligible == 0:
	case p.shaded(zero-1) || p.shaded(zero+1):
		s += ", ░ " + negligible
	default: // within that one character
		s += " and what is " + negligible
	}
	return s + "; each character is the same factor."
}
