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

// coarsest is the number of groups whose increments are compared: more than the few steps
// that must not make a trend, as few as possible for power.
const coarsest = 12

// leastSteps is how many units of a counter a growth has to make.
const leastSteps = 10

// judge treats a fall as a mirror image. Growth of at most grain over the whole is none.
func judge(s series, l line, grain float64) judgement {
	j := judgement{steps: l.walk()}
	if len(l.at) >= TrendReadings {
		j.guard = l.guard(l.phi)
	}
	grain /= s.span()
	need := max(j.steps, j.guard, grain)
	j.detectable = max(j.steps*l.again(coarsest, false), j.guard*l.again(float64(len(l.at)), true), 2*grain)
	j.grows = math.Abs(l.slope) >= max(need, 1e-9*l.scale(), math.SmallestNonzeroFloat64) && l.lasts() && !turned(s, l)
	return j
}

// again returns how much larger a threshold may be in a series of the same noise. It
// depends on a variance from n numbers of kurtosis 7 and, of a bend, on phi, both
// estimated here and there.
func (l *line) again(n float64, phi bool) float64 {
	square := 2 * 1.5 / n
	if phi && len(l.at) >= TrendReadings && l.news > 0 {
		sd := math.Sqrt((1 - l.phi*l.phi) / float64(len(l.at)))
		hi, lo := min(mostPhi, l.phi+sd), max(0, l.phi-sd)
		x := math.Log(l.guard(hi)/l.guard(lo)) / (hi - lo) * sd
		square += 2 * x * x
	}
	return math.Exp(trendPower * math.Sqrt(square))
}

// scale is what rounding may make of slopes.
func (l *line) scale() float64 {
	largest := 0.0
	for _, v := range l.value {
		largest = max(largest, math.Abs(v))
	}
	return largest / l.span()
}

// walk returns the slope that a random walk with such increments hardly ever has.
func (l *line) walk() float64 {
	g := series{l.at, l.residual}.groups(coarsest)
	k := len(g.at)
	sum := 0.0
	for i := 1; i < k; i++ {
		d := g.value[i] - g.value[i-1]
		sum += d * d / (g.at[i] - g.at[i-1])
	}
	df := float64(k - 2)
	return 1.34 * quantileT(2*trendAlpha, df) * math.Sqrt(sum/df/(g.at[k-1]-g.at[0]))
}

// bend returns the weights of values for the change of slope at reading c: the coefficient
// of max(0, t-t[c]) beside a line.
func (l *line) bend(c int) []float64 {
	shape := make([]float64, len(l.at))
	for i := range shape {
		shape[i] = max(0, l.at[i]-l.at[c])
	}
	return l.beside(shape)
}

// beside returns the weights of values for the least-squares coefficient of shape beside a
// line. It overwrites shape.
func (l *line) beside(shape []float64) []float64 {
	mean, _ := meanVar(shape)
	middle, _ := meanVar(l.at)
	slope := dot(l.weight, shape)
	sum := 0.0
	for i := range shape {
		shape[i] -= mean + slope*(l.at[i]-middle)
		sum += shape[i] * shape[i]
	}
	for i := range shape {
		shape[i] /= sum
	}
	return shape
}

// latest returns the last place where an end of the growth has to show: the first reading
// after 70 % of the time, neither among the last three nor early. Note: a later place
// takes hardly any growth that ends for one that lasts, but a leak would have to be half
// as large again.
func (l *line) latest() int {
	c := len(l.at) - 4
	for c > len(l.at)/4 && l.at[c-1]-l.at[0] >= 0.7*l.span() {
		c--
	}
	return c
}

// guard returns the slope whose end at latest would be seen, but for a chance of alpha.
func (l *line) guard(phi float64) float64 {
	return 2 * quantileT(2*trendAlpha, l.df) * l.se(l.bend(l.latest()), phi)
}

// little is the part of a slope that a bend may take away without ending the growth: a
// load wanders by some per cent, which is significant beside a great leak.
const little = 0.2

// lasts reports whether l nowhere becomes clearly less steep: by more than chance, and not
// surely by little.
func (l *line) lasts() bool {
	m := len(l.at)
	if m < TrendReadings {
		return true // lows of a saw, of whose few increments walk lets none be missing
	}
	crit := quantileT(2*trendAlpha, l.df)
	sign := math.Copysign(1, l.slope)
	left := make([]float64, m)
	for c := m / 4; c <= max(l.latest(), m-1-max(3, m/12)); c++ {
		w := l.bend(c)
		if sign*dot(w, l.value) >= -crit*l.se(w, l.phi) {
			continue
		}
		// The slope before c is that of the line without its part of the bend.
		part := 0.0
		for i, x := range l.weight {
			part += x * max(0, l.at[i]-l.at[c])
		}
		for i, x := range w {
			left[i] = x + little*(l.weight[i]-part*x)
		}
		if sign*dot(left, l.value) < crit*l.se(left, l.phi) {
			return false
		}
	}
	return true
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// turned reports whether the first or last readings, fewer than a cell holds, lie as far
// off the line as a tooth there would: nothing else shows it.
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
