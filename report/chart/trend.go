package chart

import (
	"math"
	"slices"
	"strconv"
)

// Trend draws a point for each known value, with lines between neighbours. marks are the
// indexes of the points at which something changed. x prints some of the ascending X.
func Trend(l Line, marks []int, x, y Format) SVG {
	n := min(len(l.X), len(l.Y))
	var xs, ys spread
	for i := range n {
		xs.add(l.X[i])
		if known(l.X[i]) {
			ys.add(l.Y[i])
		}
	}
	if ys.n == 0 {
		return nothing("trend")
	}
	label := "Course of " + count(ys.n, "value")
	if l.Name != "" {
		label = l.Name + ": c" + label[1:]
	}
	return draw("trend", label, func(s *sheet) {
		d := trendDrawing{sheet: s, line: l, n: n}
		plot := 150.0
		top := 1.5 * s.line()
		d.y = ys.linear(0.08, top+plot, top)
		ticks := d.y.ticks(y, d.y.down(1.5*s.line()))
		left := s.tickColumn(ticks, 0.3)
		d.x = xs.linear(0, left+14, s.width-14)
		for _, t := range ticks {
			s.rule("grid", left+8, d.y.at(t.Value), s.width, d.y.at(t.Value))
			s.text(left, s.middle(d.y.at(t.Value)), "tick end", t.Label, left)
		}
		d.draw(x, y)
		for _, m := range marks {
			if m >= 0 && m < n && known(l.X[m]) {
				d.mark(m, x)
			}
		}
		below := d.under
		if l.Scale {
			below = func(x Format) []Tick { return d.x.ticks(x, d.x.across(d.size*1.3)) }
		}
		s.foot(d.x, below(x), top+plot)
		if len(marks) > 0 {
			s.legend(0.4, []entry{{12, func(x, y float64) { s.path("change", form(4, x+6, y, 5), "") }, "from here on it is different"}})
		}
	})
}

type trendDrawing struct {
	*sheet
	line Line
	n    int
	x, y axis
}

func (d *trendDrawing) draw(x, y Format) {
	var run [][2]float64
	flush := func() {
		if len(run) > 1 {
			d.path("line s0", polyline(run), "")
		}
		run = nil
	}
	for i := range d.n {
		if !known(d.line.X[i]) || !known(d.line.Y[i]) {
			flush()
			continue
		}
		run = append(run, [2]float64{d.x.at(d.line.X[i]), d.y.at(d.line.Y[i])})
	}
	flush()
	r := 3.5
	if d.n > 120 {
		r = 2
	}
	for i := range d.n {
		if known(d.line.X[i]) && known(d.line.Y[i]) {
			d.path("dot s0", form(0, d.x.at(d.line.X[i]), d.y.at(d.line.Y[i]), r), x(d.line.X[i])+": "+y(d.line.Y[i]))
		}
	}
}

func (d *trendDrawing) mark(i int, x Format) {
	at := d.x.at(d.line.X[i])
	d.rule("change", at, d.y.end-4, at, d.y.start)
	d.path("change", form(4, at, d.y.end-8, 5), "changed at "+x(d.line.X[i]))
}

// under labels the last point, and evenly as many points before it as there is room for.
func (d *trendDrawing) under(x Format) []Tick {
	room := d.x.across(d.size * 1.3)
	at := func(every int) (ts []Tick) {
		for i := d.n - 1; i >= 0; i -= every {
			if known(d.line.X[i]) {
				ts = append(ts, Tick{d.line.X[i], x(d.line.X[i])})
			}
		}
		slices.Reverse(ts)
		return ts
	}
	for every := 1; every < d.n; every++ {
		if ts := at(every); room(ts) {
			return ts
		}
	}
	return at(max(1, d.n))
}

// Spark draws a line of the size of a word, with a dot at the last value.
func Spark(values []float64) SVG {
	const width, height, margin = 100, 20, 3
	var ys spread
	for _, v := range values {
		ys.add(v)
	}
	s := sheet{width: width, height: height}
	if ys.n > 0 {
		x := axis{lo: 0, hi: float64(max(1, len(values)-1)), start: margin, end: width - margin}
		if len(values) == 1 {
			x.lo = -1
		}
		y := ys.linear(0, height-margin, margin)
		var run [][2]float64
		var last [2]float64
		for i, v := range append(slices.Clone(values), math.NaN()) {
			if known(v) {
				last = [2]float64{x.at(float64(i)), y.at(v)}
				run = append(run, last)
				continue
			}
			if len(run) > 0 {
				s.path("line", polyline(run), "")
			}
			run = nil
		}
		s.path("dot", form(0, last[0], last[1], 2), "")
	}
	return SVG(open("chart spark", width, height, "course of "+strconv.Itoa(ys.n)+" values") + s.String() + "</svg>")
}
