package stats

import (
	"math"
	"slices"
)

// finest is the number of cells of a long series: more cost time and bring
// autocorrelation.
const finest = 64

// A series is a course of readings, all of them usable, in the order of time.
type series struct {
	at, value []float64
}

func seriesOf(at, value []float64) series {
	var s series
	for i := range min(len(at), len(value)) {
		if usable(at[i]) && usable(value[i]) {
			s.at, s.value = append(s.at, at[i]), append(s.value, value[i])
		}
	}
	return s
}

func (s series) span() float64 { return s.at[len(s.at)-1] - s.at[0] }

// bins returns the median of each of at most k cells of equal time, at the mean of its
// times, so that a lone outlier has no say. A series of at most k readings only loses
// repeated times.
func (s series) bins(k int) series {
	var b series
	n, span := len(s.at), s.span()
	if !(span > 0) {
		return b
	}
	cell := func(i int) int {
		if n <= k {
			return i
		}
		return min(k-1, int((s.at[i]-s.at[0])/span*float64(k)))
	}
	s.value = s.clipped()
	buf := make([]float64, 0, 2*n/k+8)
	for i := 0; i < n; {
		j := i
		sum := 0.0
		for j < n && (cell(j) == cell(i) || s.at[j] == s.at[i]) {
			sum += s.at[j] - s.at[0]
			j++
		}
		buf = append(buf[:0], s.value[i:j]...)
		b.at = append(b.at, s.at[0]+sum/float64(j-i))
		b.value = append(b.value, medianIn(buf))
		i = j
	}
	return b
}

// clipped returns the values with lone outliers moved to within 3 robust deviations of the
// median of five (Hampel's filter). Steps and slopes stay.
func (s series) clipped() []float64 {
	n := len(s.value)
	middle := make([]float64, n)
	far := make([]float64, n)
	var buf [5]float64
	for i := range middle {
		lo := max(0, min(i-2, n-len(buf)))
		middle[i] = medianIn(append(buf[:0], s.value[lo:lo+len(buf)]...))
		far[i] = math.Abs(s.value[i] - middle[i])
	}
	most := 3 * 1.4826 * medianIn(slices.Clone(far))
	out := slices.Clone(s.value)
	for i, d := range far {
		if most > 0 && d > most {
			out[i] = middle[i] + math.Copysign(most, s.value[i]-middle[i])
		}
	}
	return out
}

// medianIn returns the median of xs, which it reorders.
func medianIn(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	return xs[(n-1)/2] + (xs[n/2]-xs[(n-1)/2])/2
}

func (s series) groups(k int) series {
	n := len(s.at)
	if n <= k {
		return s
	}
	var g series
	for i := range k {
		lo, hi := i*n/k, (i+1)*n/k
		at, _ := meanVar(s.at[lo:hi])
		v, _ := meanVar(s.value[lo:hi])
		g.at, g.value = append(g.at, at), append(g.value, v)
	}
	return g
}

// quantum returns the unit of a counter: the least difference if a quarter of the readings
// repeat others, else 1 for whole numbers, else 0. If all are equal it is guessed: 1 below
// 65,536, else the largest power of two up to 1 MiB that divides it.
func (s series) quantum() float64 {
	vs := slices.Clone(s.value)
	slices.Sort(vs)
	q, same := math.Inf(1), 0
	for i := 1; i < len(vs); i++ {
		if d := vs[i] - vs[i-1]; d > 0 {
			q = min(q, d)
		} else {
			same++
		}
	}
	switch {
	case same < len(vs)/4 && slices.ContainsFunc(vs, func(v float64) bool { return v != math.Trunc(v) }):
		return 0
	case same < len(vs)/4:
		return 1
	case same < len(vs)-1:
		return q
	}
	v := math.Abs(vs[0])
	switch {
	case v != math.Trunc(v) || v > 1<<62:
		return v
	case v < 1<<16:
		return 1
	}
	q = 1
	for q < 1<<20 && math.Mod(v, 2*q) == 0 {
		q *= 2
	}
	return q
}
