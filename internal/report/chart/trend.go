package chart

import "slices"

// Trend draws a point for each known value, with lines between neighbours. marks are the
// indexes of the points at which something changed. x prints some of the ascending X.
func Trend(l Line, marks []int, x, y Format) SVG {
	n := min(len(l.X), len(l.Y))
	l.X, l.Y = l.X[:n], l.Y[:n]
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
		top := 1.5 * s.line()
		bottom := top + 150
		up := ys.linear(0.08, bottom, top)
		ticks := up.ticks(y, up.down(1.5*s.line()))
		left := s.tickColumn(ticks, 0.3)
		along := xs.linear(0, left+14, s.width-14)
		s.levels(up, ticks, left, left+8, s.width)
		s.course(l, along, up, x, y)
		for _, m := range marks {
			if m >= 0 && m < n && known(l.X[m]) {
				at := along.at(l.X[m])
				s.rule("change", at, top-4, at, bottom)
				s.path("change", form(4, at, top-8, 5), "changed at "+x(l.X[m]))
			}
		}
		room := along.across(s.size * 1.3)
		if l.Scale {
			s.foot(along, along.ticks(x, room), bottom)
		} else {
			s.foot(along, l.ticks(x, room), bottom)
		}
		if len(marks) > 0 {
			s.legend(0.4, []entry{{12, func(x, y float64) { s.path("change", form(4, x+6, y, 5), "") }, "changes here"}})
		}
	})
}

func (s *sheet) course(l Line, along, up axis, x, y Format) {
	pts := make([][2]float64, len(l.X))
	for i := range pts {
		pts[i] = [2]float64{along.at(l.X[i]), up.at(l.Y[i])}
		if !known(l.X[i]) || !known(l.Y[i]) {
			pts[i] = unknown
		}
	}
	for _, run := range runs(pts) {
		if len(run) > 1 {
			s.path("line s0", polyline(run), "")
		}
	}
	r := 3.5
	if len(pts) > 120 {
		r = 2
	}
	for i, p := range pts {
		if p[0] >= 0 {
			title := x(l.X[i]) + ": " + y(l.Y[i])
			if i < len(l.Titles) {
				title = l.Titles[i]
			}
			s.path("dot s0", form(0, p[0], p[1], r), title)
		}
	}
}

// unknown is a point that has no place.
var unknown = [2]float64{-1, -1}

// runs are the points between those that are unknown.
func runs(pts [][2]float64) (all [][][2]float64) {
	from := 0
	for i, p := range append(pts, unknown) {
		if p == unknown {
			if i > from {
				all = append(all, pts[from:i])
			}
			from = i + 1
		}
	}
	return all
}

// ticks label the last point, and evenly as many points before it as there is room for.
func (l Line) ticks(x Format, room fit) (ts []Tick) {
	for every := 1; every <= max(1, len(l.X)); every++ {
		ts = nil
		for i := len(l.X) - 1; i >= 0; i -= every {
			if known(l.X[i]) {
				ts = append(ts, Tick{l.X[i], x(l.X[i])})
			}
		}
		slices.Reverse(ts)
		if room(ts) {
			break
		}
	}
	return ts
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
		along := axis{lo: 0, hi: float64(max(1, len(values)-1)), start: margin, end: width - margin}
		if len(values) == 1 {
			along.lo = -1
		}
		up := ys.linear(0, height-margin, margin)
		pts := make([][2]float64, len(values))
		last := unknown
		for i, v := range values {
			if pts[i] = unknown; known(v) {
				pts[i] = [2]float64{along.at(float64(i)), up.at(v)}
				last = pts[i]
			}
		}
		for _, run := range runs(pts) {
			s.path("line", polyline(run), "")
		}
		s.path("dot", form(0, last[0], last[1], 2), "")
	}
	return SVG(open("chart spark", width, height, "course of "+count(ys.n, "value")) + s.String() + "</svg>")
}
