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

// A signTest tests the first values of d, as many as it is asked for.
type signTest struct {
	d     []float64
	near  float64 // values closer than this are tied
	order []int   // of d by magnitude
	kept  []float64
	ranks []int     // scratch: doubled, of values that are not zero
	ways  []float64 // scratch
}

func newSignTest(d []float64, near float64) *signTest {
	t := &signTest{d: d, near: near, order: make([]int, len(d)), kept: make([]float64, 0, len(d)), ranks: make([]int, 0, len(d))}
	for i := range t.order {
		t.order[i] = i
	}
	slices.SortFunc(t.order, func(a, b int) int { return cmp.Compare(math.Abs(d[a]), math.Abs(d[b])) })
	return t
}

// p returns the two-sided p-value of the first n values.
func (t *signTest) p(n int) float64 {
	t.kept = t.kept[:0]
	for _, i := range t.order {
		if i < n {
			t.kept = append(t.kept, t.d[i])
		}
	}
	t.ranks = t.ranks[:0]
	positive, total, tied := 0, 0, false
	for i := 0; i < n; {
		j := i + 1
		zero := math.Abs(t.kept[i]) <= t.near
		for j < n && (math.Abs(t.kept[j])-math.Abs(t.kept[j-1]) <= t.near && !zero || math.Abs(t.kept[j]) <= t.near) {
			j++
		}
		tied = tied || zero || j > i+1
		if !zero {
			for _, v := range t.kept[i:j] {
				rank := i + j + 1 // twice the mean of i+1 to j
				t.ranks = append(t.ranks, rank)
				total += rank
				if v > 0 {
					positive += rank
				}
			}
		}
		i = j
	}
	return min(1, 2*t.tail(min(positive, total-positive), tied))
}

// tail returns the probability of a sum of positive ranks of at most sum, which is at most
// half of all.
func (t *signTest) tail(sum int, tied bool) float64 {
	n := len(t.ranks)
	switch {
	case sum == 0:
		return math.Ldexp(1, -n)
	case n > exactRanks:
		mean, variance := 0.0, 0.0
		for _, r := range t.ranks {
			mean += float64(r) / 4
			variance += float64(r) * float64(r) / 16
		}
		return distuv.UnitNormal.CDF((float64(sum)/2 + 0.5 - mean) / math.Sqrt(variance))
	case !tied:
		return untied(n)[sum/2]
	}
	t.ways = waysTo(t.ways, t.ranks, sum)
	all := 0.0
	for _, w := range t.ways {
		all += w
	}
	return math.Ldexp(all, -n)
}

// waysTo counts the subsets of ascending ranks that add up to 0, 1, … sum.
func waysTo(ways []float64, ranks []int, sum int) []float64 {
	ways = append(ways[:0], make([]float64, sum+1)...)
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
	below := waysTo(nil, ranks, n*(n+1)/4)
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
