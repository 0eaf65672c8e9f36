package stats

import (
	"math"
	"slices"
)

// A judgement is whether a series grows steadily, or falls so.
type judgement struct {
	grows      bool
	steps      float64 // least slope that is more than a random walk or a few steps would make
	guard      float64 // least slope whose end would be seen
	detectable float64
}

// coarsest is the number of groups whose increments are compared. A few steps must
// not make a trend, so there have to be more groups than steps; and each group
// costs power where the noise is white.
const coarsest = 12

// leastSteps is how many steps of the unit in which a counter counts a growth has to
// make to be seen.
const leastSteps = 20

// judge decides on the sign of the slope, too: a fall is judged as its mirror image.
func judge(s series, l line, r TrendRule) judgement {
	j := judgement{steps: l.walk(r)}
	longest := l.longest()
	if len(l.at) >= TrendReadings {
		j.guard = l.guard(r, longest, l.phi)
	}
	need := max(j.steps, j.guard)
	j.detectable = max(j.steps*l.again(r, coarsest-2, 0), j.guard*l.again(r, l.df, longest), leastSteps*s.quantum()/s.span())
	j.grows = math.Abs(l.slope) >= max(need, 1e-9*l.scale()) && l.lasts(r) && !turned(s, l)
	return j
}

// again returns how much larger than here a threshold may turn out in a series of
// the same noise, by chance. It depends on the variance, of df degrees of freedom,
// and that of the last n readings also on phi.
func (l *line) again(r TrendRule, df float64, n int) float64 {
	if len(l.at) < TrendReadings {
		n = 0
	}
	square := 2 * 0.5 / df
	if n > 0 {
		sd := math.Sqrt((1 - l.phi*l.phi) / float64(len(l.at)))
		hi, lo := min(0.97, l.phi+sd), max(0, l.phi-sd)
		x := math.Log(l.guard(r, n, hi)/l.guard(r, n, lo)) / (hi - lo) * sd
		square += 2 * x * x
	}
	return math.Exp(calAgain * r.power() * math.Sqrt(square))
}

var calAgain = 1.15

// scale is what rounding may make of slopes.
func (l *line) scale() float64 {
	largest := 0.0
	for _, v := range l.value {
		largest = max(largest, math.Abs(v))
	}
	return largest / l.span()
}

// walk returns the slope that a random walk with such increments hardly ever has.
func (l *line) walk(r TrendRule) float64 {
	g := series{l.at, l.residual}.groups(coarsest)
	k := len(g.at)
	sum := 0.0
	for i := 1; i < k; i++ {
		d := g.value[i] - g.value[i-1]
		sum += d * d / (g.at[i] - g.at[i-1])
	}
	df := float64(k - 2)
	c := 1.0
	if len(l.at) > k || true {
		c = calWalk
	}
	return c * quantileT(2*r.alpha(), df) * math.Sqrt(sum/df/(g.at[k-1]-g.at[0]))
}

var calWalk = 1.34

// longest returns the number of readings of the longest end that must grow.
func (l *line) longest() int { return max(4, (len(l.at)+4)/5) }

// guard returns the slope from which on the last n readings would show that it has
// ended: half of it is what one that ends is told from one that lasts by.
func (l *line) guard(r TrendRule, n int, phi float64) float64 {
	m := len(l.at)
	w := slopeWeights(l.at, m-n, m)
	for i := range w {
		w[i] -= l.weight[i] / 2
	}
	return 2 * quantileT(2*r.alpha(), l.df) * l.se(w, phi)
}

// lasts reports whether each end that would show it grows at least half as fast as
// the whole.
func (l *line) lasts(r TrendRule) bool {
	m := len(l.at)
	if m < TrendReadings {
		return true // lows of a saw, of whose few increments walk lets none be missing
	}
	for n := l.longest(); n >= 3; n-- {
		if math.Abs(l.slope) < l.guard(r, n, l.phi) {
			continue
		}
		late := 0.0
		for i, w := range slopeWeights(l.at, m-n, m) {
			late += w * l.value[i]
		}
		if late/l.slope < 0.5 {
			return false
		}
	}
	return true
}

// turned reports whether the very first readings, fewer than a cell holds, lie far
// on the side of the line that a tooth which falls there would put them, or the very
// last: nothing else would show that tooth.
func turned(s series, l line) bool {
	middle, _ := meanVar(l.at)
	mean, _ := meanVar(l.value)
	sign := math.Copysign(1, l.slope)
	off := make([]float64, len(s.at))
	for i := range off {
		off[i] = sign * (s.value[i] - mean - l.slope*(s.at[i]-middle))
	}
	n := len(off)
	for q := 1; q <= max(1, n/len(l.at)); q *= 2 {
		var runs, far []float64
		for i := 0; i+q <= n; i += max(q, n/200) {
			runs = append(runs, medianIn(slices.Clone(off[i:i+q])))
		}
		for _, x := range runs {
			far = append(far, math.Abs(x))
		}
		most := max(8*1.4826*medianIn(far), 0.4*math.Abs(l.slope)*l.span())
		if runs[0] > most || medianIn(slices.Clone(off[n-q:])) < -most {
			return true
		}
	}
	return false
}
