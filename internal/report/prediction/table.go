// Package prediction writes what package predict foresees: as text for a terminal, as JSON, and as a page.
//
// It has the sentences of predictions. Doubts are package words'.
package prediction

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A column is one quantity of all rows.
type column struct {
	head     string
	metric   string  // for the scale
	times    float64 // of the value
	unit     string  // "" for that of the scale
	per      bool    // of a request or a minute
	bare     bool    // without intervals
	keep     int     // as layout.Column has it
	of       func(*predict.Row) gcmodel.Estimate
	measured func(*predict.Window) float64
	scale    layout.Scale
}

// columns are those of which something is known.
func columns(f *predict.Forecast) []column {
	all := []column{
		{head: "GCs per", times: 1000, unit: "1,000 req",
			of:       func(r *predict.Row) gcmodel.Estimate { return r.Cycles },
			measured: func(w *predict.Window) float64 { return float64(len(w.Cycles)) / w.Requests }},
		{head: "GC CPU,", metric: "-sec", per: true,
			of:       func(r *predict.Row) gcmodel.Estimate { return r.GCCPU },
			measured: func(w *predict.Window) float64 { return w.GCCPU / w.Requests }},
		{head: "CPU,", metric: "-sec", per: true, keep: 2,
			of:       func(r *predict.Row) gcmodel.Estimate { return r.CPU },
			measured: func(w *predict.Window) float64 { return w.CPU / w.Requests }},
		{head: "heap peak,", metric: "-B",
			of:       func(r *predict.Row) gcmodel.Estimate { return r.HeapPeak },
			measured: func(w *predict.Window) float64 { return w.HeapPeak }},
		{head: "RSS peak,", metric: "-B",
			of:       func(r *predict.Row) gcmodel.Estimate { return r.RSSPeak },
			measured: func(w *predict.Window) float64 { return w.RSSPeak }},
		{head: "meet a GC,", times: 1000, unit: "of 1,000", bare: true, keep: 1,
			of: func(r *predict.Row) gcmodel.Estimate { return r.Met },
			measured: func(w *predict.Window) float64 {
				if f.Tail == nil || w.Setting != f.Tail.Setting {
					return math.NaN()
				}
				return f.Tail.Met
			}},
	}
	if f.Per == predict.Minute {
		all[0].unit, all[0].times = "minute", 1
	}
	var cs []column
	of := map[string][]float64{} // values of columns in one unit: those of memory, and each other
	for _, c := range all {
		if c.times == 0 {
			c.times = 1
		}
		n := 0
		for i := range f.Rows {
			if x := c.of(&f.Rows[i]).Value; known(x) {
				of[c.unitOf()] = append(of[c.unitOf()], c.times*x)
				n++
			}
		}
		if n > 0 {
			cs = append(cs, c)
		}
	}
	for i := range cs {
		c := &cs[i]
		c.scale = scale(c.metric, of[c.unitOf()])
		if c.unit == "" {
			c.unit = c.scale.Unit
		}
		if c.per {
			c.unit += map[predict.Per]string{predict.Request: "/req", predict.Minute: "/min"}[f.Per]
		}
	}
	return cs
}

// unitOf names what columns have in common that are in one unit.
func (c *column) unitOf() string {
	if c.metric == "-B" {
		return c.metric
	}
	return c.head
}

// scale has the unit of the median of xs, of which it prints three digits: an interval of some per cent is
// not told in more. The least has a digit, if it takes no more than three decimals.
func scale(metric string, xs []float64) layout.Scale {
	xs = slices.Sorted(slices.Values(xs))
	s := layout.ScaleOf(metric, xs[len(xs)/2])
	digits := func(x float64, n int) int {
		if x <= 0 {
			return 0
		}
		return n - 1 - int(math.Floor(math.Log10(x/s.Factor)))
	}
	s.Decimals = min(3, max(0, digits(xs[len(xs)/2], 3), digits(xs[0], 1)))
	return s
}

func known(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// A table is the rows of a forecast as a grid, with the letters of its doubts.
type table struct {
	grid    layout.Grid
	letters []gcmodel.Doubt // of some rows, in the order of their letters
	common  []gcmodel.Doubt // of all rows
	limited bool            // some row has this mark
	spiral  bool
	room    bool // for measured values
}

// newTable lays out a table. Measured values stand below the row that they belong to, or only a mark if
// there is no room for them.
func newTable(f *predict.Forecast, room bool) *table {
	t := &table{room: room}
	t.doubts(f)
	cs := columns(f)
	head := [][]string{{"", ""}, {"GOGC", "limit"}}
	for _, c := range cs {
		head[0], head[1] = append(head[0], c.head), append(head[1], c.unit)
	}
	t.grid = layout.Grid{Cols: make([]layout.Column, len(cs)+3), Head: [][]string{append(head[0], ""), append(head[1], "")}}
	t.grid.Cols[0].Left, t.grid.Cols[1].Left, t.grid.Cols[len(cs)+2].Left = true, true, true
	for i, c := range cs {
		t.grid.Cols[i+2].Keep = c.keep
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		cells := layout.Cells(predict.GOGC(r.Setting), predict.Limit(r.Setting))
		for _, c := range cs {
			e := c.of(r)
			cells = append(cells, layout.Cell{Text: c.cell(e.Value, layout.Spread(e.Value, e.Lo, e.Hi))})
		}
		cells = append(cells, t.marks(r))
		t.grid.Rows = append(t.grid.Rows, layout.Row{Cells: cells})
		if r.Measured == nil || !room {
			continue
		}
		cells = layout.Cells("", "measured")
		for _, c := range cs {
			text := ""
			if x := c.measured(r.Measured); known(x) {
				text = c.cell(x, "")
			}
			cells = append(cells, layout.Cell{Text: text, Mark: layout.Faint})
		}
		t.grid.Rows = append(t.grid.Rows, layout.Row{Cells: append(cells, layout.Cell{})})
	}
	return t
}

// cell is a value and how far its interval reaches, so that values stand below each other.
func (c *column) cell(x float64, spread string) string {
	switch {
	case c.bare:
		return c.scale.Format(c.times * x)
	case spread == "±0%":
		spread = "<±1%"
	}
	return fmt.Sprintf("%s %-5s", c.scale.Format(c.times*x), spread)
}

// doubts gives letters to those that not all rows have.
func (t *table) doubts(f *predict.Forecast) {
	count := map[gcmodel.Doubt]int{}
	var order []gcmodel.Doubt
	for i := range f.Rows {
		for _, d := range f.Rows[i].Doubts {
			if count[d]++; count[d] == 1 {
				order = append(order, d)
			}
		}
	}
	for _, d := range order {
		if count[d] == len(f.Rows) {
			t.common = append(t.common, d)
		} else {
			t.letters = append(t.letters, d)
		}
	}
}

// marks says what a row is besides its figures.
func (t *table) marks(r *predict.Row) layout.Cell {
	var c layout.Cell
	var words []string
	if r.Measured != nil && !t.room {
		words = append(words, "measured")
	}
	switch {
	case r.Spiral:
		words, c.Mark, t.spiral = append(words, "spiral"), layout.Bad, true
	case r.Limited && !math.IsInf(r.GOGC, 1): // with GOGC=off there is nothing else
		words, t.limited = append(words, "limited"), true
	}
	for i, d := range t.letters {
		if slices.Contains(r.Doubts, d) {
			words = append(words, letter(i))
		}
	}
	c.Text = strings.Join(words, " ")
	return c
}

// letter is that of a doubt.
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return strconv.Itoa(i)
}
