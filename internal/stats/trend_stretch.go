package stats

import (
	"math"
)

// broken returns the sum of squares that a line with its best step leaves, and its place.
func (l *line) broken() (rest, at float64) {
	straight := dot(l.residual, l.residual)
	rest = straight
	for c := 2; c <= len(l.at)-2; c++ {
		shape := make([]float64, len(l.at))
		for i := c; i < len(shape); i++ {
			shape[i] = 1
		}
		w := l.beside(shape)
		if d := dot(w, l.value); straight-d*d/dot(w, w) < rest {
			rest, at = straight-d*d/dot(w, w), l.at[c]
		}
	}
	return rest, at
}

// from returns the readings of s from lo on and before hi.
func (s series) from(lo, hi float64) series {
	var part series
	for i, at := range s.at {
		if at >= lo && at < hi {
			part.at, part.value = append(part.at, at), append(part.value, s.value[i])
		}
	}
	return part
}

// stretch judges the longer part beside the step at cell c of b, or what follows an end,
// by itself: what the line misses there is no noise.
func (s series) stretch(t *Trend, b series, c int) {
	// Cells beside a step may hold readings from both sides.
	first, end := s.at[0], math.Inf(1)
	from, to := end, first
	if c+1 < len(b.at) {
		from = (b.at[c] + b.at[c+1]) / 2
	}
	if c > 1 && t.Shape == Stepped {
		to = (b.at[c-2] + b.at[c-1]) / 2
	}
	part, where := s.from(from, end), Stretch{AfterStep, t.At}
	if t.Shape == Flattening {
		where.Side = AfterSlow
	} else if to-first > s.at[len(s.at)-1]-from {
		part, where.Side = s.from(first, to), BeforeStep
	}
	if len(part.at) < TrendReadings || part.span() < s.span()/3 {
		return
	}
	sub := TrendOf(part.at, part.value)
	if t.Shape == Flattening && sub.Shape == Untold {
		// What still flattens may be level at last: surely less than would be found.
		last := s.from(first+s.span()*2/3, end)
		if e := TrendOf(last.at, last.value); e.Shape != Growing && 8*math.Abs(e.Slope) < e.Detectable {
			sub = e
		}
	}
	t.Slope, t.Lo, t.Hi = sub.Slope, sub.Lo, sub.Hi
	if !(t.Detectable < sub.Detectable) {
		t.Detectable = sub.Detectable
	}
	switch sub.Shape {
	case Growing:
		t.Shape, t.Shift, t.At, t.Reason = Untold, 0, 0, Reason{Kind: PartGrows, In: []Stretch{where}}
	case Untold:
		t.Shape, t.Shift, t.At, t.Reason = Untold, 0, 0, sub.Reason
		t.Reason.In = append([]Stretch{where}, sub.Reason.In...)
	}
}
