package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// An estimate is the mean of logarithms of ratios, one of each block, with its standard error and
// the degrees of freedom of that. What too few blocks do not tell is NaN.
type estimate struct{ log, err, df float64 }

// estimated is of the ratios of blocks. Those that are not above 0 have no logarithm; they are left
// out, and lost is their number.
func estimated(ratios []float64) (e estimate, lost int) {
	var logs []float64
	for _, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			logs = append(logs, math.Log(r))
		}
	}
	n := float64(len(logs))
	e = estimate{log: mean(logs), err: math.NaN(), df: n - 1}
	if n > 1 {
		var ss float64
		for _, v := range logs {
			ss += (v - e.log) * (v - e.log)
		}
		e.err = math.Sqrt(ss / (n - 1) / n)
	}
	return e, len(ratios) - len(logs)
}

// less is the ratio of two ratios that were measured in other blocks (B. L. Welch, The
// generalization of Student's problem, Biometrika 34, 1947).
func (e estimate) less(o estimate) estimate {
	a, b := e.err*e.err, o.err*o.err
	d := estimate{log: e.log - o.log, err: math.Sqrt(a + b), df: (a + b) * (a + b) / (a*a/e.df + b*b/o.df)}
	if a+b == 0 {
		d.df = e.df + o.df
	}
	return d
}

// interval has the true ratio with a chance of 1 - miss, by t.
func (e estimate) interval(miss float64) (lo, hi float64) {
	if !(e.df >= 1) || math.IsNaN(e.err) {
		return math.NaN(), math.NaN()
	}
	half := tQuantile(1-miss/2, e.df) * e.err
	return math.Exp(e.log - half), math.Exp(e.log + half)
}

// ratio is the geometric mean of the ratios.
func (e estimate) ratio() float64 { return math.Exp(e.log) }

// differs reports whether an interval leaves the ratio 1 out, with a chance of miss where it is 1.
// known is whether there is an interval.
func (e estimate) differs(miss float64) (differs, known bool) {
	lo, hi := e.interval(miss)
	return lo > 1 || hi < 1, !math.IsNaN(lo)
}

func tQuantile(p, df float64) float64 { return stats.InvCDF(stats.TDist{V: df})(p) }

// halfWidth is that of an interval of a ratio, as a fraction: of 1.03 to 1.07 it is close to 0.02.
func halfWidth(lo, hi float64) float64 {
	if !(lo > 0) {
		return math.NaN()
	}
	return math.Expm1(math.Log(hi/lo) / 2)
}

func mean(vs []float64) float64 {
	var sum float64
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// median is NaN of nothing; what is not known is left out.
func median[T float64 | int64](vs []T) float64 {
	var known []float64
	for _, v := range vs {
		if f := float64(v); !math.IsNaN(f) {
			known = append(known, f)
		}
	}
	return quantile(known, 0.5)
}

// quantile lies between the two values that are nearest, in proportion; NaN of nothing.
func quantile(vs []float64, q float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	s := slices.SortedFunc(slices.Values(vs), cmp.Compare[float64])
	at := q * float64(len(s)-1)
	i := int(at)
	if i == len(s)-1 {
		return s[i]
	}
	return s[i] + (s[i+1]-s[i])*(at-float64(i))
}

// enough is how many of n runs have to succeed where 19 of 20 have to.
func enough(n int) int { return int(math.Ceil(0.95*float64(n) - 1e-9)) }

// allowed is how many of n runs may have a false alarm where 2 of 40 may.
func allowed(n int) int { return n / 20 }
