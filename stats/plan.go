package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Plan decides how many blocks are needed. An error of 5 % is allowed to the family; a
// change is to be found with a probability of 90 %.
type Plan struct {
	Settings int // settings in a block, the baseline included; less than 2 means 2
	Tests    int // comparisons in the family; less than 1 means 1
}

// planLimit is the most blocks that Blocks names.
const planLimit = 1000

// Blocks returns how many blocks find a change by the fraction effect (0.05 is +5 %, above
// -1) if the log of a trial's value deviates by sd (0.02 is about 2 %) in all settings; 0
// if 1000 are too few or the arguments make no sense. Power is by the normal approximation
// to the noncentral t (Johnson and Welch, Biometrika 31, 1940).
func (p Plan) Blocks(effect, sd float64) int {
	change := math.Abs(math.Log1p(effect))
	if !(change > 0) || math.IsInf(change, 0) || !(sd > 0) || math.IsInf(sd, 0) {
		return 0
	}
	for n := 2; n <= planLimit; n++ {
		if p.power(n, change, sd) >= 0.9 {
			return n
		}
	}
	return 0
}

// Least returns the least number of blocks in which a change can be hoped for: by half
// (effect 0.5) at a deviation of 2 %. With two blocks and a family of 20 even that is
// found in 6 % of experiments only.
func (p Plan) Least() int { return p.Blocks(0.5, 0.02) }

// power returns the probability of finding a log ratio in n blocks.
func (p Plan) power(n int, change, sd float64) float64 {
	df := float64(n-1) * gain(max(2, p.Settings))
	if n == 2 {
		df = 1 // nothing is shared with two blocks
	}
	t := quantileT(0.05/float64(max(1, p.Tests)), df)
	shift := change / (sd * math.Sqrt2) * math.Sqrt(float64(n))
	return distuv.UnitNormal.CDF((shift - t*(1-1/(4*df))) / math.Sqrt(1+t*t/(2*df)))
}

// gain returns the degrees of freedom of components over the pair's own if all k settings
// deviate alike: (tr AP)²/tr(APAP), A the diagonal of its weights, P removing the block's
// mean.
func gain(k int) float64 {
	if k < 4 {
		return 1
	}
	own, rest := weights(k)
	n := float64(k)
	sum, squares := 2*own+(n-2)*rest, 2*own*own+(n-2)*rest*rest
	in, off := 1-1/n, 1/n
	return in * in * sum * sum / (in*in*squares + off*off*(sum*sum-squares))
}
