package certify

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// FewestEqual is how many runs of equal settings a Curve takes.
const FewestEqual = 8

// mostEarly is the share of runs that may have ended early before a Curve is a lower bound.
const mostEarly = 0.05

// A Power is the share of runs that would find a change, worked out, with its 95 % interval.
type Power struct {
	Share, Lo, Hi float64
	AtLeast       bool // it may be any more, as [Curve] has it
}

// Contradicts reports whether what was found in runs with the change lies beside the interval.
func (p Power) Contradicts(s Share) bool {
	return p.Lo > s.Hi || p.Hi < s.Lo && !p.AtLeast
}

// A Curve says how often a true change of a metric is found, by its size. The runs of equal settings
// tell it: there the truth is 0, so run j's log ratio e is all noise, and v is the log ratio that j would
// have called a change. A change of log ratio d is found in j if d+e > v, and as e comes with both
// signs alike, what counts is how e scatters:
//
//	the mean over the runs of Φ((d-v)/s), s² = (RMS of e)·(RMS of e/v)·v
//
// If all runs are equally noisy, e scatters by the first factor, whatever v is; if the noise of
// some is greater, v is so by as much, and the second times v is right. s² lies between.
//
// Note: the mean of yes and no, for e and -e, has up to a third more error and as much bias, and each
// factor alone is worse somewhere; TestCurve prints all of them.
type Curve struct {
	Metric  string
	Runs    int
	AtLeast bool // runs ended early, as all was known: with a change they had gone on and seen more

	noise []noise
}

// A noise is what one run of equal settings tells of a metric.
type noise struct{ e, v float64 }

// Curve returns the curve of a primary metric. It is not ok with fewer than FewestEqual runs of equal
// settings that know the metric. Runs with planted changes are not used: they are what it is
// checked by.
func (c *Certificate) Curve(metric string) (p Curve, ok bool) {
	p.Metric = metric
	early := 0
	for _, o := range c.Outcomes {
		x, known := o.of(metric)
		if o.Err != "" || o.Kind != Equal || !known || !(x.Ratio > 0) {
			continue
		}
		v := math.Log1p(float64(x.Visible))
		if !(v > 0) { // not known: this run finds nothing
			v = math.Inf(1)
		}
		p.noise = append(p.noise, noise{math.Log(float64(x.Ratio)), v})
		if o.Early {
			early++
		}
	}
	p.Runs = len(p.noise)
	p.AtLeast = float64(early) > mostEarly*float64(p.Runs)
	return p, p.Runs >= FewestEqual && p.scatter() > 0
}

// scatter is the RMS of e.
func (c *Curve) scatter() float64 {
	return rms(c.noise, func(n noise) float64 { return n.e })
}

func rms(ns []noise, f func(noise) float64) float64 {
	sum := 0.0
	for _, n := range ns {
		sum += f(n) * f(n)
	}
	return math.Sqrt(sum / float64(len(ns)))
}

// share is the part of runs that finds log ratio d.
func share(ns []noise, d float64) (sum float64) {
	square := rms(ns, func(n noise) float64 { return n.e }) * rms(ns, func(n noise) float64 { return n.e / n.v })
	for _, n := range ns {
		if !math.IsInf(n.v, 0) {
			sum += distuv.UnitNormal.CDF((d - n.v) / math.Sqrt(square*n.v))
		}
	}
	return sum / float64(len(ns))
}

// deviation is the standard error of what f says of the runs, by leaving out each (the jackknife).
func deviation(ns []noise, f func([]noise) float64) float64 {
	all, sum := f(ns), 0.0
	for i := range ns {
		x := f(slices.Concat(ns[:i], ns[i+1:])) - all
		sum += x * x
	}
	n := float64(len(ns))
	return math.Sqrt(sum * (n - 1) / n)
}

// surely is how many standard errors a 95 % interval reaches, with so many runs.
func surely(runs int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(runs - 1)}.Quantile(0.975)
}

// mostWorth is how many yes or no answers a run may be worth at most. It bounds the interval where
// no run is near the size.
const mostWorth = 3

// At returns the power for a change of a size, a fraction that the metric is worse by. unsure is
// the standard error of log(1+size); 0 if the size is known.
//
// The interval is Clopper and Pearson's for as many yes or no answers as have the same variance
// (Korn and Graubard, Survey Methodology 24, 1998), fewer by the ratio of quantiles of t and normal.
func (c *Curve) At(size, unsure float64) Power {
	d := math.Log1p(size)
	p := share(c.noise, d)
	se := deviation(c.noise, func(ns []noise) float64 { return share(ns, d) })
	if unsure > 0 {
		moved := (share(c.noise, d+unsure) - share(c.noise, d-unsure)) / 2
		se = math.Hypot(se, moved)
	}
	worth := mostWorth * float64(c.Runs)
	if t := surely(c.Runs) / distuv.UnitNormal.Quantile(0.975); p*(1-p) < worth*se*se*t*t {
		worth = p * (1 - p) / (se * se * t * t)
	}
	power := Power{Share: p, Lo: 0, Hi: 1, AtLeast: c.AtLeast}
	const hardly = 1e-6 // of an answer: none
	if found := p * worth; found > hardly {
		power.Lo = distuv.Beta{Alpha: found, Beta: worth - found + 1}.Quantile(0.025)
	}
	if missed := (1 - p) * worth; missed > hardly {
		power.Hi = distuv.Beta{Alpha: worth - missed + 1, Beta: missed}.Quantile(0.975)
	}
	return power
}

// largest is the log ratio from which on a Size is not looked for: that of 20 times.
const largest = 3

// Size returns the change, a fraction, that a share of the runs finds, with its 95 % interval: on the
// scale of logarithms, by leaving out each run. It is not ok if there is none.
func (c *Curve) Size(of float64) (size, lo, hi float64, ok bool) {
	find := func(ns []noise) float64 {
		const steps = 1 << 20
		d := float64(sort.Search(steps, func(i int) bool { return share(ns, largest*float64(i)/steps) >= of })) / steps
		return math.Log(largest * d)
	}
	d := find(c.noise)
	if math.IsInf(d, 0) || d >= math.Log(largest) {
		return math.NaN(), math.NaN(), math.NaN(), false
	}
	h := surely(c.Runs) * deviation(c.noise, find)
	size = math.Expm1(math.Exp(d))
	return size, math.Expm1(math.Exp(d - h)), math.Expm1(math.Exp(d + h)), true
}

// Expected returns how often the runs of a planted change should have found it: the curve of the
// metric that shows its kind, at the size that they measured. A share of CPU time is spins of a loop, so one
// factor from planted to measured holds for all its sizes. A lock has none, as it is found in any of three
// metrics.
func (c *Certificate) Expected(x Change) (p Power, size float64, ok bool) {
	curve, ok := c.Curve(Shown(x.Kind))
	if !ok || x.Kind == Equal || len(metrics[x.Kind]) > 1 {
		return Power{}, 0, false
	}
	var planted, seen []float64
	for _, o := range c.Outcomes {
		s, known := o.of(curve.Metric)
		if o.Err == "" && known && s.Ratio > 0 && (o.Change == x || o.Kind == x.Kind && x.Kind == CPU) {
			planted, seen = append(planted, o.Size), append(seen, math.Log(float64(s.Ratio)))
		}
	}
	if len(seen) == 0 {
		return Power{}, 0, false
	}
	size, unsure := measured(planted, seen, x.Size, curve.scatter())
	return curve.At(size, unsure), size, true
}

// measured is the size that log ratios measured where x was planted. It takes measured sizes to be
// one factor times planted sizes, and fits that factor by least squares. unsure is the standard error of log(1+size), s the
// deviation of a log ratio.
func measured(planted, seen []float64, x, s float64) (size, unsure float64) {
	factor, square := 1.0, 0.0
	for range 20 { // Gauss and Newton: a handful is enough
		sum := 0.0
		square = 0
		for i, p := range planted {
			slope := p / max(1e-3, 1+factor*p)
			sum += slope * (seen[i] - math.Log(max(1e-3, 1+factor*p)))
			square += slope * slope
		}
		factor += sum / square
	}
	size = factor * x
	return size, s * x / max(1e-3, 1+size) / math.Sqrt(square)
}
