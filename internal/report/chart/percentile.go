package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Percentiles draws how slow the slowest were, as HdrHistogram does. X are quantiles from 0 to
// below 1, drawn at 1/(1-X), so that every nine has the same room. Y are positive. Both axes
// are logarithmic, and points elsewhere are left out.
func Percentiles(lines []Line, y Format) SVG {
	var xs, ys spread
	for _, l := range lines {
		for _, p := range l.quantiles() {
			xs.add(p[0])
			ys.add(p[1])
		}
	}
	if ys.n == 0 {
		return nothing("percentiles")
	}
	return draw("percentiles", "Percentiles of "+count(len(lines), "line"), func(s *sheet) {
		room := widest(s.size, lines, func(l Line) string { return l.Name }) + 20
		d := percentileDrawing{sheet: s, direct: !s.narrow || room <= 110}
		plot := 340.0
		if s.narrow {
			plot = 230
		}
		if d.direct {
			room = min(room, s.width*0.34)
			plot = max(plot, float64(len(lines))*s.line())
		} else {
			room = 12
		}
		top := 1.6 * s.line()
		d.y = ys.logarithmic(0.04, top+plot, top)
		slow := d.y.ticks(y, d.y.down(2*s.line()))
		left := s.tickColumn(slow, 0.25) + 2
		d.x = axis{lo: 0, hi: max(1, xs.hi), start: left + 6, end: s.width - room}
		s.height = top + plot + 2*s.line()
		s.levels(d.y, slow, left, d.x.start, d.x.end)
		s.text(0, s.size, "faint", "slower ↑", s.width/2)
		ts := d.percents()
		s.columns(d.x, ts, top, top+plot)
		s.tickLabels(ts, d.x, top+plot+s.size+5)
		d.draw(lines)
	})
}

// quantiles are the points that have a place, with the number of nines as X: the maximum
// would be infinitely far.
func (l Line) quantiles() (pts [][2]float64) {
	for i := range min(len(l.X), len(l.Y)) {
		if p := l.X[i]; p >= 0 && p <= 1-1e-12 && positive(l.Y[i]) {
			pts = append(pts, [2]float64{nines(p), l.Y[i]})
		}
	}
	return pts
}

// nines is log10 of 1/(1-p): how many nines p has.
func nines(p float64) float64 { return -math.Log10(1 - p) }

type percentileDrawing struct {
	*sheet
	x, y   axis
	direct bool // labels at the ends of lines; else a legend below
}

func (d *percentileDrawing) percents() (ts []Tick) {
	room := d.x.across(d.size * 0.8)
	all := []Tick{{0, "0%"}, {nines(0.5), "50%"}}
	for n := 1; float64(n) <= d.x.hi+1e-9; n++ {
		all = append(all, Tick{float64(n), strconv.FormatFloat(100*(1-math.Pow10(-n)), 'f', max(0, n-2), 64) + "%"})
	}
	for _, t := range all {
		if room(append(slices.Clone(ts), t)) {
			ts = append(ts, t)
		}
	}
	return ts
}

func (d *percentileDrawing) draw(lines []Line) {
	var ends []end
	for i, l := range lines {
		var pts [][2]float64
		for _, p := range l.quantiles() {
			pts = append(pts, [2]float64{d.x.at(p[0]), d.y.at(p[1])})
		}
		if len(pts) == 0 {
			continue
		}
		d.path("line "+class("s", i), polyline(pts), l.Name)
		d.marks(i, pts)
		last := pts[len(pts)-1]
		ends = append(ends, end{i, l.Name, last[0], last[1]})
	}
	if d.direct {
		d.label(ends)
		return
	}
	var entries []entry
	for _, e := range ends {
		entries = append(entries, entry{28, func(x, y float64) {
			d.rule("line "+class("s", e.i), x, y, x+28, y)
			d.path(formClass(e.i), form(e.i, x+14, y, 3.5), "")
		}, e.name})
	}
	d.legend(0, entries)
	d.height += 0.3 * d.line()
}

// marks puts the line's form on it at its last point and at half and whole nines.
func (d *percentileDrawing) marks(i int, pts [][2]float64) {
	for n := 0.5; n <= d.x.hi; n += 0.5 {
		x := d.x.at(n)
		at := slices.IndexFunc(pts, func(p [2]float64) bool { return p[0] >= x })
		if at <= 0 {
			continue
		}
		a, b := pts[at-1], pts[at]
		y := b[1]
		if b[0] > a[0] {
			y = a[1] + (b[1]-a[1])*(x-a[0])/(b[0]-a[0])
		}
		d.path(formClass(i), form(i, x, y, 3.5), "")
	}
	last := pts[len(pts)-1]
	d.path(formClass(i), form(i, last[0], last[1], 3.5), "")
}

type end struct {
	i    int
	name string
	x, y float64
}

// label writes the names beside the ends of the lines. Names are moved apart, and a thin line leads to those that moved.
func (d *percentileDrawing) label(ends []end) {
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	ys := make([]float64, len(ends))
	for i, e := range ends {
		ys[i] = e.y
	}
	apart(ys, d.line(), d.y.end, d.y.start)
	x := d.x.end + 18
	for i, e := range ends {
		if math.Abs(ys[i]-e.y) > 2 || e.x < d.x.end-2 {
			d.rule("lead "+class("s", e.i), e.x+6, e.y, x-3, ys[i])
		}
		d.text(x, d.middle(ys[i]), "name "+class("s", e.i), e.name, d.width-x)
	}
}

// apart moves ascending places until neighbours have a gap and all lie between top and bottom, if possible.
func apart(ys []float64, gap, top, bottom float64) {
	least := top
	for i := range ys {
		ys[i] = max(ys[i], least)
		least = ys[i] + gap
	}
	most := bottom
	for i := range slices.Backward(ys) {
		ys[i] = min(ys[i], most)
		most = ys[i] - gap
	}
}
