package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Pair is one of many parts of a whole, such as a function's CPU time, in two settings.
// Element b is block b; all pairs have the same blocks.
type Pair struct {
	Base, Other []float64
	// Sampling is the variance of Other[b]-Base[b] that counting alone makes, as of a
	// sampling profiler, in the square of the unit: a lower bound.
	Sampling []float64
	// Tested pairs form the family. Others only help to estimate deviations.
	Tested bool
}

// A Shift is the difference of one Pair. Numbers that cannot be said are NaN.
type Shift struct {
	Diff     float64 // mean over blocks of other minus base
	Lo, Hi   float64 // its plain 95 % interval
	P        float64 // of this shift alone
	Adjusted float64 // protected for the family of tested pairs, by Holm's procedure; NaN if not tested
	DF       float64 // degrees of freedom of the interval
}

// least is the relative deviation that every quantity is taken to have.
const least = 1e-3

// Many compares two settings in many quantities at once; base and other are the totals in
// each block. A t test on each one's own variance has too few degrees of freedom, so two
// parts make up the variance:
//
// The deviation common to a trial's quantities (a slower minute) shows in the totals. The
// rest is the sampling's variance plus a share τ² of the quantity's square, τ by Mandel
// and Paule (J. Res. NBS 87, 1982), towards which each one's own deviation is shrunk as
// far as quantities are alike (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004). Degrees of
// freedom are Satterthwaite's. The variance is never below what the blocks show.
func Many(pairs []Pair, base, other []float64) []Shift {
	n := len(base)
	out := make([]Shift, len(pairs))
	nan := math.NaN()
	for i, p := range pairs {
		out[i] = Shift{Lo: nan, Hi: nan, P: nan, Adjusted: nan}
		for b := range n {
			out[i].Diff += (p.Other[b] - p.Base[b]) / float64(n)
		}
	}
	if n < 2 {
		return out
	}
	parts := make([]part, len(pairs))
	for i, p := range pairs {
		parts[i] = split(p, base, other)
	}
	tau, prior, df := spreadOf(parts, float64(n-1))
	var family []*Comparison
	var of []int
	for i := range parts {
		q := &parts[i]
		m := q.expected(tau)
		rest := (df*prior*m + float64(n-1)*q.rest) / (df + float64(n-1))
		variance := max(q.common+rest, q.raw, least*least*q.level*q.level)
		out[i].DF = (q.common + rest) * (q.common + rest) / (q.common*q.common/float64(n-1) + rest*rest/(df+float64(n-1)))
		if variance == 0 || !(out[i].DF > 0) {
			continue // nothing there at all
		}
		se := math.Sqrt(variance / float64(n))
		h := quantileT(0.05, out[i].DF) * se
		out[i].Lo, out[i].Hi = out[i].Diff-h, out[i].Diff+h
		out[i].P = tailT(out[i].Diff/se, out[i].DF)
		if pairs[i].Tested {
			family = append(family, &Comparison{P: out[i].P})
			of = append(of, i)
		}
	}
	Adjust(family)
	for k, i := range of {
		out[i].Adjusted = family[k].Adjusted
	}
	return out
}

// Each compares two settings in many quantities as Many does, but each by its own deviations: for parts that have
// nothing in common, one a hundred times another. The variance is never below that of counting.
func Each(pairs []Pair) []Shift {
	out := make([]Shift, len(pairs))
	nan := math.NaN()
	var family []*Comparison
	var of []int
	for i, p := range pairs {
		n := float64(len(p.Base))
		diffs, counting := make([]float64, len(p.Base)), 0.0
		for b := range diffs {
			diffs[b] = p.Other[b] - p.Base[b]
			counting += p.Sampling[b] / n
		}
		mean, variance := meanVar(diffs)
		out[i] = Shift{Diff: mean, Lo: nan, Hi: nan, P: nan, Adjusted: nan, DF: n - 1}
		if variance = max(variance, counting); n < 2 || variance == 0 {
			continue
		}
		se := math.Sqrt(variance / n)
		h := quantileT(0.05, n-1) * se
		out[i].Lo, out[i].Hi, out[i].P = mean-h, mean+h, tailT(mean/se, n-1)
		if p.Tested {
			family = append(family, &Comparison{P: out[i].P})
			of = append(of, i)
		}
	}
	Adjust(family)
	for k, i := range of {
		out[i].Adjusted = family[k].Adjusted
	}
	return out
}

// A part is how a pair deviates over the blocks; variances are of one block's difference.
type part struct {
	level    float64 // mean of base and other
	sampling float64
	raw      float64 // as seen
	common   float64 // what the totals explain of it
	rest     float64 // what they do not
}

func split(p Pair, base, other []float64) part {
	n := float64(len(base))
	a, _ := meanVar(p.Base)
	b, _ := meanVar(p.Other)
	wholeA, _ := meanVar(base)
	wholeB, _ := meanVar(other)
	q := part{level: (math.Abs(a) + math.Abs(b)) / 2}
	for i := range base {
		common := 0.0
		if wholeA != 0 {
			common -= a * (base[i]/wholeA - 1)
		}
		if wholeB != 0 {
			common += b * (other[i]/wholeB - 1)
		}
		seen := p.Other[i] - p.Base[i] - (b - a)
		q.sampling += p.Sampling[i] / n
		q.raw += seen * seen / (n - 1)
		q.common += common * common / (n - 1)
		q.rest += (seen - common) * (seen - common) / (n - 1)
	}
	return q
}

// expected is the variance of what the totals do not explain.
func (q *part) expected(tau float64) float64 {
	return q.sampling + (tau+least*least)*q.level*q.level
}

// spreadOf returns τ² and how alike deviations from the expected are: their common factor,
// at least 1, and the degrees of freedom that it is worth.
func spreadOf(parts []part, own float64) (tau, prior, df float64) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(q part) bool { return q.level == 0 || q.rest == 0 })
	if len(parts) < 2 {
		return 0, 1, 0
	}
	excess := func(tau float64) (sum float64) {
		for _, q := range parts {
			sum += q.rest/q.expected(tau) - 1
		}
		return sum
	}
	if hi := 1.0; excess(0) > 0 {
		for excess(hi) > 0 && hi < 1e6 {
			hi *= 10
		}
		lo := 0.0
		for range 60 {
			if tau = (lo + hi) / 2; excess(tau) > 0 {
				lo = tau
			} else {
				hi = tau
			}
		}
	}
	// Moments of the logarithm of a scaled F (Smyth 2004, section 6.2).
	logs := make([]float64, len(parts))
	for i, q := range parts {
		logs[i] = math.Log(q.rest / q.expected(tau))
	}
	mean, variance := meanVar(logs)
	most := own * float64(len(parts)-1) // more is not known
	df = most
	if beyond := variance - trigamma(own/2); beyond > 0 {
		df = min(most, 2*inverseTrigamma(beyond))
	}
	prior = math.Exp(mean - mathext.Digamma(own/2) + math.Log(own/2) + mathext.Digamma(df/2) - math.Log(df/2))
	return tau, max(1, prior), df
}

// trigamma is ζ(2, x) (Abramowitz and Stegun 6.4.10).
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma inverts it for y > 0 by Newton's method (Smyth 2004, appendix).
func inverseTrigamma(y float64) float64 {
	switch { // beyond these the first term of the series does
	case y > 1e7:
		return 1 / math.Sqrt(y)
	case y < 1e-6:
		return 1 / y
	}
	x := 0.5 + 1/y
	for range 50 {
		tri := trigamma(x)
		step := tri * (1 - tri/y) / (-2 * mathext.Zeta(3, x))
		x += step
		if math.Abs(step) < 1e-8*x {
			break
		}
	}
	return x
}
