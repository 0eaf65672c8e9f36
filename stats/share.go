package stats

import (
	"math"
	"slices"
)

// alikeLevel is the level, shared over the comparisons, at which variances count as
// different. Averaging different ones costs wrong verdicts, not averaging only a little
// power; doc/method.md has figures.
const alikeLevel = 0.9

// share estimates the variance of setting j's log ratio from more than the pair, whose
// degrees of freedom are nu. df is 0 if the pair's own is to be used. Settings with a
// number in each of the pair's blocks lend; below four settings there is little to lend.
func (w *work) share(j int, nu float64) (variance, df float64, method string) {
	w.cols = w.cols[:0]
	for l := range w.settings {
		if l == 0 || l == j || w.lends(l) {
			w.cols = append(w.cols, l)
		}
	}
	if len(w.cols) < 4 || nu < 2 {
		return 0, 0, ""
	}
	w.res.take(w.logs, w.rows, w.cols)
	if variance, df, alike := w.res.average(nu); alike {
		return variance, df, methodAverage
	}
	variance, df = w.res.components(slices.Index(w.cols, j), nu)
	return variance, df, methodComponents
}

func (w *work) lends(l int) bool {
	for _, i := range w.rows {
		if math.IsNaN(w.logs[i][l]) {
			return false
		}
	}
	return true
}

// residuals are the logarithms less the means of blocks and settings. The last ones are
// kept: with no trial missing all comparisons use the same.
type residuals struct {
	rows, cols []int     // what cov was taken from
	cov        []float64 // len(cols) x len(cols)
	e, mean    []float64 // of one block; of the settings
}

func newResiduals(settings int) residuals {
	return residuals{
		cov:  make([]float64, settings*settings),
		e:    make([]float64, settings),
		mean: make([]float64, settings),
	}
}

// average returns the mean of the variances of all log ratios, and whether they are alike
// enough for it: the largest is tested against the mean of the others by F. All share the
// baseline, so the degrees of freedom are Satterthwaite's, ν·(tr S)²/tr(S²) for their
// covariance S (Box, Ann. Math. Statist. 25, 1954).
func (r *residuals) average(nu float64) (variance, df float64, alike bool) {
	k := len(r.cols)
	largest := 1
	for a := 2; a < k; a++ {
		if r.ratioCov(a, a) > r.ratioCov(largest, largest) {
			largest = a
		}
	}
	var sum, squares, restSum, restSquares float64
	for a := 1; a < k; a++ {
		for b := 1; b < k; b++ {
			s := r.ratioCov(a, b)
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
	p := tailF(r.ratioCov(largest, largest)/rest, nu, restDF)
	return sum / float64(k-1), nu * sum * sum / squares, p*float64(k-1) >= alikeLevel
}

// ratioCov returns the covariance of the log ratios of columns a and b to column 0.
func (r *residuals) ratioCov(a, b int) float64 {
	k := len(r.cols)
	return r.cov[a*k+b] - r.cov[a*k] - r.cov[b] + r.cov[0]
}

// components returns the variance of the log ratio of column j to column 0 as the sum of
// the two settings' own. With k >= 4 settings the block's share is known better than from
// the pair (Grubbs, JASA 43, 1948): for y_ij = block_i + setting_j + noise with variance
// s_j², residuals e_ij and M_j = Σ_i e_ij²/(n-1),
//
//	s_0²+s_j² = k/(k-2) · (M_0 + M_j - 2/(k(k-1)) · ΣM)
//
// without bias. df is 0 if that is no better than the pair's own.
func (r *residuals) components(j int, nu float64) (variance, df float64) {
	k := len(r.cols)
	own, rest := weights(k)
	weight := func(a int) float64 {
		if a == 0 || a == j {
			return own
		}
		return rest
	}
	var squares float64 // trace of (A·cov)², A the diagonal of the weights
	for a := range k {
		wa, row := weight(a), r.cov[a*k:(a+1)*k]
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

func (r *residuals) take(logs [][]float64, rows, cols []int) {
	if slices.Equal(r.rows, rows) && slices.Equal(r.cols, cols) {
		return
	}
	r.rows, r.cols = append(r.rows[:0], rows...), append(r.cols[:0], cols...)
	k, n := len(cols), float64(len(rows))
	clear(r.mean)
	clear(r.cov)
	centre := func(i int) {
		var block float64
		for _, l := range cols {
			block += logs[i][l] / float64(k)
		}
		for a, l := range cols {
			r.e[a] = logs[i][l] - block
		}
	}
	for _, i := range rows {
		centre(i)
		for a := range k {
			r.mean[a] += r.e[a] / n
		}
	}
	for _, i := range rows {
		centre(i)
		for a := range k {
			r.e[a] -= r.mean[a]
			for b := 0; b <= a; b++ {
				r.cov[a*k+b] += r.e[a] * r.e[b] / (n - 1)
				r.cov[b*k+a] = r.cov[a*k+b]
			}
		}
	}
}

// weights returns what components gives to M of the pair's settings and of the others.
func weights(k int) (own, rest float64) {
	f := float64(k) / float64(k-2)
	rest = -f * 2 / float64(k*(k-1))
	return f + rest, rest
}
