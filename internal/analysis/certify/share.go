package certify

import "gonum.org/v1/gonum/stat/distuv"

// Mostly is the share of runs from which on a size counts as found.
const Mostly = 0.9

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
