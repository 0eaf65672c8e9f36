package hist_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/dynolab/dyno/hist"
)

// Percentiles are within 0.1 % of those of the sorted durations, moments exact,
// however the durations were spread over merged histograms.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []*hist.Histogram{hist.New(), hist.New(), hist.New(), hist.New()}
	var all []float64
	for range 50_000 {
		d := time.Duration(math.Exp(rng.NormFloat64()*2+11)) * time.Nanosecond
		all = append(all, d.Seconds())
		parts[rng.IntN(3)].Add(d) // the last stays empty
	}
	h := hist.New()
	for _, p := range parts {
		h.Merge(p)
	}
	slices.Sort(all)
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, q := range []float64{.01, .5, .9, .99, .999} {
		rank := int(math.Ceil(q * float64(len(all))))
		near("quantile", h.Quantile(q).Seconds(), all[rank-1], 0.001)
	}
	sum, sq := 0.0, 0.0
	for _, x := range all {
		sum += x
	}
	mean := sum / float64(len(all))
	for _, x := range all {
		sq += (x - mean) * (x - mean)
	}
	near("mean", h.Mean(), mean, 1e-9)
	near("standard deviation", h.Stddev(), math.Sqrt(sq/float64(len(all)-1)), 1e-9)
	if h.Min().Seconds() != all[0] || h.Max().Seconds() != all[len(all)-1] || h.Count() != int64(len(all)) {
		t.Errorf("min %v, max %v, count %d", h.Min(), h.Max(), h.Count())
	}
}

func TestHistogramOutOfRange(t *testing.T) {
	h := hist.New()
	if h.Quantile(.99) != 0 || h.Mean() != 0 || h.Stddev() != 0 {
		t.Error("an empty histogram is not all zero")
	}
	h.Add(-time.Second)
	h.Add(5 * time.Hour)
	if h.Min() != 0 || h.Max() != 5*time.Hour || h.Count() != 2 {
		t.Errorf("min %v, max %v, count %d", h.Min(), h.Max(), h.Count())
	}
}

// The counts are those that HdrHistogram itself would have.
func TestHistogramCounts(t *testing.T) {
	h, want := hist.New(), hdrhistogram.New(1, int64(time.Hour), 3)
	for v := int64(1); v < int64(time.Hour); v += v/1000 + 1 {
		h.Add(time.Duration(v))
		if err := want.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	if !h.Counts().Equals(want) {
		t.Error("the counts differ")
	}
	for _, q := range []float64{0.001, 0.25, 0.5, 0.75, 0.999} {
		n := float64(h.Count())
		if g, w := h.Quantile(q), time.Duration(want.ValueAtQuantile(math.Ceil(q*n)/n*100)); g != w { // it rounds the rank
			t.Errorf("quantile %v: %v, want %v", q, g, w)
		}
	}
	if h.Reset(); h.Quantile(1) != 0 || h.Counts().TotalCount() != 0 {
		t.Error("after Reset it is not empty")
	}
}

// A result that was read without its counts has none, and takes no room for them.
func TestHistogramWithoutCounts(t *testing.T) {
	var h hist.Histogram
	if err := json.Unmarshal([]byte(`{"count":3,"mean-sec":1,"stddev-sec":0,"min-sec":1,"max-sec":1}`), &h); err != nil {
		t.Fatal(err)
	}
	if h.Whole() || h.Count() != 3 || h.Quantile(0.5) == 0 || h.Counts().TotalCount() != 0 {
		t.Errorf("whole %v, %d, %v", h.Whole(), h.Count(), h.Quantile(0.5))
	}
	all := hist.New()
	all.Merge(&h)
	one := hist.New()
	one.Add(time.Second)
	all.Merge(one)
	h.Merge(one)
	if all.Count() != 4 || all.Whole() || h.Count() != 4 || h.Counts().TotalCount() != 1 {
		t.Errorf("%d, %d", all.Count(), h.Count())
	}
}
