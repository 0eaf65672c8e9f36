package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ranks is what a Comparison by CompareRanks keeps for its intervals.
type ranks struct {
	sorted []float64
}

// median is the Hodges-Lehmann estimate.
func (k *ranks) median() float64 {
	n := len(k.sorted)
	all := n * (n + 1) / 2
	if all%2 == 1 {
		return k.walsh(all/2 + 1)
	}
	return k.walsh(all/2)/2 + k.walsh(all/2+1)/2
}

// interval returns the values that the test does not tell from the estimate: it misses the
// truth with probability alpha at most. Infinite if there are too few.
func (k *ranks) interval(alpha float64) (lo, hi float64) {
	n := len(k.sorted)
	c := critical(n, alpha/2)
	if c < 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return k.walsh(c + 1), k.walsh(n*(n+1)/2 - c)
}

// walsh returns the k-th smallest, from 1, of the means of all pairs, a value with itself
// too. It halves a range between such sums: some 20 passes in place of sorting n²/2.
func (k *ranks) walsh(kth int) float64 {
	d := k.sorted
	lo, hi := 2*d[0], 2*d[len(d)-1]
	for lo < hi {
		mid := lo + (hi-lo)/2
		if mid >= hi {
			mid = lo
		}
		count, below, above := around(d, mid)
		if count >= kth {
			hi = below
		} else {
			lo = above
		}
	}
	return lo / 2
}

// around counts the sums of two elements of ascending d up to x, and returns the largest
// of them and the smallest beyond.
func around(d []float64, x float64) (count int, below, above float64) {
	below, above = math.Inf(-1), math.Inf(1)
	j := len(d) - 1 // the last partner of d[i] within x
	for i := range d {
		for j >= i && d[i]+d[j] > x {
			above = min(above, d[i]+d[j])
			j--
		}
		if j < i {
			above = min(above, d[i]+d[i])
			break
		}
		if j+1 < len(d) {
			above = min(above, d[i]+d[j+1])
		}
		below = max(below, d[i]+d[j])
		count += j - i + 1
	}
	return count, below, above
}

// half foretells half the interval with n blocks; infinite if they are too few. By ranks
// the deviation is that of the 95 % interval, as an outlier would spoil SD.
func (c Comparison) half(n int, alpha float64) float64 {
	if alpha == 0 {
		return math.Inf(1)
	}
	if c.ranks == nil {
		return quantileT(alpha, c.DF*float64(n-1)/float64(c.N-1)) * c.SD / math.Sqrt(float64(n))
	}
	if math.Ldexp(1, 1-n) > alpha {
		return math.Inf(1)
	}
	sd := c.SD
	if c.N >= RankBlocks {
		lo, hi := c.ranks.interval(0.05)
		sd = (hi - lo) / 2 / normal95 * math.Sqrt(float64(c.N))
	}
	return -distuv.UnitNormal.Quantile(alpha/2) * sd / math.Sqrt(float64(n))
}

// normal95 is what the standard normal exceeds in 5 %, both tails together.
const normal95 = 1.959963984540054
