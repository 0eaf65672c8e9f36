package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Stacks draws bars made of parts from 0 to the right, or to the left if negative. The parts
// have names, and numbers that the legend explains. x prints values.
func Stacks(names []string, bars []Stack, x Format) SVG {
	var all spread
	for _, b := range bars {
		for _, side := range b.sides() {
			all.add(side, false)
		}
		all.add(b.Mark, false)
	}
	if all.n == 0 {
		return nothing("stacks")
	}
	all.add(0, false)
	return draw("stacks", "Parts of "+count(len(bars), "bar"), func(s *sheet) {
		d := stackDrawing{sheet: s, names: names, format: x}
		d.lay(bars, &all)
		bottom := float64(len(bars)) * d.row
		ts := d.ticks(x, d.across(s.size))
		s.columns(d.axis, ts, 0, bottom)
		for i, b := range bars {
			d.draw(b, float64(i)*d.row)
		}
		s.foot(d.axis, ts, bottom)
		s.height = s.legend(0, s.height+0.6*s.line(), d.entries(bars)) - 0.3*s.line()
	})
}

func (b Stack) sides() (sums [2]float64) {
	for _, p := range b.Parts {
		switch {
		case !known(p):
		case p < 0:
			sums[0] += p
		default:
			sums[1] += p
		}
	}
	return sums
}

type stackDrawing struct {
	*sheet
	axis
	names      []string
	format     Format
	label, row float64
}

func (d *stackDrawing) lay(bars []Stack, all *spread) {
	left := 4.0
	d.row = 26 + d.line()
	if d.narrow {
		d.row += d.line()
	} else {
		d.label = min(widest(d.size, bars, func(b Stack) string { return b.Name }), mostLabel)
		left = d.label + 12
	}
	d.axis = all.linear(0, left, d.width-12)
	d.origin = new(float64)
	if all.hi > all.lo {
		d.hi += 0.02 * (all.hi - all.lo)
	}
}

func (d *stackDrawing) draw(b Stack, y float64) {
	d.rowLabel(b.Name, y, y+14, d.label)
	if d.narrow {
		y += d.line()
	}
	const top, thick = 4, 20
	sums := b.sides()
	at := [2]float64{}
	for i, p := range b.Parts {
		if !known(p) || p == 0 {
			continue
		}
		side := 1
		if p < 0 {
			side = 0
		}
		from, to := at[side], at[side]+p
		at[side] = to
		x1, x2 := d.at(from), d.at(to)
		share := math.Abs(p) / (sums[1] - sums[0]) * 100
		tip := fmt.Sprintf("%s, %s: %s (%s%% of the bar)", b.Name, d.names[i], d.format(p), strconv.FormatFloat(share, 'f', 0, 64))
		d.rect("part "+class("p", i), x1, y+top, x2, y+top+thick, tip)
		key := strconv.Itoa(i + 1)
		if w := textWidth(key, d.size); math.Abs(x2-x1) >= w+2 {
			d.text((x1+x2)/2, y+top+thick+d.size, "key mid", key, w+1)
		}
	}
	if known(b.Mark) {
		x := d.at(b.Mark)
		d.rule("halo", x, y, x, y+thick+8)
		d.path("across", "M"+num(x)+" "+num(y)+"v"+num(thick+8), b.Name+": "+d.format(b.Mark))
	}
}

func (d *stackDrawing) entries(bars []Stack) (out []entry) {
	for i, name := range d.names {
		has := slices.ContainsFunc(bars, func(b Stack) bool { return i < len(b.Parts) && known(b.Parts[i]) && b.Parts[i] != 0 })
		if !has {
			continue
		}
		out = append(out, entry{14, func(x, y float64) { d.rect("part "+class("p", i), x, y-6, x+14, y+6, "") },
			strconv.Itoa(i+1) + " " + name})
	}
	return out
}
