package stats

import (
	"math"
	"slices"
)

// alikeLevel is the level, shared over the comparisons, at which variances count as
// different. Averaging different ones costs wrong verdicts, not averaging only a little
// power; doc/method/verdicts.md has figures.
const alikeLevel = 0.9

// borrow estimates the variance of setting j's log ratio from more than the pair, which has
// numbers in rows. df is 0 if the pair's own is to be used. Settings with a number in each
// of these rows lend; below four settings there is little to lend.
func borrow(logs [][]float64, rows []int, j int) (variance, df float64, method string) {
	var cols []int // the pair and the settings that lend
	for l := range logs[0] {
		missing := slices.ContainsFunc(rows, func(i int) bool { return math.IsNaN(logs[i][l]) })
		if l == 0 || l == j || !missing {
			cols = append(cols, l)
		}
	}
	nu := float64(len(rows) - 1)
	if len(cols) < 4 || nu < 2 {
		return 0, 0, ""
	}
	cov := residuals(logs, rows, cols)
	if variance, df, alike := cov.average(nu); alike {
		return variance, df, methodAverage
	}
	variance, df = cov.components(slices.Index(cols, j), nu)
	return variance, df, methodComponents
}

// A covariance is that of settings, less the means of blocks.
type covariance [][]float64

// residuals returns the covariance of the logarithms of cols in rows.
func residuals(logs [][]float64, rows, cols []int) covariance {
	k, n := len(cols), float64(len(rows))
	e := make([][]float64, len(rows)) // logarithms less the means of blocks and settings
	mean := make([]float64, k)
	for r, i := range rows {
		var block float64
		for _, l := range cols {
			block += logs[i][l] / float64(k)
		}
		e[r] = make([]float64, k)
		for a, l := range cols {
			e[r][a] = logs[i][l] - block
			mean[a] += e[r][a] / n
		}
	}
	cov := make(covariance, k)
	for a := range cov {
		cov[a] = make([]float64, k)
	}
	for r := range e {
		for a := range k {
			e[r][a] -= mean[a]
			for b := 0; b <= a; b++ {
				cov[a][b] += e[r][a] * e[r][b] / (n - 1)
				cov[b][a] = cov[a][b]
			}
		}
	}
	return cov
}

// average returns the mean of the variances of all log ratios, and whether they are alike
// enough for it: the largest is tested against the mean of the others by F. All share the
// baseline, so the degrees of freedom are Satterthwaite's, ν·(tr S)²/tr(S²) for their
// covariance S (Box, Ann. Math. Statist. 25, 1954).
func (c covariance) average(nu float64) (variance, df float64, alike bool) {
	k := len(c)
	largest := 1
	for a := 2; a < k; a++ {
		if c.ratio(a, a) > c.ratio(largest, largest) {
			largest = a
		}
	}
	var sum, squares, restSum, restSquares float64
	for a := 1; a < k; a++ {
		for b := 1; b < k; b++ {
			s := c.ratio(a, b)
			if a == b {
				sum += s
			}
			squares += s * s
			if a != largest && b != largest {
				if a == b {
					restSum += s
				}
				restSquares += s * s
			}
		}
	}
	if !(restSum > 0) { // the others did not vary
		return 0, 0, false
	}
	rest := restSum / float64(k-2)
	restDF := nu * restSum * restSum / restSquares
	p := tailF(c.ratio(largest, largest)/rest, nu, restDF)
	return sum / float64(k-1), nu * sum * sum / squares, p*float64(k-1) >= alikeLevel
}

// ratio returns the covariance of the log ratios of columns a and b to column 0.
func (c covariance) ratio(a, b int) float64 {
	return c[a][b] - c[a][0] - c[0][b] + c[0][0]
}

// components returns the variance of the log ratio of column j to column 0 as the sum of
// the two settings' own. With k >= 4 settings the block's share is known better than from
// the pair (Grubbs, JASA 43, 1948): for y_ij = block_i + setting_j + noise with variance
// s_j², residuals e_ij and M_j = Σ_i e_ij²/(n-1),
//
//	s_0²+s_j² = k/(k-2) · (M_0 + M_j - 2/(k(k-1)) · ΣM)
//
// without bias. df is 0 if that is no better than the pair's own.
func (c covariance) components(j int, nu float64) (variance, df float64) {
	k := len(c)
	own, rest := weights(k)
	weight := func(a int) float64 {
		if a == 0 || a == j {
			return own
		}
		return rest
	}
	var squares float64 // trace of (A·cov)², A the diagonal of the weights
	for a := range k {
		wa, row := weight(a), c[a]
		variance += wa * row[a]
		for b := range k {
			squares += wa * weight(b) * row[b] * row[b]
		}
	}
	df = nu * variance * variance / squares
	if !(variance > 0) || !(df >= nu) {
		return 0, 0
	}
	// The sum of two variances is not known better than from the trials of both.
	return variance, min(df, 2*nu)
}

// weights returns what components gives to M of the pair's settings and of the others.
func weights(k int) (own, rest float64) {
	f := float64(k) / float64(k-2)
	rest = -f * 2 / float64(k*(k-1))
	return f + rest, rest
}
