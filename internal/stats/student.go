package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// tailT returns P(|T| >= |t|) of Student's t, df > 0 (Abramowitz and Stegun 26.7.1).
func tailT(t, df float64) float64 {
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// quantileT inverts tailT for 0 < p < 1: Newton's method on the logarithm of the tail from
// the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5). gonum's is ten times
// slower, and simulations need millions.
func quantileT(p, df float64) float64 {
	z := distuv.UnitNormal.Quantile(1 - p/2)
	z2 := z * z
	t := z * (1 + (z2+1)/(4*df) + (5*z2*z2+16*z2+3)/(96*df*df))
	lg1, _ := math.Lgamma((df + 1) / 2)
	lg2, _ := math.Lgamma(df / 2)
	density := lg1 - lg2 - 0.5*math.Log(df*math.Pi) // log of the density at 0
	for range 50 {
		tail := tailT(t, df)
		slope := 2 * math.Exp(density-(df+1)/2*math.Log1p(t*t/df)) / tail
		step := math.Log(tail/p) / slope
		t = max(t+step, t/2)
		if math.Abs(step) <= 1e-10*t {
			break
		}
	}
	return t
}

// tailF returns P(F >= f) of Fisher's F (Abramowitz and Stegun 26.6.2); NaN if f is.
func tailF(f, d1, d2 float64) float64 {
	return mathext.RegIncBeta(d2/2, d1/2, d2/(d2+d1*f))
}
