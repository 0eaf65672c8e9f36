// Package bisect finds which of many versions changed a metric. It only thinks: it chooses which versions run side by side
// next, and when it is enough, and it gives the answer. Its caller measures.
package bisect

import (
	"math"
	"slices"
)

// An Observation is a version's value in a block: the logarithm of the metric, so that steps are ratios.
type Observation struct {
	Version int // its index, 0 the good end
	Block   int // values of one block share what the machine did
	Value   float64
}

// Posterior returns the probability that the change is at version k, which is the first with it, for k from 1 to last;
// element 0 is 0. The model is one step: the value of a version in a block is the block's level, plus the step from
// version k on, plus noise. Level, step and scale of the noise have flat priors, which integrate out in closed form
// (Gelman et al., Bayesian Data Analysis, 3rd ed., section 14.2). Residuals beyond three deviations count as three.
// The model only says where to look; what is found is shown by other means.
func Posterior(last int, obs []Observation) []float64 {
	p := uniform(last)
	obs = clipped(last, obs)
	like := make([]float64, last+1)
	best := math.Inf(-1)
	seen := -1 // like[k] is that of the version before if none of the two was measured
	for k := 1; k <= last; k++ {
		if seen > 0 && !slices.ContainsFunc(obs, func(o Observation) bool { return o.Version == k-1 }) {
			like[k] = like[seen]
		} else {
			like[k], seen = likelihood(k, obs), k
		}
		best = max(best, like[k])
	}
	sum := 0.0
	for k := 1; k <= last; k++ {
		p[k] *= math.Exp(like[k] - best)
		sum += p[k]
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return uniform(last)
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

func uniform(last int) []float64 {
	p := make([]float64, last+1)
	for k := 1; k <= last; k++ {
		p[k] = 1 / float64(last)
	}
	return p
}

// fit is the least-squares fit of a step at k: its size, the sum of squared residuals, the sum of squares of what
// tells the step, and the degrees of freedom.
func fit(k int, obs []Observation) (step, rest, tells float64, free int) {
	n, sx, sy := map[int]float64{}, map[int]float64{}, map[int]float64{}
	for _, o := range obs {
		n[o.Block]++
		sy[o.Block] += o.Value
		if o.Version >= k {
			sx[o.Block]++
		}
	}
	var xy, yy float64
	for _, o := range obs {
		x, y := -sx[o.Block]/n[o.Block], o.Value-sy[o.Block]/n[o.Block]
		if o.Version >= k {
			x++
		}
		tells, xy, yy = tells+x*x, xy+x*y, yy+y*y
	}
	free = len(obs) - len(n)
	if tells > 0 {
		step, free = xy/tells, free-1
	}
	return step, max(yy-step*step*tells, 0), tells, free
}

// likelihood is the logarithm of the marginal likelihood of a step at k.
func likelihood(k int, obs []Observation) float64 {
	_, rest, tells, free := fit(k, obs)
	if free < 1 || tells == 0 {
		return 0
	}
	return -math.Log(tells)/2 - float64(free)/2*math.Log(max(rest, 1e-12))
}

// clipped brings residuals of the best fit to within three robust deviations, so that one disturbed trial does not
// decide.
func clipped(last int, obs []Observation) []Observation {
	best, at := math.Inf(-1), 0
	for k := 1; k <= last; k++ {
		if k > 1 && !slices.ContainsFunc(obs, func(o Observation) bool { return o.Version == k-1 }) {
			continue
		}
		if l := likelihood(k, obs); l > best {
			best, at = l, k
		}
	}
	if at == 0 {
		return obs
	}
	step, _, _, _ := fit(at, obs)
	by := map[int][]float64{}
	expect := func(o Observation) float64 {
		if o.Version >= at {
			return step
		}
		return 0
	}
	for _, o := range obs {
		by[o.Block] = append(by[o.Block], o.Value-expect(o))
	}
	var sizes []float64
	level := map[int]float64{}
	for block, values := range by {
		level[block] = median(values)
	}
	for _, o := range obs {
		if len(by[o.Block]) > 1 {
			sizes = append(sizes, math.Abs(o.Value-expect(o)-level[o.Block]))
		}
	}
	if len(sizes) == 0 {
		return obs
	}
	most := 3 * 1.4826 * median(sizes)
	out := slices.Clone(obs)
	for i, o := range obs {
		rest := o.Value - expect(o) - level[o.Block]
		out[i].Value = level[o.Block] + expect(o) + min(max(rest, -most), most)
	}
	return out
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return math.NaN()
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// bracket returns the last version before which the change surely is not, and the first at which it surely is there: the
// probability that it is elsewhere is at most doubt.
func bracket(p []float64, doubt float64) (lo, hi int) {
	lo, hi = 0, len(p)-1
	below, above := 0.0, 0.0
	for lo+1 < hi && below+p[lo+1] <= doubt/2 {
		below += p[lo+1]
		lo++
	}
	for hi-1 > lo && above+p[hi] <= doubt/2 {
		above += p[hi]
		hi--
	}
	return lo, hi
}

// Between returns up to most versions between lo and hi that divide the probability into equal parts. skip says of a
// version that it cannot be measured.
func Between(p []float64, lo, hi, most int, skip func(int) bool) (chosen []int) {
	total := 0.0
	for k := lo + 1; k <= hi; k++ {
		total += p[k]
	}
	free := func(v int) bool { return v > lo && v < hi && !skip(v) && !slices.Contains(chosen, v) }
	for i := 1; i <= most; i++ {
		want, sum, at := total*float64(i)/float64(most+1), 0.0, lo
		for k := lo + 1; k < hi && sum+p[k] <= want+1e-12; k++ {
			sum += p[k]
			at = k
		}
		for d := 0; d < hi-lo; d++ { // the nearest that can be
			if free(at + d) {
				chosen = append(chosen, at+d)
				break
			}
			if free(at - d) {
				chosen = append(chosen, at-d)
				break
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}
