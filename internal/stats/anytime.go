package stats

import (
	"math"
	"sort"
)

// FewestBlocks is the least number of blocks with a verdict or an interval. In fewer, chance
// alone makes trials agree: of launches in two modes each pair of four blocks is the same in
// 3 % of runs, and then t is as large as one likes.
const FewestBlocks = 6

// freeBlocks is up to which number of blocks a look is no dearer: what most runs take. Each
// look beyond costs the square of how many times that it is. So all looks after it, however
// many there are, cost a fifth of the error, and intervals become narrower with every block.
const freeBlocks = 40

// anytime returns a p-value that may be looked at after each block, and by which a run may be
// ended at any of them: if nothing differs, any of n = FewestBlocks, FewestBlocks+1, … blocks
// has an anytime(p, n) of alpha or less with probability alpha at most. p is that of a t test
// of n blocks.
//
// The chance of a normal random walk to leave p < x at any of so many times is nearly
// x·(a + b·log(1/x)) (Siegmund, Sequential Analysis 1985, (4.40), has the logarithm as the square of the
// limit). a and b are fitted to 1,000,000 simulated runs up to 320 blocks, and TestAnytime
// holds them against others.
//
// Note: an e-process (Lai, Ann. Statist. 4, 1976) needs no simulation and no last block, but finds
// a change of one deviation in a family of five after 18.3 blocks instead of 16.6. Five
// looks after 6, 10, 16, 25 and 40 blocks find it after 18.8, and have to be
// known by whoever ends a run.
func anytime(p float64, n int) float64 {
	if n < FewestBlocks {
		return 1
	}
	return min(1, looks(p*lateness(n)))
}

func lateness(n int) float64 {
	late := max(1, float64(n)/freeBlocks)
	return late * late
}

// looks is x·(a + b·log(1/x)), which grows with x up to 1.
func looks(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * (1.7 + 1.35*math.Log(1/min(x, 1)))
}

// once inverts anytime: the p-value of n blocks that alpha takes; 0 if no p-value is small enough.
func once(alpha float64, n int) float64 {
	if n < FewestBlocks || !(alpha > 0) {
		return 0
	}
	lo, hi := math.Log(alpha)-20, min(0, math.Log(alpha))
	const steps = 1 << 30
	at := func(i int) float64 { return lo + (hi-lo)*float64(i)/steps }
	i := sort.Search(steps, func(i int) bool { return looks(math.Exp(at(i))) > alpha })
	return math.Exp(at(max(i-1, 0))) / lateness(n)
}

// anytimeRanks is anytime for signed ranks, whose p-values are coarse: they take fewer
// values, so a run is on more of its blocks where it was. 9 is what 0.1 % takes, more than
// larger errors do (TestAnytimeRanks), and 10 costs no block: 15 that agree are the least at 0.1 %.
func anytimeRanks(p float64, n int) float64 {
	if n < FewestBlocks {
		return 1
	}
	return min(1, ranksFactor*lateness(n)*p)
}

const ranksFactor = 10
