package hist_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/dynolab/dyno/hist"
)

var logStart = time.Date(2026, 11, 22, 1, 2, 3, 456e6, time.UTC)

// A log of many seconds holds in each line what that second counted, for any
// reader of the format.
func TestLatencyLog(t *testing.T) {
	var file bytes.Buffer
	log, err := hist.NewLog(&file, logStart)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	second := hist.New()
	var want []*hdrhistogram.Histogram
	for i := range 5 {
		for range 3000 * (i % 3) { // seconds without an answer too
			second.Add(time.Duration(math.Exp(rng.NormFloat64()*4+12)) * time.Nanosecond)
		}
		if i == 4 {
			for _, d := range []time.Duration{0, 1, 2, 2047, 2048, 4096, 2 * time.Hour} {
				second.Add(d)
			}
		}
		from := time.Duration(i) * time.Second
		if err := log.Add(second, from, from+time.Second); err != nil {
			t.Fatal(err)
		}
		want = append(want, second.Counts())
		second.Reset()
	}
	r := hdrhistogram.NewHistogramLogReader(&file)
	for i, w := range want {
		got, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equals(w) {
			t.Errorf("second %d: %d counted, want %d, or not the same", i, got.TotalCount(), w.TotalCount())
		}
		if from := logStart.UnixMilli() + int64(i)*1000; got.StartTimeMs() != from || got.EndTimeMs() != from+1000 {
			t.Errorf("second %d: from %d to %d, want from %d", i, got.StartTimeMs(), got.EndTimeMs(), from)
		}
	}
}

// What is read back has the percentiles of all that was added.
func TestReadLatencyLog(t *testing.T) {
	file, all := latencyLog(t, 10, 1000)
	got, err := hist.ReadLog(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got.Count() != all.Count() || !got.Whole() || !got.Counts().Equals(all.Counts()) {
		t.Fatalf("%d of %d counted", got.Count(), all.Count())
	}
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"mean", got.Mean(), all.Mean()},
		{"standard deviation", got.Stddev(), all.Stddev()},
		{"p99", got.Quantile(.99).Seconds(), all.Quantile(.99).Seconds()},
		{"least", got.Min().Seconds(), all.Min().Seconds()},
		{"greatest", got.Max().Seconds(), all.Max().Seconds()},
	} {
		if math.Abs(v.got-v.want) > 0.001*v.want {
			t.Errorf("%s is %v, want %v", v.name, v.got, v.want)
		}
	}
}

// Line by line, it tells what each second counted, and which second that was.
func TestLatencyLines(t *testing.T) {
	var file bytes.Buffer
	log, err := hist.NewLog(&file, logStart)
	if err != nil {
		t.Fatal(err)
	}
	at := []time.Duration{200 * time.Microsecond, 3 * time.Second, 4 * time.Second, 18_000 * time.Second} // seconds without an answer have no line
	for i, from := range at {
		h := hist.New()
		for range i + 1 {
			h.Add(time.Duration(i+1) * time.Millisecond)
		}
		if err := log.Add(h, from, from+time.Second); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for l, err := range hist.Lines(&file, logStart) {
		if err != nil {
			t.Fatal(err)
		}
		p50 := time.Duration(i+1) * time.Millisecond
		if (l.From-at[i]).Abs() > 10*time.Microsecond || l.To != l.From+time.Second || l.Count() != int64(i+1) || (l.Quantile(0.5)-p50).Abs() > p50/1000 {
			t.Errorf("line %d: %v to %v, %d requests, p50 %v; want from %v, p50 %v", i, l.From, l.To, l.Count(), l.Quantile(0.5), at[i], p50)
		}
		i++
	}
	if i != len(at) {
		t.Errorf("%d lines, want %d", i, len(at))
	}
}

func BenchmarkLatencyLines(b *testing.B) {
	file, _ := latencyLog(b, 100, 5000)
	for b.Loop() {
		for l, err := range hist.Lines(strings.NewReader(file), logStart) {
			if err != nil || l.Count() != 5000 {
				b.Fatal(l.Count(), err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(100*b.N), "µs/line")
}

// A log that is cut off, or of another make, is an error or what its whole
// lines hold, never more.
func TestReadLatencyLogBroken(t *testing.T) {
	file, all := latencyLog(t, 2, 20)
	for cut := range file {
		if h, err := hist.ReadLog(strings.NewReader(file[:cut])); err == nil && h.Count() > all.Count() {
			t.Errorf("cut at %d: %d requests", cut, h.Count())
		}
	}
	var other bytes.Buffer
	h := hdrhistogram.New(1, 1000, 2)
	h.RecordValue(7)
	if err := hdrhistogram.NewHistogramLogWriter(&other).OutputIntervalHistogram(h); err != nil {
		t.Fatal(err)
	}
	if _, err := hist.ReadLog(&other); err == nil || !strings.Contains(err.Error(), "not a line of dyno's log") {
		t.Errorf("another range: %v", err)
	}
}

func FuzzReadLatencyLog(f *testing.F) {
	file, _ := latencyLog(f, 2, 20)
	f.Add([]byte(file))
	f.Add([]byte("1,2,3,HISTFAAAAAA="))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := hist.ReadLog(bytes.NewReader(data)); err == nil {
			h.Quantile(0.99)
		}
	})
}

func latencyLog(t testing.TB, seconds, each int) (file string, all *hist.Histogram) {
	t.Helper()
	var b bytes.Buffer
	log, err := hist.NewLog(&b, logStart)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	all, second := hist.New(), hist.New()
	for i := range seconds {
		for range each {
			second.Add(time.Duration(math.Exp(rng.NormFloat64()*0.5+14)) * time.Nanosecond)
		}
		from := time.Duration(i) * time.Second
		if err := log.Add(second, from, from+time.Second); err != nil {
			t.Fatal(err)
		}
		all.Merge(second)
		second.Reset()
	}
	return b.String(), all
}

type discard struct{ n int }

func (d *discard) Write(b []byte) (int, error) { d.n += len(b); return len(b), nil }

// A line a second may not show in what is measured: no garbage, little time.
func TestLatencyLogAllocates(t *testing.T) {
	_, h := latencyLog(t, 1, 20_000)
	log, err := hist.NewLog(new(discard), logStart)
	if err != nil {
		t.Fatal(err)
	}
	add := func() { log.Add(h, 0, time.Second) }
	add()
	if n := testing.AllocsPerRun(20, add); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func BenchmarkLatencyLog(b *testing.B) {
	for _, n := range []int{100, 20_000, 400_000} {
		_, h := latencyLog(b, 1, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var d discard
			log, _ := hist.NewLog(&d, logStart)
			b.ReportAllocs()
			for b.Loop() {
				log.Add(h, 0, time.Second)
			}
			b.ReportMetric(float64(d.n)/float64(b.N), "B/line")
		})
	}
}
