package timeline

import (
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/tail"
)

// A Scale is what the cells of a [Heat] stand for.
type Scale struct {
	From, To  time.Duration // of the columns, since the window began; To itself is not in it unless the window ends there
	Low, High time.Duration // of the rows, which have equal ratios; what is faster or slower is in the first row or the last
	Rows      int
	Columns   int
}

// A Heat counts the requests that were due over time by how long they took, with collections.
type Heat struct {
	Scale
	Counts     []uint32        // of requests that succeeded: column after column, of each its rows, the fastest first; nil if no request is known
	Collecting []float64       // share of each column's time in which a collection was under way, NaN after the window; nil if that is not known, as the next two
	Stops      []int           // stop-the-worlds that began in each column
	Longest    []time.Duration // of these

	begin, end int64   // what is due from begin to before end is counted
	columns    []int64 // where each begins
	perNano    float64 // columns
	rows       []int64 // where each begins
	near       []int   // a row near a latency's, by its leading bits: faster than a logarithm
}

// NewHeat makes a map without a count of a part of a window of that length.
func NewHeat(s Scale, window time.Duration) *Heat {
	if s.Low = max(s.Low, 1); s.High <= s.Low {
		s.High = 2 * s.Low
	}
	h := &Heat{Scale: s, begin: int64(s.From), end: int64(s.To)}
	if s.From <= 0 {
		h.begin = math.MinInt64
	}
	if s.To >= window {
		h.end = math.MaxInt64
	}
	wide := float64(max(s.To-s.From, 1))
	h.perNano = float64(s.Columns) / wide
	for c := range s.Columns {
		h.columns = append(h.columns, int64(s.From)+int64(math.Ceil(wide*float64(c)/float64(s.Columns))))
	}
	ratio := float64(s.High) / float64(s.Low)
	for r := range s.Rows {
		h.rows = append(h.rows, int64(math.Round(float64(s.Low)*math.Pow(ratio, float64(r)/float64(s.Rows)))))
	}
	row := 0
	for i := range uint64(64 << nearBits) {
		row = settle(h.rows, row, int64(math.Float64frombits((i+one)<<(52-nearBits))))
		h.near = append(h.near, row)
	}
	return h
}

// row is where a latency of at least 1 ns is counted.
func (h *Heat) row(took int64) int { return settle(h.rows, h.near[leading(took)], took) }

// leading is a latency's exponent and the first nearBits of its mantissa.
func leading(took int64) int { return int(math.Float64bits(float64(took))>>(52-nearBits)) - one }

const (
	nearBits = 5
	one      = 1023 << nearBits // the bits of 1.0
)

// column is where a time from begin to before end is counted.
func (h *Heat) column(at int64) int {
	guess := int(float64(at-int64(h.From)) * h.perNano)
	return settle(h.columns, max(0, min(guess, len(h.columns)-1)), at)
}

// settle is the last of ascending begins that is not after x, or 0; guess is near it.
func settle(begins []int64, guess int, x int64) int {
	for guess+1 < len(begins) && begins[guess+1] <= x {
		guess++
	}
	for guess > 0 && begins[guess] > x {
		guess--
	}
	return guess
}

func (h *Heat) within(at time.Duration) bool { return int64(at) >= h.begin && int64(at) < h.end }

// Edge is the least latency of a row.
func (h *Heat) Edge(row int) time.Duration { return time.Duration(h.rows[row]) }

// Count is how many requests are in a cell.
func (h *Heat) Count(row, column int) uint32 { return h.Counts[column*h.Rows+row] }

func (h *Heat) known() {
	if h.Counts == nil {
		h.Counts = make([]uint32, h.Rows*h.Columns)
	}
}

// Add counts those of the requests that were due in the map's time.
func (h *Heat) Add(t *dyno.Times) {
	h.known()
	for i, due := range t.Due {
		if due < h.begin || due >= h.end || t.Failed != nil && t.Failed[i] {
			continue
		}
		h.Counts[h.column(due)*h.Rows+h.row(max(t.Done[i]-due, 1))]++
	}
}

// AddLine counts a line of a latency log: requests by when they were done, which is known of
// all together. Each column gets its share of the line's time, in whole requests; what is
// left over goes to a column by chance, but always to the same.
func (h *Heat) AddLine(l *hist.Line) {
	h.known()
	if int64(l.To) < h.begin || int64(l.From) >= h.end {
		return
	}
	from, long := int64(l.From), float64(max(l.To-l.From, 1))
	first, last := h.column(max(from, h.begin)), h.column(min(int64(l.To), h.end-1))
	// upTo is the share of the line before a time, where what the map leaves open is its own.
	upTo := func(at int64) float64 { return max(0, min(float64(at-from)/long, 1)) }
	shares := make([]float64, 0, last-first+2)
	shares = append(shares, 0)
	if h.begin > math.MinInt64 || first > 0 {
		shares[0] = upTo(h.columns[first])
	}
	for c := first + 1; c <= last; c++ {
		shares = append(shares, upTo(h.columns[c]))
	}
	switch {
	case last+1 < len(h.columns):
		shares = append(shares, upTo(h.columns[last+1]))
	case h.end < math.MaxInt64:
		shares = append(shares, upTo(h.end))
	default:
		shares = append(shares, 1)
	}
	l.Each(func(lo, _, n int64) {
		row := h.row(max(lo, 1))
		chance := float64(scatter(uint64(lo)^uint64(from)<<20)>>40) / (1 << 24)
		before := math.Floor(float64(n)*shares[0] + chance)
		for i, share := range shares[1:] {
			to := math.Floor(float64(n)*share + chance)
			cell := &h.Counts[(first+i)*h.Rows+row]
			*cell = uint32(min(float64(*cell)+to-before, math.MaxUint32))
			before = to
		}
	})
}

// scatter is the finalizer of SplitMix64 (Steele, Lea, Flood (2014), Fast Splittable
// Pseudorandom Number Generators).
func scatter(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// AddCollections fills in the collections of a window of that length.
func (h *Heat) AddCollections(cs []dyno.Collection, window time.Duration) {
	h.Collecting, h.Stops, h.Longest = make([]float64, h.Columns), make([]int, h.Columns), make([]time.Duration, h.Columns)
	first, last := 0, len(cs) // those that are over before the part begins, or begin after it, are left out
	for first < last && cs[first].End < h.From {
		first++
	}
	for first < last && cs[last-1].Start > h.To {
		last--
	}
	here := cs[first:last]
	wide := float64(h.To-h.From) / float64(h.Columns)
	for _, x := range tail.Join(tail.UnderWay(here), window) {
		from, to := max(x.From, h.From), min(x.To, h.To)
		if from > to || wide <= 0 {
			continue
		}
		for c, last := h.column(int64(from)), h.column(int64(to)); c <= last; c++ {
			left := float64(h.From) + float64(c)*wide
			h.Collecting[c] += max(0, min(float64(to), left+wide)-max(float64(from), left)) / wide
		}
	}
	for _, x := range tail.Join(tail.Stops(here), window) {
		if h.within(x.From) {
			c := h.column(int64(x.From))
			h.Stops[c]++
			h.Longest[c] = max(h.Longest[c], x.To-x.From)
		}
	}
	for c, begins := range h.columns {
		if time.Duration(begins) >= window && window < h.To {
			h.Collecting[c] = math.NaN()
		}
	}
}
