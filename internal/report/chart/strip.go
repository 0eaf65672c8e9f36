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
			all.add(v)
		}
		all.add(r.Center)
	}
	if all.n == 0 {
		return nothing("strip")
	}
	odd := slices.ContainsFunc(rows, func(r Row) bool { return slices.Contains(r.Odd, true) })
	return draw("strip", "Values of every trial: "+count(len(rows), "row"), func(s *sheet) {
		left, top := 8.0, s.line()+2
		if names(s, rows, func(r Row) string { return r.Name }); !s.narrow {
			left, top = s.names+12, 2
		}
		a := all.linear(0.05, left, s.width-8)
		if all.lo > 0 && all.hi/all.lo > 20 {
			a = all.logarithmic(0.03, left, s.width-8)
		}
		lanes := make([][]int, len(rows))
		heights := make([]float64, len(rows))
		bottom := 0.0
		for i, r := range rows {
			lanes[i], heights[i] = r.lanes(a)
			bottom += top + heights[i]
		}
		s.plot(a, x, bottom, func() {
			y := 0.0
			for i, r := range rows {
				mid := y + top + heights[i]/2
				s.rule("base", a.start, mid, a.end, mid)
				s.name(r.Name, y, mid)
				s.dots(a, i, r, lanes[i], mid, x)
				if known(r.Center) {
					half := heights[i]/2 - 2
					s.path("center", "M"+num(a.at(r.Center))+" "+num(mid-half)+"v"+num(2*half), "median "+x(r.Center))
				}
				y += top + heights[i]
			}
		})
		entries := []entry{
			{10, func(x, y float64) { s.path("dot", form(0, x+5, y, 3.5), "") }, "a trial"},
			{10, func(x, y float64) { s.rule("center", x+5, y-7, x+5, y+7) }, "median"},
		}
		if odd {
			entries = append(entries, entry{12, func(x, y float64) { s.path("dot odd", form(3, x+6, y, 4), "") }, "with warnings"})
		}
		s.legend(0.5, entries)
	})
}

// dotApart keeps dots from covering each other.
const dotApart = 8

const mostLanes = 7

// lanes returns the lane of each dot of r: 0 in the middle, 1 above, -1 below …
func (r Row) lanes(a axis) (lanes []int, height float64) {
	lanes = make([]int, len(r.Values))
	taken := map[int][]float64{}
	most := 0
	for i, v := range r.Values {
		if !known(v) {
			continue
		}
		x := a.at(v)
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
	return lanes, max(22, float64(2*most+1)*dotApart+8)
}

func (s *sheet) dots(a axis, row int, r Row, lanes []int, mid float64, x Format) {
	for n, v := range r.Values {
		if !known(v) {
			continue
		}
		tip := x(v)
		if n < len(r.Tips) && r.Tips[n] != "" {
			tip += ", " + r.Tips[n]
		}
		at, y := a.at(v), mid+float64(lanes[n])*dotApart
		if n < len(r.Odd) && r.Odd[n] {
			s.path("dot odd", form(3, at, y, 4), tip)
			continue
		}
		s.path("dot "+class("s", row), form(0, at, y, 3.5), tip)
	}
}
