package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Stacks draws bars made of parts, from 0 to the right; parts below 0 go to the
// left. names are those of the parts, which are numbered: the numbers stand under
// the parts, where there is room, and in the legend. x prints values of the axis
// and of tips.
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
		for _, t := range ts {
			class := "grid"
			if t.Value == 0 {
				class = "zero"
			}
			d.rule(class, d.at(t.Value), 0, d.at(t.Value), bottom)
		}
		for i, b := range bars {
			d.draw(b, float64(i)*d.row)
		}
		s.tickLabels(ts, d.axis, bottom+s.size+4)
		s.height = bottom + 1.7*s.line()
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
	var names []string
	for _, b := range bars {
		names = append(names, b.Name)
	}
	left := 4.0
	d.row = 26 + d.line()
	if d.narrow {
		d.row += d.line()
	} else {
		d.label = min(widest(d.size, names), 230)
		left = d.label + 12
	}
	d.axis = all.linear(0, left, d.width-12)
	if all.hi > all.lo {
		d.hi += 0.02 * (all.hi - all.lo)
	}
}

func (d *stackDrawing) draw(b Stack, y float64) {
	if d.narrow {
		d.text(0, y+d.size, "label", b.Name, d.width)
		y += d.line()
	} else {
		d.text(0, d.middle(y+14), "label", b.Name, d.label)
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
		tip := fmt.Sprintf("%s, %s: %s (%s%% of the bar)", b.Name, d.name(i), d.format(p), strconv.FormatFloat(share, 'f', 0, 64))
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

func (d *stackDrawing) name(i int) string {
	if i < len(d.names) {
		return d.names[i]
	}
	return "part " + strconv.Itoa(i+1)
}

func (d *stackDrawing) entries(bars []Stack) (out []entry) {
	parts := len(d.names)
	for _, b := range bars {
		parts = max(parts, len(b.Parts))
	}
	for i := range parts {
		has := slices.ContainsFunc(bars, func(b Stack) bool { return i < len(b.Parts) && known(b.Parts[i]) && b.Parts[i] != 0 })
		if !has {
			continue
		}
		out = append(out, entry{14, func(x, y float64) { d.rect("part "+class("p", i), x, y-6, x+14, y+6, "") },
			strconv.Itoa(i+1) + " " + d.name(i)})
	}
	return out
}
