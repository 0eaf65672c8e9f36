package chart

import "math"

// Histograms draws them on one logarithmic axis and one scale of height. The area of a bar is
// its share of the counts, so histograms with different edges or totals can be compared.
func Histograms(hs []Histogram, x Format) SVG {
	var xs spread
	highest := 0.0
	for _, h := range hs {
		for _, b := range h.bars() {
			xs.add(b.from, true)
			xs.add(b.to, true)
			highest = max(highest, b.height)
		}
	}
	if xs.n == 0 {
		return nothing("histograms")
	}
	return draw("histograms", "Histograms of "+count(len(hs), "row"), func(s *sheet) {
		d := histogramDrawing{sheet: s, highest: highest, row: 58, top: 6}
		left := 8.0
		if s.narrow {
			d.row, d.top = 44, s.line()+4
		} else {
			d.label = min(widest(s.size, hs, func(h Histogram) string { return h.Name }), mostLabel)
			left += d.label
		}
		d.axis = xs.logarithmic(0, left, s.width-8)
		ts := d.ticks(x, d.across(s.size))
		bottom := float64(len(hs)) * (d.row + d.top)
		s.columns(d.axis, ts, 0, bottom)
		for i, h := range hs {
			d.draw(i, h, float64(i)*(d.row+d.top))
		}
		s.foot(d.axis, ts, bottom)
	})
}

type histogramDrawing struct {
	*sheet
	axis
	highest         float64
	row, top, label float64
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

func (d *histogramDrawing) draw(i int, h Histogram, y float64) {
	base := y + d.top + d.row
	path, at := "", math.NaN()
	for _, b := range h.bars() {
		x1, x2, top := num(d.at(b.from)), num(d.at(b.to)), num(base-b.height/d.highest*(d.row-2))
		if b.from != at {
			if path != "" {
				path += "V" + num(base) + "Z"
			}
			path += "M" + x1 + " " + num(base)
		}
		path += "V" + top + "H" + x2
		at = b.to
	}
	if path != "" {
		d.path("area "+class("s", i), path+"V"+num(base)+"Z", h.Name)
	}
	d.rule("base", d.start, base, d.end, base)
	d.rowLabel(h.Name, y, base-d.row/3, d.label)
}
