package chart

import "math"

// Histograms draws them on one logarithmic axis and one scale of height. The area of a bar is
// its share of the counts, so histograms with different edges or totals can be compared.
func Histograms(hs []Histogram, x Format) SVG {
	var xs spread
	highest := 0.0
	for _, h := range hs {
		for _, b := range h.bars() {
			xs.add(b.from)
			xs.add(b.to)
			highest = max(highest, b.height)
		}
	}
	if xs.n == 0 {
		return nothing("histograms")
	}
	return draw("histograms", "Histograms of "+count(len(hs), "row"), func(s *sheet) {
		row, top := 58.0, 6.0
		if s.narrow {
			row, top = 44, s.line()+4
		}
		names(s, hs, func(h Histogram) string { return h.Name })
		a := xs.logarithmic(0, 8+s.names, s.width-8)
		s.plot(a, x, float64(len(hs))*(row+top), func() {
			for i, h := range hs {
				y := float64(i) * (row + top)
				base := y + top + row
				if path := h.outline(a, base, (row-2)/highest); path != "" {
					s.path("area "+class("s", i), path, h.Name)
				}
				s.rule("base", a.start, base, a.end, base)
				s.name(h.Name, y, base-row/3)
			}
		})
	})
}

// A bar is a share of counts as a height over the logarithm of its range.
type bar struct{ from, to, height float64 }

// bars leaves out what no logarithmic axis can show. A bar from 0 begins at half its end.
func (h Histogram) bars() (bs []bar) {
	sum := 0.0
	n := min(len(h.Counts), len(h.Edges)-1)
	for i := range n {
		if positive(h.Counts[i]) {
			sum += h.Counts[i]
		}
	}
	for i := range n {
		b := bar{from: h.Edges[i], to: h.Edges[i+1]}
		if b.from <= 0 {
			b.from = b.to / 2
		}
		if !positive(h.Counts[i]) || !positive(b.from) || !positive(b.to) || b.to <= b.from {
			continue
		}
		b.height = h.Counts[i] / sum / math.Log(b.to/b.from)
		if known(b.height) {
			bs = append(bs, b)
		}
	}
	return bs
}

// outline goes around the bars that stand on base; scale is the height of 1.
func (h Histogram) outline(a axis, base, scale float64) (path string) {
	end := math.NaN()
	for _, b := range h.bars() {
		if b.from != end {
			if path != "" {
				path += "V" + num(base) + "Z"
			}
			path += "M" + num(a.at(b.from)) + " " + num(base)
		}
		path += "V" + num(base-b.height*scale) + "H" + num(a.at(b.to))
		end = b.to
	}
	if path != "" {
		path += "V" + num(base) + "Z"
	}
	return path
}
