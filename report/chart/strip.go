package chart

import (
	"math"
	"slices"
)

// Strip draws every value as a dot, a row for each setting, and the center as a bar. Dots that
// would cover each other lie side by side. The axis is logarithmic where positive values are
// more than 20 times apart.
func Strip(rows []Row, x Format) SVG {
	var all spread
	for _, r := range rows {
		for _, v := range r.Values {
			all.add(v, false)
		}
		all.add(r.Center, false)
	}
	if all.n == 0 {
		return nothing("strip")
	}
	odd := slices.ContainsFunc(rows, func(r Row) bool { return slices.Contains(r.Odd, true) })
	return draw("strip", "Values of every trial: "+count(len(rows), "row"), func(s *sheet) {
		d := stripDrawing{sheet: s, format: x}
		d.lay(rows, &all)
		ts := d.ticks(x, d.across(s.size))
		bottom := d.heights(rows)
		s.columns(d.axis, ts, 0, bottom)
		y := 0.0
		for i, r := range rows {
			d.draw(i, r, y, d.rows[i])
			y += d.top + d.rows[i]
		}
		s.foot(d.axis, ts, bottom)
		entries := []entry{
			{10, func(x, y float64) { s.path("dot", form(0, x+5, y, 3.5), "") }, "a trial"},
			{10, func(x, y float64) { s.rule("center", x+5, y-7, x+5, y+7) }, "median"},
		}
		if odd {
			entries = append(entries, entry{12, func(x, y float64) { s.path("dot odd", form(3, x+6, y, 4), "") }, "to be looked at"})
		}
		s.height = s.legend(0, s.height+0.5*s.line(), entries) - 0.3*s.line()
	})
}

type stripDrawing struct {
	*sheet
	axis
	format     Format
	label, top float64
	rows       []float64 // heights
	lanes      [][]int   // of each dot: 0 in the middle, 1 above, -1 below …
}

func (d *stripDrawing) lay(rows []Row, all *spread) {
	left := 8.0
	d.top = 2
	if d.narrow {
		d.top = d.line() + 2
	} else {
		d.label = min(widest(d.size, rows, func(r Row) string { return r.Name }), mostLabel)
		left += d.label + 4
	}
	if all.lo > 0 && all.hi/all.lo > 20 {
		d.axis = all.logarithmic(0.03, left, d.width-8)
	} else {
		d.axis = all.linear(0.05, left, d.width-8)
	}
}

// dotApart keeps dots from covering each other.
const dotApart = 8

const mostLanes = 7

func (d *stripDrawing) heights(rows []Row) (sum float64) {
	for _, r := range rows {
		lanes := make([]int, len(r.Values))
		taken := map[int][]float64{}
		most := 0
		for i, v := range r.Values {
			if !known(v) {
				continue
			}
			x := d.at(v)
			best, room := 0, -1.0
			for n := range mostLanes {
				lane := (n + 1) / 2 * (1 - n%2*2)
				free := math.Inf(1)
				for _, other := range taken[lane] {
					free = min(free, math.Abs(other-x))
				}
				if free > room {
					best, room = lane, free
				}
				if free >= dotApart {
					break
				}
			}
			lanes[i] = best
			taken[best] = append(taken[best], x)
			most = max(most, best, -best)
		}
		d.lanes = append(d.lanes, lanes)
		height := max(22, float64(2*most+1)*dotApart+8)
		d.rows = append(d.rows, height)
		sum += d.top + height
	}
	return sum
}

func (d *stripDrawing) draw(i int, r Row, y, height float64) {
	mid := y + d.top + height/2
	d.rule("base", d.start, mid, d.end, mid)
	d.rowLabel(r.Name, y, mid, d.label)
	for n, v := range r.Values {
		if !known(v) {
			continue
		}
		tip := d.format(v)
		if n < len(r.Tips) && r.Tips[n] != "" {
			tip += ", " + r.Tips[n]
		}
		x, at := d.at(v), mid+float64(d.lanes[i][n])*dotApart
		if n < len(r.Odd) && r.Odd[n] {
			d.path("dot odd", form(3, x, at, 4), tip)
			continue
		}
		d.path("dot "+class("s", i), form(0, x, at, 3.5), tip)
	}
	if known(r.Center) {
		half := height/2 - 2
		d.path("center", "M"+num(d.at(r.Center))+" "+num(mid-half)+"v"+num(2*half), "median "+d.format(r.Center))
	}
}
