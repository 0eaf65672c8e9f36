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
	if h.Count() == 0 || !h.Whole() {
		return errors.New("write percentile distribution: no latencies")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	bars := h.Counts().Distribution()
	i, upTo := 0, bars[0].Count
	for q := 0.0; ; {
		for rank := max(1, q*float64(h.Count())-1e-9); float64(upTo) < rank; {
			i++
			upTo += bars[i].Count
		}
		ns := min(max(bars[i].To, h.Min().Nanoseconds()), h.Max().Nanoseconds())
		fmt.Fprintf(&b, "%12.6f %2.12f %10d %14.2f\n", float64(ns)/1e6, q, upTo, 1/(1-q))
		if upTo == h.Count() {
			break
		}
		halvings := math.Floor(math.Log2(1/(1-q))) + 1
		q += 1 / (hgrmTicks * math.Exp2(halvings))
	}
	// The last has no 1/(1-p): it would be infinite.
	fmt.Fprintf(&b, "%12.6f %2.12f %10d\n", h.Max().Seconds()*1e3, 1.0, h.Count())
	fmt.Fprintf(&b, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", h.Mean()*1e3, h.Stddev()*1e3)
	fmt.Fprintf(&b, "#[Max     = %12.6f, Total count    = %12d]\n", h.Max().Seconds()*1e3, h.Count())
	// What HdrHistogram calls so of a range of an hour and three digits.
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", 32, 2048)
	_, err := io.WriteString(w, b.String())
	return err
}
