package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// The methods by which a Comparison was made, as Comparison.Method says them.
const (
	methodNone       = ""                                            // fewer than two pairs: nothing was tested
	methodPaired     = "paired t on log ratios"                      // the pair's own variance
	methodAverage    = "paired t on log ratios, averaged variance"   // all comparisons' variances, being alike
	methodComponents = "paired t on log ratios, variance components" // the two settings' variances, blocks known from all
	methodDiff       = "paired t on differences"                     // a value was zero or negative
	methodConstant   = "exact permutation"                           // neither setting varied at all
	methodLockstep   = "sign test"                                   // both varied, their ratio or difference never
)

// A Comparison is one setting against the baseline for one metric. Compare makes it and Adjust
// completes it; CompareRanks and GateRanks make complete ones.
type Comparison struct {
	// Ratio is setting over baseline: exp of the mean log ratio within blocks. Lo and Hi
	// are its 95 % interval, which holds whenever the blocks are looked at, and is not
	// widened for the family. NaN if a value is zero or negative; Lo and Hi also below
	// FewestBlocks pairs. Without spread they equal Ratio, if the pairs are enough for that.
	Ratio, Lo, Hi float64
	// Diff is the mean of setting minus baseline, in the metric's unit; NaN without pairs.
	Diff float64
	// P is two-sided, of these blocks alone. NaN below two pairs.
	P float64
	// Adjusted is P protected for looks and for the family of Tests comparisons, for
	// verdicts. Until Adjust it is Single, and Tests 1.
	Adjusted float64
	Tests    int
	// N is the number of blocks in which both trials are there.
	N int
	// SD is the standard deviation of one block's log ratio, or of its difference (the
	// metric's unit) if Ratio is NaN: about √2 times a trial's. NaN below two pairs.
	SD float64
	// DF is the degrees of freedom of SD: N-1, or more where other settings help; 0 below
	// two pairs.
	DF float64
	// Method names the test for reports; empty if none was made.
	Method string

	ranks *ranks // by CompareRanks; else nil
	looks looking
}

// looking is at which numbers of blocks a comparison may be looked at.
type looking int

const (
	lastOnly looking = 0  // at the last only, which was fixed beforehand
	anyBlock looking = -1 // after each
	// If positive, at one of so many that were fixed beforehand.
)

// Single returns P protected for looks only, as if this were the only comparison.
func (c Comparison) Single() float64 {
	switch {
	case math.IsNaN(c.P), c.looks == lastOnly:
		return c.P
	case c.looks > 0:
		return min(1, c.P*float64(c.looks))
	case c.ranks != nil:
		return anytimeRanks(c.P, c.N)
	}
	return anytime(c.P, c.N)
}

// allowed is the P at which Single of n blocks is alpha.
func (c Comparison) allowed(alpha float64, n int) float64 {
	switch {
	case c.looks == lastOnly:
		return alpha
	case c.looks > 0:
		return alpha / float64(c.looks)
	case n < FewestBlocks:
		return 0
	case c.ranks != nil:
		return alpha / ranksFactor / lateness(n)
	}
	return once(alpha, n)
}

// Compare compares every setting with the baseline for one metric. Row i of blocks holds
// block i, column 0 being the baseline's; NaN, infinite or absent cells are missing, and
// leave their block out of the pair. Element j-1 of the result is setting j. What it says
// holds whenever it is asked: a run may be looked at, and ended or extended, after any block.
func Compare(blocks [][]float64) []Comparison { return compareBlocks(blocks, anyBlock) }

func compareBlocks(blocks [][]float64, looks looking) []Comparison {
	settings := 0
	for _, row := range blocks {
		settings = max(settings, len(row))
	}
	if settings < 2 {
		return nil
	}
	logs := make([][]float64, len(blocks))
	for i, row := range blocks {
		logs[i] = make([]float64, settings)
		for j := range logs[i] {
			logs[i][j] = math.NaN()
			if v := at(row, j); v > 0 {
				logs[i][j] = math.Log(v)
			}
		}
	}
	out := make([]Comparison, settings-1)
	for j := range out {
		out[j] = compareSetting(blocks, logs, j+1, looks)
	}
	return out
}

// at returns cell j of a row, NaN if it is absent or not usable.
func at(row []float64, j int) float64 {
	if j >= len(row) || !usable(row[j]) {
		return math.NaN()
	}
	return row[j]
}

// compareSetting compares setting j with the baseline; logs are NaN where no logarithm exists.
func compareSetting(blocks, logs [][]float64, j int, looks looking) Comparison {
	nan := math.NaN()
	c := Comparison{Ratio: nan, Lo: nan, Hi: nan, Diff: nan, P: nan, Adjusted: nan, Tests: 1, SD: nan, looks: looks}
	var rows []int // the blocks that have both
	positive, constant := true, true
	scale := 0.0 // largest magnitude, so that no square overflows
	for i, row := range blocks {
		x, y := at(row, 0), at(row, j)
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		rows = append(rows, i)
		positive = positive && x > 0 && y > 0
		scale = max(scale, math.Abs(x), math.Abs(y))
		first := blocks[rows[0]]
		constant = constant && x == first[0] && y == first[j]
	}
	if c.N = len(rows); c.N == 0 {
		return c
	}
	if scale == 0 {
		scale = 1
	}
	d := make([]float64, c.N)
	for n, i := range rows {
		d[n] = blocks[i][j]/scale - blocks[i][0]/scale
	}
	mean, variance := meanVar(d)
	c.Diff = mean * scale
	c.Method = methodDiff
	if positive {
		for n, i := range rows {
			d[n] = logs[i][j] - logs[i][0]
		}
		mean, variance = meanVar(d)
		scale = 1
		c.Ratio, c.Method = expFinite(mean), methodPaired
	}
	if c.N < 2 {
		c.Method = methodNone
		return c
	}
	c.DF = float64(c.N - 1)
	if still(d) {
		c.SD = 0
		c.Method = methodLockstep
		if constant {
			c.Method = methodConstant
		}
		if mean == 0 {
			c.P = 1
		} else {
			c.P = exactP(c.Method, c.N)
		}
		c.Adjusted = c.Single()
		c.Lo, c.Hi = c.Interval(0.05)
		return c
	}
	if positive {
		if v, df, method := borrow(logs, rows, j); df > 0 {
			variance, c.DF, c.Method = v, df, method
		}
	}
	se := math.Sqrt(variance / float64(c.N))
	c.SD = math.Sqrt(variance) * scale
	c.P = tailT(mean/se, c.DF)
	c.Adjusted = c.Single()
	c.Lo, c.Hi = c.Interval(0.05)
	return c
}

// meanVar returns the mean and the variance (divisor n-1; 0 for one number).
func meanVar(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(max(1, len(xs)-1))
}

// still reports whether the numbers, scaled to about 1, differ by rounding only.
func still(xs []float64) bool {
	lo, hi := xs[0], xs[0]
	for _, x := range xs {
		lo, hi = min(lo, x), max(hi, x)
	}
	return hi-lo <= 1e-12
}

// exactP returns the p-value of a difference without spread, where t is infinite. If
// neither setting varied, 2 of the C(2n,n) ways to deal the trials are as extreme. If they
// varied in lockstep, only the n signs count.
func exactP(method string, n int) float64 {
	if method == methodLockstep {
		return math.Ldexp(1, 1-n)
	}
	p := 2.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(n+i)
	}
	return p
}

// expFinite is exp kept within what JSON can carry.
func expFinite(x float64) float64 { return math.Exp(max(-700, min(700, x))) }

// Unpaired returns the ratio of the geometric means of two samples that were not measured together, such
// as those of two machines, and its 95 % interval: Welch's t test of the logarithms (Biometrika 34, 1947).
// It is NaN with fewer than two values in a sample, or one that is not positive.
func Unpaired(base, other []float64) (ratio, lo, hi float64) {
	logs := func(xs []float64) (ys []float64) {
		for _, x := range xs {
			ys = append(ys, math.Log(x)) // NaN and -Inf spread
		}
		return ys
	}
	nan := math.NaN()
	if len(base) < 2 || len(other) < 2 {
		return nan, nan, nan
	}
	m1, v1 := meanVar(logs(base))
	m2, v2 := meanVar(logs(other))
	n1, n2 := float64(len(base)), float64(len(other))
	s1, s2 := v1/n1, v2/n2
	d := m2 - m1
	if math.IsNaN(d) || math.IsInf(d, 0) {
		return nan, nan, nan
	}
	half := 0.0
	if s := s1 + s2; s > 0 {
		df := s * s / (s1*s1/(n1-1) + s2*s2/(n2-1))
		half = distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975) * math.Sqrt(s)
	}
	return expFinite(d), expFinite(d - half), expFinite(d + half)
}
