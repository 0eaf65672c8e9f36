package chart

import (
	"fmt"
	"slices"
	"strconv"
)

// Stacks draws bars made of parts from 0 to the right. The parts have names, and numbers that
// the legend explains. x prints values.
func Stacks(parts []string, bars []Stack, x Format) SVG {
	var all spread
	for _, b := range bars {
		all.add(b.sum())
		all.add(b.Mark)
	}
	if all.n == 0 {
		return nothing("stacks")
	}
	all.add(0)
	return draw("stacks", "Parts of "+count(len(bars), "bar"), func(s *sheet) {
		left, row := 4.0, 26+s.line()
		if names(s, bars, func(b Stack) string { return b.Name }); s.narrow {
			row += s.line()
		} else {
			left = s.names + 12
		}
		a := all.linear(0, left, s.width-12)
		a.origin = new(float64)
		if all.hi > all.lo {
			a.hi += 0.02 * (all.hi - all.lo)
		}
		s.plot(a, x, float64(len(bars))*row, func() {
			for i, b := range bars {
				s.stack(a, parts, b, float64(i)*row, x)
			}
		})
		var entries []entry
		for i, name := range parts {
			if slices.ContainsFunc(bars, func(b Stack) bool { return i < len(b.Parts) && positive(b.Parts[i]) }) {
				entries = append(entries, entry{14, func(x, y float64) { s.rect("part "+class("p", i), x, y-6, x+14, y+6, "") },
					strconv.Itoa(i+1) + " " + name})
			}
		}
		s.legend(0.6, entries)
	})
}

func (b Stack) sum() (sum float64) {
	for _, p := range b.Parts {
		if positive(p) {
			sum += p
		}
	}
	return sum
}

func (s *sheet) stack(a axis, parts []string, b Stack, y float64, x Format) {
	s.name(b.Name, y, y+14)
	if s.narrow {
		y += s.line()
	}
	const top, thick = 4, 20
	sum, at := b.sum(), 0.0
	for i, p := range b.Parts {
		if !positive(p) {
			continue
		}
		x1, x2 := a.at(at), a.at(at+p)
		at += p
		s.rect("part "+class("p", i), x1, y+top, x2, y+top+thick, fmt.Sprintf("%s, %s: %s (%.0f%% of the bar)", b.Name, parts[i], x(p), p/sum*100))
		key := strconv.Itoa(i + 1)
		if w := textWidth(key, s.size); x2-x1 >= w+2 {
			s.text((x1+x2)/2, y+top+thick+s.size, "key mid", key, w+1)
		}
	}
	if known(b.Mark) {
		mark := a.at(b.Mark)
		s.rule("halo", mark, y, mark, y+thick+8)
		s.path("across", "M"+num(mark)+" "+num(y)+"v"+num(thick+8), b.Name+": "+x(b.Mark))
	}
}
