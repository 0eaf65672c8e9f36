package stats

import (
	"math"
	"slices"
)

// name says what a series does that does not grow steadily as a whole.
func (s series) name(t *Trend, b series, l line, j judgement) {
	f := s.bins(8 * finest)
	w := f.teeth(l)
	if w.sharp && len(w.lows) >= teeth && f.spanned(w.lows) {
		f.saw(t, w)
		return
	}
	if c := b.ends(t, l); c > 0 {
		s.stretch(t, b, c)
	}
	if t.Shape != "" {
		return
	}
	evident := l.evident()
	if falls := len(w.lows); w.rises > 0 && falls > 0 && falls < teeth && (w.sharp || evident) {
		t.Shape, t.Reason = Untold, Reason{Kind: FewFalls, N: falls, Of: teeth}
		return
	}
	if !evident {
		t.Shape = Level
		return
	}
	t.Shape, t.Reason = Untold, Reason{Kind: JumpsBack, Falls: l.slope < 0}
	switch {
	case !l.lasts():
		t.Reason.Kind = LessAtEnd
	case math.Abs(l.slope) < max(j.steps, j.guard):
		t.Reason.Kind = TooLittle
	}
}

// evident reports whether l obviously leads somewhere: the interval of its slope leaves
// out 0, or it is half of the range and far more than neighbours differ.
func (l *line) evident() bool {
	change := math.Abs(l.slope) * l.span()
	if change <= 1e-9*l.scale()*l.span() {
		return false
	}
	next := make([]float64, len(l.at)-1)
	for i := range next {
		next[i] = math.Abs(l.residual[i+1] - l.residual[i])
	}
	return math.Abs(l.slope) > l.half(2*trendAlpha) ||
		change > 0.5*(slices.Max(l.value)-slices.Min(l.value)) && change > 8*1.4826*medianIn(next)
}

// swings are the large rises and falls of a series.
type swings struct {
	lows  []int   // where each fall ends
	rises int     // how many
	depth float64 // median height of a fall
	sharp bool    // falls take less than a third of the time of rises, which are no mere blips
}

// teeth returns the swings about l: a large part of the range, and far more than
// neighbours differ.
func (s series) teeth(l line) swings {
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
		return swings{}
	}
	var w swings
	var depths, halfway []float64
	falling, from := 0.0, 0
	hi, lo, down, up := 0, 0, false, false
	end := func() {
		// What falls only against the line does not fall.
		if down && lo < n-1 && s.value[hi]-s.value[lo] > (off[hi]-off[lo])/2 {
			w.lows, depths = append(w.lows, lo), append(depths, off[hi]-off[lo])
			halfway = append(halfway, (off[(from+hi)/2]-off[from])/(off[hi]-off[from]))
			falling, from = falling+s.at[lo]-s.at[hi], lo
		}
	}
	for i, v := range off {
		switch {
		case down && v < off[lo]:
			lo = i
		case down && v > off[lo]+large:
			end()
			w.rises++
			down, up, hi = false, true, i
		case !down && v > off[hi]:
			hi = i
			if !up && off[hi] > off[lo]+large {
				w.rises++
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
		w.depth = medianIn(depths)
		w.sharp = falling < s.span()/4 && medianIn(halfway) > 0.2
	}
	return w
}

// spanned reports whether lows are all over s: where they are missing nothing is known, as
// behind a cache that has filled.
func (s series) spanned(lows []int) bool {
	gaps := make([]float64, len(lows)-1)
	for i := range gaps {
		gaps[i] = s.at[lows[i+1]] - s.at[lows[i]]
	}
	most := 2 * medianIn(gaps)
	return s.at[lows[0]]-s.at[0] <= most && s.at[len(s.at)-1]-s.at[lows[len(lows)-1]] <= most
}

func (s series) saw(t *Trend, w swings) {
	var low series
	for _, i := range w.lows {
		low.at, low.value = append(low.at, s.at[i]), append(low.value, s.value[i])
	}
	l := lineOf(low)
	// Regular readings drift along regular teeth by up to one tooth's growth between two.
	j := judge(low, l, 2*w.depth*float64(len(w.lows))/float64(len(s.at)))
	t.Shape, t.Shift, t.At = Sawtooth, w.depth, 0
	// Another such series may have one fall less.
	d := j.detectable
	switch k := float64(len(w.lows)); {
	case k == teeth:
		d = math.Inf(1)
	case k < TrendReadings:
		d *= quantileT(2*trendAlpha, k-3) / quantileT(2*trendAlpha, k-2)
	}
	t.Detectable = min(t.Detectable, d)
	if j.grows {
		t.Shape, t.Shift = Growing, 0
		t.Slope, t.Lo, t.Hi = l.slope, l.slope-l.half(0.05), l.slope+l.half(0.05)
		if l.slope < 0 {
			t.Shape = Falling
		}
		return
	}
	if l.evident() {
		t.Shape, t.Shift, t.Reason = Untold, 0, Reason{Kind: SawGrows}
	}
}

// ends names a series that is level beside one step, or level from some time on, if that
// fits clearly better than the line. It returns the first reading after, or 0.
func (s series) ends(t *Trend, l line) int {
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
	if !(best.error < 0.7*dot(l.residual, l.residual)) || !best.clear(n) {
		return 0
	}
	if rest, at := l.broken(); rest < 0.3*best.error {
		t.Shape, t.Reason = Untold, Reason{Kind: GoesOn, At: at}
		return 0
	}
	level := func(part series) bool {
		if len(part.at) < 4 {
			return true
		}
		e := lineOf(part)
		return math.Abs(e.slope) <= e.half(2*trendAlpha) || math.Abs(e.slope)*part.span() <= 0.25*math.Abs(best.height)
	}
	after := series{s.at[best.c:], s.value[best.c:]}
	if !level(after) || kind == Stepped && !level(series{s.at[:best.c], s.value[:best.c]}) {
		return 0
	}
	if kind == Flattening && len(after.at) >= 4 && lineOf(after).slope/best.height > 0.25/(s.at[best.c]-s.at[0]) {
		return 0
	}
	t.Shape, t.Shift, t.At = kind, best.height, s.at[best.c]
	if kind == Stepped {
		t.At = (s.at[best.c-1] + s.at[best.c]) / 2
	}
	return best.c
}

// A fit is a shape's best height in a series.
type fit struct {
	c          int // where it turns
	height, se float64
	error      float64 // sum of squares
}

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
func (f *fit) clear(n int) bool { return math.Abs(f.height) > (6+36/float64(n))*f.se }
