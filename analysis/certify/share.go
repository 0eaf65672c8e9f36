package certify

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Seldom, half and mostly are the shares of runs by which sizes are told apart.
const (
	Half   = 0.5 // a smaller change is missed more often than found
	Mostly = 0.9 // a greater one is found
)

// ShareInterval returns the 95 % interval of a share of which found in n runs was seen, by Clopper and
// Pearson (Biometrika 26, 1934): it covers the share in at least 95 % of campaigns. Without runs it is
// 0 to 1.
func ShareInterval(found, n int) (lo, hi float64) {
	lo, hi = 0, 1
	if found > 0 {
		lo = distuv.Beta{Alpha: float64(found), Beta: float64(n - found + 1)}.Quantile(0.025)
	}
	if found < n {
		hi = distuv.Beta{Alpha: float64(found + 1), Beta: float64(n - found)}.Quantile(0.975)
	}
	return lo, hi
}

// Smallest returns the first of the shares of a kind from which on all have found as much as a share
// of their runs. A greater size that was found less often says that the smaller had luck.
func Smallest(shares []Share, share float64) (s Share, ok bool) {
	for i := len(shares) - 1; i >= 0 && float64(shares[i].Found) >= share*float64(shares[i].Runs); i-- {
		s, ok = shares[i], true
	}
	return s, ok
}

// At returns the size that is found in a share of runs. Between two sizes that were planted the
// course is straight over the logarithm of the size, after neighbours that fall were pooled, as a
// greater change is found no less often (Ayer et al., Ann. Math. Statist. 26, 1955). Where the
// smallest is found often enough it is that one, with atMost; NaN if none is.
//
// Note: a probit or logit has no finite estimate where one size is never found and the next always,
// as it should be.
func At(shares []Share, share float64) (size float64, atMost bool) {
	p := rising(shares)
	for i := range shares {
		switch {
		case p[i] < share:
			continue
		case i == 0:
			return shares[0].Size, true
		}
		part := (share - p[i-1]) / (p[i] - p[i-1])
		return math.Exp(math.Log(shares[i-1].Size) + part*math.Log(shares[i].Size/shares[i-1].Size)), false
	}
	return math.NaN(), false
}

// rising returns the shares that were found, neighbours pooled until none falls.
func rising(shares []Share) []float64 {
	type pool struct{ found, runs, sizes int }
	var pools []pool
	for _, s := range shares {
		pools = append(pools, pool{s.Found, s.Runs, 1})
		for n := len(pools); n > 1; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			if a.found*b.runs <= b.found*a.runs {
				break
			}
			pools = append(pools[:n-2], pool{a.found + b.found, a.runs + b.runs, a.sizes + b.sizes})
		}
	}
	var p []float64
	for _, q := range pools {
		for range q.sizes {
			p = append(p, float64(q.found)/float64(q.runs))
		}
	}
	return p
}
