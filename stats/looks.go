package stats

import (
	"math"
	"slices"
)

// RunLooks are the numbers of blocks after which a run of services may end that decides
// itself how many it takes. Five looks share the error. The first has enough degrees of
// freedom for changes of about 3 deviations of a block, each other waits for 60 % more,
// and the last is the most such a run takes. Not to be changed: runs of before would be
// judged by other looks than they ended at.
var RunLooks = []int{6, 10, 16, 25, 40}

// GateLooks are those of RunLooks that can find anything by signed ranks at 0.001, if
// just they share it: it takes 13 blocks, as 3·2^(1-13) = 0.0007.
var GateLooks = RunLooks[2:]

// MoreLooks are the looks of a run that was extended and now has so many blocks: those of
// looks that it reached, the ends after which it was judged and extended, and blocks. There
// are as many as looks, and as it may have ends in all; those that it does not have repeat
// the last. So however often it is extended, the verdict on the whole keeps its error.
// Note: a run that is extended only if it found nothing had its error at the first verdict,
// too; both together err at most twice as often.
func MoreLooks(looks, ends []int, blocks, most int) []int {
	of := append(slices.Clone(ends), blocks)
	for _, n := range looks {
		if n < blocks {
			of = append(of, n)
		}
	}
	slices.Sort(of)
	of = slices.Compact(of)
	for all := len(looks) + most + 1; len(of) < all; {
		of = append(of, blocks)
	}
	return of
}

// CompareLooks is Compare for a run that ended at one of the looks, numbers of blocks
// fixed beforehand and ascending; row i of blocks is block i, also if nothing is known
// of it. Then Single and Adjusted allow for all looks, whatever made the run end.
//
//   - They rest on the number of looks times the smallest P of those reached: Bonferroni's
//     inequality, which holds however the looks depend on one another.
//   - A last number of blocks between looks stands for the next look: when the time is up
//     is not what the blocks say.
//   - Blocks beyond the last look do not count.
//
// Without looks it is Compare.
func CompareLooks(blocks [][]float64, looks []int) []Comparison {
	cs := Compare(blocks)
	earlier := map[int][]Comparison{}
	for j := range cs {
		cs[j].over(looks, len(blocks), func(n int) float64 {
			if earlier[n] == nil {
				earlier[n] = Compare(blocks[:n])
			}
			if j >= len(earlier[n]) {
				return math.NaN()
			}
			return earlier[n][j].P
		})
	}
	return cs
}

// over sets what c, which is of all of n blocks, keeps of its looks, and Adjusted. p
// returns the p-value of the first so many blocks, fewer than n; NaN if there is none.
func (c *Comparison) over(looks []int, n int, p func(blocks int) float64) {
	c.Adjusted = c.P
	if len(looks) == 0 || math.IsNaN(c.P) {
		return
	}
	c.looks, c.least = len(looks), 1
	for _, look := range looks {
		if look >= n { // a look, or in the place of one
			c.least = min(c.least, c.P)
			break
		}
		if p := p(look); p < c.least { // not if NaN
			c.least = p
		}
	}
	c.Adjusted = c.Single()
}

// Single returns P protected for looks only, as if this were the only comparison; without
// looks it is P.
func (c Comparison) Single() float64 {
	if c.looks == 0 {
		return c.P
	}
	return min(1, c.least*float64(c.looks))
}

// allowed is the part of an error that one look at c may take.
func (c Comparison) allowed(alpha float64) float64 {
	return alpha / float64(max(1, c.looks))
}
