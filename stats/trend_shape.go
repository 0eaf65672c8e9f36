package stats

import (
	"fmt"
	"math"
	"slices"
)

// name says what a series does that does not grow steadily as a whole.
func (s series) name(t *Trend, b series, l line, j judgement, r TrendRule) {
	f := s.bins(8 * finest)
	falls, rises, depth := f.teeth(l)
	if len(falls) >= teeth {
		f.saw(t, falls, depth, r)
		return
	}
	if len(falls) > 0 && rises > 0 {
		t.Shape, t.Reason = Untold, fmt.Sprintf("it falls back only %d times, and the lows of %d falls are needed", len(falls), teeth)
		return
	}
	if b.ends(t, l, r) {
		return
	}
	if math.Abs(l.slope) <= max(l.half(2*r.alpha()), 1e-9*l.scale()) {
		t.Shape = Level
		return
	}
	verb := "grows"
	if l.slope < 0 {
		verb = "falls"
	}
	t.Shape = Untold
	switch {
	case math.Abs(l.slope) < max(j.steps, j.guard):
		t.Reason = "it " + verb + ", but too little for its noise and length to tell whether steadily"
	case !l.lasts(r):
		t.Reason = "it " + verb + ", but less towards its end, and may be flattening"
	default:
		t.Reason = "it " + verb + ", but jumps back at one end"
	}
}

// teeth returns the places of the lows after each large fall of s, the number of large
// rises, and the usual depth of a fall. Large is a large part of the range about l, and
// far more than the readings differ from one to the next.
func (s series) teeth(l line) (lows []int, rises int, depth float64) {
	n := len(s.at)
	off, next := make([]float64, n), make([]float64, 0, n)
	for i := range off {
		off[i] = s.value[i] - l.slope*(s.at[i]-s.at[0])
		if i > 0 {
			next = append(next, math.Abs(off[i]-off[i-1]))
		}
	}
	sorted := slices.Clone(off)
	slices.Sort(sorted)
	large := max(0.4*(sorted[n-1]-sorted[0]), 6*1.4826*medianIn(next))
	if !(large > 0) {
		return nil, 0, 0
	}
	var depths []float64
	hi, lo, down, up := 0, 0, false, false
	end := func() {
		if down && lo < n-1 {
			lows, depths = append(lows, lo), append(depths, off[hi]-off[lo])
		}
	}
	for i, v := range off {
		switch {
		case down && v < off[lo]:
			lo = i
		case down && v > off[lo]+large:
			end()
			rises++
			down, up, hi = false, true, i
		case !down && v > off[hi]:
			hi = i
			if !up && off[hi] > off[lo]+large {
				rises++
				up = true
			}
		case !down && v < off[hi]-large:
			down, lo = true, i
		case !down && !up && v < off[lo]:
			lo = i
		}
	}
	end()
	if len(depths) > 0 {
		depth = medianIn(depths)
	}
	return lows, rises, depth
}

// saw judges a saw by its lows.
func (s series) saw(t *Trend, lows []int, depth float64, r TrendRule) {
	var low series
	for _, i := range lows {
		low.at, low.value = append(low.at, s.at[i]), append(low.value, s.value[i])
	}
	l := lineOf(low)
	j := judge(low, l, r)
	t.Shape, t.Shift, t.At = Sawtooth, depth, 0
	if j.detectable < t.Detectable {
		t.Detectable = j.detectable
	}
	if j.grows {
		t.Shape, t.Shift = Growing, 0
		t.Slope, t.Lo, t.Hi = l.slope, l.slope-l.half(0.05), l.slope+l.half(0.05)
		if l.slope < 0 {
			t.Shape = Falling
		}
		return
	}
	if math.Abs(l.slope) > max(l.half(2*r.alpha()), 1e-9*l.scale()) {
		t.Shape, t.Shift = Untold, 0
		t.Reason = "the lows of its saw grow, but too little or too few to tell whether steadily"
	}
}

// ends names a series that is level on both sides of one step, or that is level from
// some time on, if that describes it clearly better than the line.
func (s series) ends(t *Trend, l line, r TrendRule) bool {
	n := len(s.at)
	step, bend := fit{error: math.Inf(1)}, fit{error: math.Inf(1)}
	shape := make([]float64, n)
	for c := 2; c <= n-2; c++ {
		for i := range shape {
			shape[i] = 0
			if i >= c {
				shape[i] = 1
			}
		}
		step.better(s, shape, c)
		if c < 3 {
			continue
		}
		for i := range shape {
			shape[i] = (s.at[min(i, c)] - s.at[0]) / (s.at[c] - s.at[0])
		}
		bend.better(s, shape, c)
	}
	best, kind := step, Stepped
	if bend.error < step.error {
		best, kind = bend, Flattening
	}
	straight := 0.0
	for _, x := range l.residual {
		straight += x * x
	}
	if !(best.error < 0.7*straight) || !best.clear(n) {
		return false
	}
	late := series{s.at[best.c:], s.value[best.c:]}
	if kind == Stepped || best.c < n-3 {
		if len(late.at) >= 4 {
			e := lineOf(late)
			if math.Abs(e.slope) > e.half(2*r.alpha()) && math.Abs(e.slope)*l.span() > 0.25*math.Abs(best.height) {
				return false
			}
		}
	}
	t.Shape, t.Shift, t.At = kind, best.height, s.at[best.c]
	if kind == Stepped {
		t.At = (s.at[best.c-1] + s.at[best.c]) / 2
	}
	return true
}

// A fit is a shape's best height in a series.
type fit struct {
	c          int // where it turns
	height, se float64
	error      float64 // sum of squares
}

// better makes f the fit of shape, if that is better.
func (f *fit) better(s series, shape []float64, c int) {
	n := len(shape)
	my, _ := meanVar(s.value)
	mx, _ := meanVar(shape)
	xx, xy, yy := 0.0, 0.0, 0.0
	for i, x := range shape {
		dx, dy := x-mx, s.value[i]-my
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	h := xy / xx
	if e := max(0, yy-h*xy); e < f.error {
		sum, lagged, last := 0.0, 0.0, 0.0
		for i, x := range shape {
			d := s.value[i] - my - h*(x-mx)
			sum, lagged, last = sum+d*d, lagged+d*last, d
		}
		phi := 0.0
		if sum > 0 {
			phi = max(0, min(0.95, lagged/sum+3/float64(n)))
		}
		*f = fit{c, h, math.Sqrt(sum / float64(n-3) * (1 + phi) / (1 - phi) / xx), e}
	}
}

// clear reports whether f is no accident, the best of some hundred tried.
func (f *fit) clear(n int) bool { return math.Abs(f.height) > 6*f.se }
