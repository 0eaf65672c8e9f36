package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ChangeAlpha is the chance of a false change in a series.
const ChangeAlpha = 0.02

const (
	changePermutations = 999 // the least p is one thousandth
	changeLeast        = 3   // values on each side: two odd ones in a row are not yet a change
	changeEnds         = 64  // windows that end elsewhere are not tried: of long series it would take minutes
)

// A ChangePoint is where the level of a series changed.
type ChangePoint struct {
	At            int     // index of the first value after the change
	Before, After float64 // medians of the stretches up to the changes or ends on either side, in the values' unit
	P             float64 // by permutation; at most ChangeAlpha, at least 0.001
}

// ChangePoints finds where the level of a series of single numbers changed, in order. NaN
// and infinite values are left out, but counted by At. The same values give the same
// answer; below ten values nothing is found.
//
// It is E-divisive (Matteson, James, JASA 109 (2014), 334–345) by ranks (Pettitt, Applied
// Statistics 28 (1979), 126–135), so that an outlier is only the greatest rank. Each
// stretch is cut where the mean ranks before and after differ most, the values after it up
// to any end, so that a change that is taken back is found too. A cut stands if fewer than
// ChangeAlpha of random orders within the stretches have a greater difference anywhere. A
// drift or autocorrelation can look like steps.
//
// Note: circular binary segmentation needs a further test of its second end; PELT's
// penalty promises no rate of false alarms for short series.
func ChangePoints(values []float64) []ChangePoint {
	var at []int // indices of those that can be used
	var xs []float64
	for i, v := range values {
		if usable(v) {
			at, xs = append(at, i), append(xs, v)
		}
	}
	rng := rand.New(rand.NewPCG(uint64(len(xs)), 1))
	cuts := map[int]float64{} // p by place
	stretches := []changeStretch{newChangeStretch(xs, 0)}
	for {
		i, cut, score := best(stretches)
		if score == 0 {
			break
		}
		p := changeChance(rng, stretches, score)
		if p > ChangeAlpha {
			break
		}
		s := stretches[i]
		mid := s.from + cut
		cuts[mid] = p
		stretches = slices.Replace(stretches, i, i+1,
			newChangeStretch(xs[s.from:mid], s.from), newChangeStretch(xs[mid:s.from+len(s.ranks)], mid))
	}
	var found []ChangePoint
	from := 0
	for i := 1; i < len(stretches); i++ {
		end := len(xs)
		if i+1 < len(stretches) {
			end = stretches[i+1].from
		}
		part := xs[from:end]
		mid := from + cutOf(part)
		found = append(found, ChangePoint{At: at[mid], Before: median(xs[from:mid]), After: median(xs[mid:end]), P: cuts[stretches[i].from]})
		from = mid
	}
	return found
}

// cutOf cuts a stretch with one change where the distances from the medians of both parts
// are least: ranks find a great change, but not exactly where.
func cutOf(xs []float64) (cut int) {
	least := math.Inf(1)
	for c := changeLeast; c <= len(xs)-changeLeast; c++ {
		if x := distances(xs[:c]) + distances(xs[c:]); x < least {
			cut, least = c, x
		}
	}
	return cut
}

func distances(xs []float64) (sum float64) {
	m := median(xs)
	for _, x := range xs {
		sum += math.Abs(x - m)
	}
	return sum
}

func median(xs []float64) float64 { return medianIn(slices.Clone(xs)) }

type changeStretch struct {
	from  int
	ranks []float64 // within the stretch, less their mean and over their standard deviation; 0 where all are equal
}

func newChangeStretch(xs []float64, from int) changeStretch {
	s := changeStretch{from, midRanks(xs)}
	mean, variance := stat.PopMeanVariance(s.ranks, nil)
	for i := range s.ranks {
		if s.ranks[i] -= mean; variance > 0 {
			s.ranks[i] /= math.Sqrt(variance)
		}
	}
	return s
}

// midRanks are the ranks of xs from 1; equal ones share theirs.
func midRanks(xs []float64) []float64 {
	sorted, order := slices.Clone(xs), make([]int, len(xs))
	floats.Argsort(sorted, order)
	ranks := make([]float64, len(xs))
	for i := 0; i < len(xs); {
		j := i
		for j < len(xs) && sorted[j] == sorted[i] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

// best returns the stretch, the place to cut it and the score; 0 if nothing can be cut.
func best(stretches []changeStretch) (at, cut int, score float64) {
	for i, s := range stretches {
		if c, x := bestCut(s.ranks); x > score {
			at, cut, score = i, c, x
		}
	}
	return at, cut, score
}

// bestCut returns where the means before and after, up to some end, differ most.
func bestCut(ranks []float64) (cut int, score float64) {
	n := len(ranks)
	sums := make([]float64, n+1)
	for i, r := range ranks {
		sums[i+1] = sums[i] + r
	}
	step := max(1, n/changeEnds)
	for end := n; end >= 2*changeLeast; end -= step {
		for c := changeLeast; c <= end-changeLeast; c++ {
			before, after := float64(c), float64(end-c)
			d := sums[c]/before - (sums[end]-sums[c])/after
			if x := d * d * before * after / (before + after); x > score {
				cut, score = c, x
			}
		}
	}
	return cut, score
}

// changeChance is the share of random orders whose best cut scores as much. It stops when
// that exceeds ChangeAlpha.
func changeChance(rng *rand.Rand, stretches []changeStretch, score float64) float64 {
	const most = ChangeAlpha * (changePermutations + 1)
	shuffled := make([]changeStretch, len(stretches))
	for i, s := range stretches {
		shuffled[i] = changeStretch{s.from, slices.Clone(s.ranks)}
	}
	as := 1 // the order that was seen is one of them
	for n := 1; n <= changePermutations; n++ {
		for _, s := range shuffled {
			rng.Shuffle(len(s.ranks), func(i, j int) { s.ranks[i], s.ranks[j] = s.ranks[j], s.ranks[i] })
		}
		if _, _, x := best(shuffled); x >= score*(1-1e-9) { // sums in another order differ by roundings
			if as++; float64(as) > most {
				return float64(as) / float64(n+1)
			}
		}
	}
	return float64(as) / (changePermutations + 1)
}
