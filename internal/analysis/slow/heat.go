package slow

import (
	"cmp"
	"math"
	"slices"
)

// A Cell is how many requests began in one second of a trace, and took about as long.
type Cell struct{ Second, Row, N int }

// Row is the row of a time in seconds: there are two for each doubling.
func Row(sec float64) int { return int(math.Floor(2 * math.Log2(max(sec, 1e-6)*1e6))) }

// RowFrom is where a row begins, in seconds.
func RowFrom(row int) float64 { return math.Exp2(float64(row)/2) / 1e6 }

func (t *Trace) heat(ones []one) (cells []Cell) {
	n := map[[2]int]int{}
	for i := range ones {
		o := &ones[i]
		n[[2]int{int((o.from - t.Begin) / 1e9), Row(float64(o.to-o.from) / 1e9)}]++
	}
	for at, n := range n {
		cells = append(cells, Cell{at[0], at[1], n})
	}
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Or(a.Second-b.Second, a.Row-b.Row) })
	return cells
}
