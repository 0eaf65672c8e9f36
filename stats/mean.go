package stats

import "math"

// Mean returns the mean of trials and its 95 % interval by Student's t; lo and hi
// are NaN below two trials, and all is NaN without any. Those that are NaN or
// infinite are left out.
func Mean(trials []float64) (mean, lo, hi float64) {
	var vs []float64
	for _, v := range trials {
		if usable(v) {
			vs = append(vs, v)
		}
	}
	nan := math.NaN()
	if len(vs) == 0 {
		return nan, nan, nan
	}
	if len(vs) == 1 {
		return vs[0], nan, nan
	}
	mean, variance := meanVar(vs)
	n := float64(len(vs))
	half := quantileT(0.05, n-1) * math.Sqrt(variance/n)
	return mean, mean - half, mean + half
}
