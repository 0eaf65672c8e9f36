// Package hist counts durations. A [Histogram] has percentiles within 0.1 % and exact moments. A [Log] writes
// one histogram a second, in HdrHistogram's format; [Lines] and [ReadLog] read it, such as the latency.hlog
// of a trial.
package hist

import (
	"encoding/json"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of a Histogram: 3 digits bound the error of a percentile to 0.1
// %. It takes some 270 KiB.
const (
	histogramLowest  = 1                 // nanosecond
	histogramHighest = 3_600_000_000_000 // an hour; longer durations count as an hour
	histogramDigits  = 3
)

// A Histogram counts durations: percentiles within 0.1 %, the moments exactly. It is not
// safe for concurrent use. Note: its counts are an HdrHistogram's, kept here because
// package hdrhistogram gives only copies, and its Merge takes 10 times as long.
type Histogram struct {
	counts   []int64
	low, top int // counts below low, and from top on, are 0: a second of latency fills few of them
	n        int64
	mean, m2 float64 // seconds; m2 is the sum of squared deviations (Welford)
	min, max time.Duration
}

// New returns an empty histogram.
func New() *Histogram {
	return empty(make([]int64, bucket(histogramHighest)>>halfBits<<halfBits+1<<halfBits))
}

func empty(counts []int64) *Histogram { return &Histogram{counts: counts, low: len(counts)} }

// used notes that counts in [from, to) may not be 0.
func (h *Histogram) used(from, to int) { h.low, h.top = min(h.low, from), max(h.top, to) }

// halfBits is the logarithm of half the buckets that are 1 ns wide, the least power of two
// above 2·10^digits; every further doubling has that half, twice as wide.
const halfBits = 10

// bucket is where v is counted, 0 ≤ v ≤ histogramHighest.
func bucket(v int64) int {
	shift := bits.Len64(uint64(v)|(2<<halfBits-1)) - halfBits - 1
	return shift<<halfBits + int(v>>shift)
}

// bounds are the least and greatest value in bucket i.
func bounds(i int) (lo, hi int64) {
	shift := max(i>>halfBits-1, 0)
	lo = int64(i-shift<<halfBits) << shift
	return lo, lo + 1<<shift - 1
}

// Add counts d. A negative d counts as zero.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	i := bucket(min(int64(d), histogramHighest))
	h.counts[i]++
	h.used(i, i+1)
	if h.n == 0 {
		h.min, h.max = d, d
	}
	h.min, h.max = min(h.min, d), max(h.max, d)
	h.n++
	x := d.Seconds()
	delta := x - h.mean
	h.mean += delta / float64(h.n)
	h.m2 += delta * (x - h.mean)
}

// Merge adds what g has counted to h.
func (h *Histogram) Merge(g *Histogram) {
	if g == nil || g.n == 0 {
		return
	}
	h.addCounts(g)
	if h.n == 0 {
		h.min, h.max = g.min, g.max
	}
	h.min, h.max = min(h.min, g.min), max(h.max, g.max)
	// Chan, Golub, LeVeque (1979), Updating Formulae, equation 1.5.
	n := h.n + g.n
	delta := g.mean - h.mean
	h.m2 += g.m2 + delta*delta*float64(h.n)*float64(g.n)/float64(n)
	h.mean += delta * float64(g.n) / float64(n)
	h.n = n
}

func (h *Histogram) addCounts(g *Histogram) {
	if h.counts == nil {
		h.counts, h.low = make([]int64, len(g.counts)), len(g.counts)
	}
	for i := g.low; i < g.top; i++ {
		h.counts[i] += g.counts[i]
	}
	h.used(g.low, g.top)
}

// Reset empties h.
func (h *Histogram) Reset() {
	if h.low < h.top {
		clear(h.counts[h.low:h.top])
	}
	*h = *empty(h.counts)
}

// Count returns how many durations were added.
func (h *Histogram) Count() int64 { return h.n }

// Whole reports whether h has its counts, which one read from JSON lacks until SetCounts.
func (h *Histogram) Whole() bool {
	counted := int64(0)
	h.Each(func(_, _, n int64) { counted += n })
	return counted == h.n
}

// Quantile returns the q-quantile by nearest rank, 0 ≤ q ≤ 1; 0 if h is empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(int64(math.Ceil(q*float64(h.n)-1e-9)), 1)
	sum, d := int64(0), int64(0)
	for i := h.low; i < h.top; i++ {
		if sum += h.counts[i]; sum >= rank {
			_, d = bounds(i)
			break
		}
	}
	return min(max(time.Duration(d), h.min), h.max)
}

// Mean returns the mean in seconds.
func (h *Histogram) Mean() float64 { return h.mean }

// Stddev returns the sample standard deviation in seconds, 0 below two values.
func (h *Histogram) Stddev() float64 {
	if h.n < 2 {
		return 0
	}
	return math.Sqrt(h.m2 / float64(h.n-1))
}

// Min returns the least duration, 0 if h is empty.
func (h *Histogram) Min() time.Duration { return h.min }

// Max returns the greatest duration, 0 if h is empty.
func (h *Histogram) Max() time.Duration { return h.max }

// Counts returns a copy as package hdrhistogram prints it, in nanoseconds.
func (h *Histogram) Counts() *hdrhistogram.Histogram {
	if h.counts == nil {
		h = New()
	}
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  histogramLowest,
		HighestTrackableValue: histogramHighest,
		SignificantFigures:    histogramDigits,
		Counts:                h.counts,

		IntegerToDoubleConversionRatio: 1,
	})
}

// Each calls f for each bucket with n > 0 durations from lo to hi nanoseconds, in order.
func (h *Histogram) Each(f func(lo, hi, n int64)) {
	for i := h.low; i < h.top; i++ {
		if n := h.counts[i]; n > 0 {
			lo, hi := bounds(i)
			f(lo, hi, n)
		}
	}
}

// SetCounts replaces the counts by those of c, which it takes, and leaves the moments.
func (h *Histogram) SetCounts(c *Histogram) { h.counts, h.low, h.top = c.counts, c.low, c.top }

// moments is a Histogram's JSON; the counts have a file of their own.
type moments struct {
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean-sec"`
	Stddev float64 `json:"stddev-sec"`
	Min    float64 `json:"min-sec"`
	Max    float64 `json:"max-sec"`
}

// MarshalJSON implements json.Marshaler, without the counts.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(moments{h.n, h.mean, h.Stddev(), h.min.Seconds(), h.max.Seconds()})
}

// UnmarshalJSON implements json.Unmarshaler. Without counts nothing may be added.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var m moments
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	*h = Histogram{} // the counts take 270 KiB, which a reader of results alone does without
	h.n, h.mean, h.m2 = m.Count, m.Mean, m.Stddev*m.Stddev*float64(max(m.Count-1, 0))
	h.min, h.max = Seconds(m.Min), Seconds(m.Max)
	return nil
}

// Seconds is the duration of s seconds, rounded to a nanosecond.
func Seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
