package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactRanks is the most values whose signed ranks are counted out; beyond, the normal is
// close and errs on the safe side.
const exactRanks = 200

// signedP returns the two-sided p-value of d; values closer than near are tied.
func signedP(d []float64, near float64) float64 {
	d = slices.Clone(d)
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var ranks []int // doubled, of values that are not zero
	positive, total, tied := 0, 0, false
	for i := 0; i < len(d); {
		j := i + 1
		zero := math.Abs(d[i]) <= near
		for j < len(d) && (math.Abs(d[j])-math.Abs(d[j-1]) <= near && !zero || math.Abs(d[j]) <= near) {
			j++
		}
		tied = tied || zero || j > i+1
		if !zero {
			for _, v := range d[i:j] {
				rank := i + j + 1 // twice the mean of i+1 to j
				ranks = append(ranks, rank)
				total += rank
				if v > 0 {
					positive += rank
				}
			}
		}
		i = j
	}
	return min(1, 2*tail(ranks, min(positive, total-positive), tied))
}

// tail returns the probability of a sum of positive ranks of at most sum, which is at most
// half of all.
func tail(ranks []int, sum int, tied bool) float64 {
	n := len(ranks)
	switch {
	case sum == 0:
		return math.Ldexp(1, -n)
	case n > exactRanks:
		mean, variance := 0.0, 0.0
		for _, r := range ranks {
			mean += float64(r) / 4
			variance += float64(r) * float64(r) / 16
		}
		return distuv.UnitNormal.CDF((float64(sum)/2 + 0.5 - mean) / math.Sqrt(variance))
	case !tied:
		return untied(n)[sum/2]
	}
	all := 0.0
	for _, w := range waysTo(ranks, sum) {
		all += w
	}
	return math.Ldexp(all, -n)
}

// waysTo counts the subsets of ascending ranks that add up to 0, 1, … sum.
func waysTo(ranks []int, sum int) []float64 {
	ways := make([]float64, sum+1)
	ways[0] = 1
	top := 0
	for _, r := range ranks {
		if r > sum {
			break
		}
		top = min(sum, top+r)
		to, from := ways[r:top+1], ways[:top+1-r]
		for s := len(to) - 1; s >= 0; s-- {
			to[s] += from[s]
		}
	}
	return ways
}

// distributions caches untied.
var distributions sync.Map

// untied returns the probabilities of a sum of at most 0, 1, … half of the whole for n ≤
// exactRanks values without ties and zeros.
func untied(n int) []float64 {
	if v, ok := distributions.Load(n); ok {
		return v.([]float64)
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	below := waysTo(ranks, n*(n+1)/4)
	all := 0.0
	for i, w := range below {
		all += w
		below[i] = math.Ldexp(all, -n)
	}
	distributions.Store(n, below)
	return below
}

// critical returns the largest sum with a probability of at most p < 1/2 for n values
// without ties; -1 for none.
func critical(n int, p float64) int {
	if n <= exactRanks {
		below := untied(n)
		return sort.Search(len(below), func(i int) bool { return below[i] > p }) - 1
	}
	m := float64(n)
	mean, sd := m*(m+1)/4, math.Sqrt(m*(m+1)*(2*m+1)/24)
	return int(max(-1, math.Floor(mean-0.5+sd*distuv.UnitNormal.Quantile(p))))
}
