package analysis

import (
	"iter"
	"math"
	"time"

	"github.com/dynolab/dyno"
)

// A Heat is latency over time: how many requests that were due in a stretch of
// the window took about how long, and what of it was collections.
type Heat struct {
	From, To   time.Duration // since the window began
	Low, High  time.Duration // the least latency and the greatest
	Counts     [][]int64     // of requests that succeeded, by row, the fastest first, and column
	Collecting []float64     // share of each column's time in which a collection was under way
	Stops      []int         // stop-the-worlds that began in each column
}

// NewHeat reads requests twice and counts those that were due from one time to
// another into so many rows, of equal ratio, and columns. To 0 is the last
// request's end. The error is the sequence's.
func NewHeat(requests iter.Seq2[dyno.Request, error], cs []dyno.Collection, from, to time.Duration, rows, columns int) (*Heat, error) {
	h := &Heat{From: from, To: to, Low: math.MaxInt64}
	last := time.Duration(0)
	for r, err := range requests {
		if err != nil {
			return nil, err
		}
		last = max(last, r.Done)
		if took, in := h.takes(&r); in {
			h.Low, h.High = min(h.Low, took), max(h.High, took)
		}
	}
	h.Low = min(h.Low, h.High)
	if h.To = min(h.To, last); to == 0 {
		h.To = last
	}
	h.Counts = make([][]int64, rows)
	for i := range h.Counts {
		h.Counts[i] = make([]int64, columns)
	}
	for r, err := range requests {
		if err != nil {
			return nil, err
		}
		if took, in := h.takes(&r); in {
			h.Counts[h.row(took)][h.column(r.Due, columns)]++
		}
	}
	h.collections(cs, columns)
	return h, nil
}

// takes returns how long a request took and whether it is in the map.
func (h *Heat) takes(r *dyno.Request) (time.Duration, bool) {
	in := !r.Failed && r.Due >= h.From && (h.To == 0 || r.Due <= h.To)
	return max(r.Done-r.Due, 1), in
}

// row is where a latency is counted.
func (h *Heat) row(took time.Duration) int {
	if h.High == h.Low {
		return 0
	}
	x := math.Log(float64(took)/float64(h.Low)) / math.Log(float64(h.High)/float64(h.Low))
	return max(0, min(int(x*float64(len(h.Counts))), len(h.Counts)-1))
}

// Edge is the least latency of a row.
func (h *Heat) Edge(row int) time.Duration {
	return time.Duration(float64(h.Low) * math.Pow(float64(h.High)/float64(max(h.Low, 1)), float64(row)/float64(len(h.Counts))))
}

func (h *Heat) column(at time.Duration, columns int) int {
	if h.To <= h.From {
		return 0
	}
	return max(0, min(int(float64(at-h.From)/float64(h.To-h.From)*float64(columns)), columns-1))
}

func (h *Heat) collections(cs []dyno.Collection, columns int) {
	h.Collecting, h.Stops = make([]float64, columns), make([]int, columns)
	wide := float64(h.To-h.From) / float64(columns)
	for _, x := range collecting(cs, h.To).list {
		if x.to < h.From || wide <= 0 {
			continue
		}
		for i := h.column(x.from, columns); i <= h.column(x.to, columns); i++ {
			left := float64(h.From) + float64(i)*wide
			h.Collecting[i] += max(0, min(float64(x.to), left+wide)-max(float64(x.from), left)) / wide
		}
	}
	for _, x := range stopped(cs, h.To).list {
		if x.from >= h.From {
			h.Stops[h.column(x.from, columns)]++
		}
	}
}
