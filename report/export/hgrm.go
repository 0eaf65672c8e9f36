package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// hgrmTicks is the number of percentiles for each halving of the rest, as in HdrHistogram.
const hgrmTicks = 5

// HGRM writes the latency of all successful requests of rs as the percentile distribution of
// HdrHistogram, in milliseconds (https://hdrhistogram.github.io/HdrHistogram/plotFiles.html).
// Mean, deviation and extremes are exact. Failed trials are left out. It is an error if there
// is no latency; else the error is w's.
//
// Note: PercentilesPrint of hdrhistogram-go rounds percentiles to six decimals, so that all
// beyond 99.99995 % read as 100 %, and takes mean and maximum from its buckets.
func HGRM(w io.Writer, rs []*dyno.Result) error {
	h := hist.New()
	for _, r := range rs {
		if r.Err == "" {
			h.Merge(r.Latency)
		}
	}
	if h.Count() == 0 || h.Counts().TotalCount() != h.Count() {
		return errors.New("write percentile distribution: the latencies are not there")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	upTo := cumulative(h)
	for q := 0.0; ; {
		value, count := upTo(q)
		fmt.Fprintf(&b, "%12.6f %2.12f %10d %14.2f\n", value, q, count, 1/(1-q))
		if count == h.Count() {
			break
		}
		halvings := math.Floor(math.Log2(1/(1-q))) + 1
		q += 1 / (hgrmTicks * math.Exp2(halvings))
	}
	// The last has no 1/(1-p): it would be infinite.
	fmt.Fprintf(&b, "%12.6f %2.12f %10d\n", ms(h.Max().Seconds()), 1.0, h.Count())
	fmt.Fprintf(&b, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", ms(h.Mean()), ms(h.Stddev()))
	fmt.Fprintf(&b, "#[Max     = %12.6f, Total count    = %12d]\n", ms(h.Max().Seconds()), h.Count())
	buckets, sub := shape(h)
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", buckets, sub)
	_, err := io.WriteString(w, b.String())
	return err
}

func ms(sec float64) float64 { return sec * 1e3 }

// cumulative returns a function of ascending quantiles: the value in milliseconds, and how
// many requests took no longer.
func cumulative(h *hist.Histogram) func(q float64) (value float64, count int64) {
	bars := h.Counts().Distribution()
	i, sum := 0, bars[0].Count
	return func(q float64) (float64, int64) {
		rank := max(1, int64(math.Ceil(q*float64(h.Count())-1e-9)))
		for sum < rank {
			i++
			sum += bars[i].Count
		}
		ns := min(max(bars[i].To, h.Min().Nanoseconds()), h.Max().Nanoseconds())
		return float64(ns) / 1e6, sum
	}
}

// shape returns the numbers of buckets and of sub-buckets in each, which follow
// from the range and the precision (Histogram.java, init).
func shape(h *hist.Histogram) (buckets, sub int) {
	c := h.Counts()
	sub = 1
	for float64(sub) < 2*math.Pow10(int(c.SignificantFigures())) {
		sub *= 2
	}
	buckets = 1
	for reach := int64(sub); reach <= c.HighestTrackableValue(); reach *= 2 {
		buckets++
	}
	return buckets, sub
}
