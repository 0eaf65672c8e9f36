package chart

import (
	"math"
	"slices"
)

// A Spot is a point with the intervals of its values. Bounds that are not known are not drawn.
type Spot struct {
	Label string // beside it, where there is room
	Tip   string
	X, Y  Extent
}

// An Extent is a value with its bounds.
type Extent struct{ Value, Lo, Hi float64 }

// At is a value whose bounds are not known.
func At(x float64) Extent { return Extent{x, math.NaN(), math.NaN()} }

// A Cloud is spots of one kind.
type Cloud struct {
	Name   string
	Spots  []Spot
	Joined bool // by a line, in their order
}

// Scatter draws two positive quantities against each other, both on a logarithmic axis. Spots without a
// place on them are left out.
func Scatter(clouds []Cloud, xName, yName string, x, y Format) SVG {
	var xs, ys spread
	for _, c := range clouds {
		for _, p := range c.Spots {
			if p.placed() {
				for _, v := range []float64{p.X.Value, p.X.Lo, p.X.Hi} {
					xs.add(bounded(v, p.X.Value))
				}
				for _, v := range []float64{p.Y.Value, p.Y.Lo, p.Y.Hi} {
					ys.add(bounded(v, p.Y.Value))
				}
			}
		}
	}
	if xs.n == 0 {
		return nothing("scatter")
	}
	return draw("scatter", yName+" against "+xName+": "+count(xs.n/3, "point"), func(s *sheet) {
		d := scatterDrawing{sheet: s}
		d.lay(&xs, &ys, x, y)
		s.text(0, s.size, "faint", yName+" ↑", s.width)
		for i, c := range clouds {
			d.cloud(i, c)
		}
		for i, c := range clouds {
			d.labels(i, c)
		}
		s.text(s.width, s.height-0.2*s.line(), "faint end", xName+" →", s.width)
		s.height += 0.4 * s.line()
		d.explain(clouds)
	})
}

// placed reports whether a spot has a place on logarithmic axes.
func (p *Spot) placed() bool { return positive(p.X.Value) && positive(p.Y.Value) }

// farBound limits how much longer bounds make an axis, as a factor of the value.
const farBound = 3

// bounded is a bound of x, or x itself if the bound is not known.
func bounded(bound, x float64) float64 {
	if math.IsNaN(bound) {
		return x
	}
	return max(x/farBound, min(bound, x*farBound))
}

type scatterDrawing struct {
	*sheet
	x, y  axis
	taken [][4]float64 // boxes in which something is: left, top, right, bottom
}

func (d *scatterDrawing) lay(xs, ys *spread, x, y Format) {
	top := 1.8 * d.line()
	height := 340.0
	if d.narrow {
		height = 250
	}
	d.y = ys.logarithmic(0.06, top+height, top)
	up := d.y.ticks(y, d.y.down(1.8*d.line()))
	left := d.tickColumn(up, 0.25) + 2
	d.x = xs.logarithmic(0.06, left+6, d.width-12)
	along := d.x.ticks(x, d.x.across(d.size))
	d.levels(d.y, up, left, d.x.start, d.x.end)
	d.columns(d.x, along, top, top+height)
	d.foot(d.x, along, top+height)
	d.height += d.line()
}

func (d *scatterDrawing) cloud(i int, c Cloud) {
	var pts [][2]float64
	for _, p := range c.Spots {
		if p.placed() {
			pts = append(pts, [2]float64{d.x.at(p.X.Value), d.y.at(p.Y.Value)})
		}
	}
	if c.Joined && len(pts) > 1 {
		d.path("line "+class("s", i), polyline(pts), c.Name)
	}
	for _, p := range c.Spots {
		if !p.placed() {
			continue
		}
		x, y := d.x.at(p.X.Value), d.y.at(p.Y.Value)
		if positive(p.X.Lo) && positive(p.X.Hi) {
			d.rule("lead "+class("s", i), d.x.at(p.X.Lo), y, d.x.at(p.X.Hi), y)
		}
		if positive(p.Y.Lo) && positive(p.Y.Hi) {
			d.rule("lead "+class("s", i), x, d.y.at(p.Y.Lo), x, d.y.at(p.Y.Hi))
		}
		d.path(formClass(i), form(i, x, y, 4), p.Tip)
		d.taken = append(d.taken, [4]float64{x - 5, y - 5, x + 5, y + 5})
	}
}

// labels writes those for which there is room above, below, right or left of their spot.
func (d *scatterDrawing) labels(i int, c Cloud) {
	for _, p := range c.Spots {
		if !p.placed() || p.Label == "" {
			continue
		}
		x, y, w := d.x.at(p.X.Value), d.y.at(p.Y.Value), textWidth(clean(p.Label), d.size)
		for _, at := range [][2]float64{{x + 7, y - 0.5*d.size}, {x + 7, y + 0.9*d.size}, {x - 7 - w, y + 0.9*d.size}, {x - 7 - w, y - 0.5*d.size}} {
			box := [4]float64{at[0], at[1] - 0.5*d.size, at[0] + w, at[1] + 0.5*d.size}
			if box[0] < d.x.start || box[2] > d.width || box[1] < d.y.end || box[3] > d.y.start || slices.ContainsFunc(d.taken, func(t [4]float64) bool { return meet(t, box) }) {
				continue
			}
			d.text(at[0], d.middle(at[1]), "name "+class("s", i), p.Label, d.width)
			d.taken = append(d.taken, box)
			break
		}
	}
}

// meet reports whether two boxes share a place.
func meet(a, b [4]float64) bool {
	return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

func (d *scatterDrawing) explain(clouds []Cloud) {
	var entries []entry
	for i, c := range clouds {
		if slices.ContainsFunc(c.Spots, func(p Spot) bool { return p.placed() }) {
			entries = append(entries, entry{12, func(x, y float64) { d.path(formClass(i), form(i, x+6, y, 4), "") }, c.Name})
		}
	}
	d.legend(0.5, entries)
}
