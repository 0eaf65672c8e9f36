package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
)

// loaded is the result of a load with the given latencies; some more requests
// failed. Its service times are the latencies times service.
func loaded(latencies []time.Duration, failed int, service float64) *dyno.Result {
	h := hist.New()
	for _, d := range latencies {
		h.Add(d)
	}
	q := func(q float64) float64 { return h.Quantile(q).Seconds() }
	r := &dyno.Result{
		Trial: dyno.Trial{N: 1, Block: 1}, Elapsed: 30 * time.Second, Latency: h,
		Values: dyno.Values{
			{Metric: "p50-sec", Value: q(.5)}, {Metric: "p90-sec", Value: q(.9)}, {Metric: "p95-sec", Value: q(.95)},
			{Metric: "p99-sec", Value: q(.99)}, {Metric: "p99.9-sec", Value: q(.999)},
			{Metric: "min-sec", Value: h.Min().Seconds()}, {Metric: "mean-sec", Value: h.Mean()},
			{Metric: "stddev-sec", Value: h.Stddev()}, {Metric: "max-sec", Value: h.Max().Seconds()},
			{Metric: "req/s", Value: float64(h.Count()) / 30}, {Metric: "failures", Value: float64(failed)},
			{Metric: "sent/s", Value: float64(len(latencies)+failed) / 30},
			{Metric: "generator-cpu-frac", Value: 0.118}, {Metric: "lateness-p99-sec", Value: 41e-6},
		},
		Sent: dyno.Sent{
			Engine: "loop", Requests: int64(len(latencies) + failed), BytesIn: 12_876_543, BytesOut: 0,
			Statuses: map[int]int64{200: int64(len(latencies))},
		},
	}
	if service > 0 {
		for _, name := range []string{"p50", "p90", "p95", "p99", "p99.9"} {
			v, _ := r.Values.Get(name + "-sec")
			r.Values = append(r.Values, dyno.Value{Metric: "service-" + name + "-sec", Value: v * service})
		}
	}
	if failed > 0 {
		r.Failures = map[string]int{"status 503": failed - 1, "connection reset by peer": 1}
		r.Sent.Statuses[503] = int64(failed - 1)
	}
	sorted := slices.Sorted(slices.Values(latencies))
	slices.Reverse(sorted)
	for i, d := range sorted[:min(10, len(sorted))] {
		due := time.Duration(i) * 1987 * time.Millisecond
		r.Sent.Slowest = append(r.Sent.Slowest, dyno.Request{
			Step: "GET /hello", Due: due, Sent: due + wait(d, service), Done: due + d, Status: 200, Bytes: 858,
		})
	}
	return r
}

// wait is the part of a latency that is no service time.
func wait(latency time.Duration, service float64) time.Duration {
	if service == 0 {
		return 0
	}
	return time.Duration(float64(latency) * (1 - service))
}

// stalling are the latencies of a service that answers in some 80 µs and
// stalls for half a second of every two.
func stalling(n int) []time.Duration {
	rng := rand.New(rand.NewPCG(3, 4))
	ds := make([]time.Duration, n)
	for i := range ds {
		d := 80e-6 * math.Exp(0.25*rng.NormFloat64())
		if phase := float64(i) / 500; math.Mod(phase, 2) > 1.5 {
			d += 2 - math.Mod(phase, 2)
		}
		ds[i] = time.Duration(d * 1e9)
	}
	return ds
}

// even are latencies close to one another, with a few in the tail.
func even(n int) []time.Duration {
	rng := rand.New(rand.NewPCG(5, 6))
	ds := make([]time.Duration, n)
	for i := range ds {
		ds[i] = time.Duration(5e6 * (1 + 0.02*math.Abs(rng.NormFloat64())))
	}
	if n > 100 {
		ds[7], ds[n/2] = 9*time.Millisecond, 61*time.Millisecond
	}
	return ds
}

func summaries() map[string]*dyno.Result {
	open := loaded(stalling(15000), 3, 0.5)
	open.Sent.Unsent = 12
	open.Values = append(open.Values, dyno.Value{Metric: "unsent", Value: 12})
	open.Warnings = dyno.Warnings{{Text: "15 requests timed out or were not sent: percentiles rank them as the slowest, max-sec is left out, and mean-sec and stddev-sec are too low"}}
	open.Values = slices.DeleteFunc(open.Values, func(v dyno.Value) bool { return v.Metric == "max-sec" })

	closed := loaded(even(20000), 0, 0)
	closed.Sent.Engine = "raw"
	closed.Values = slices.DeleteFunc(closed.Values, func(v dyno.Value) bool { return v.Metric == "sent/s" || v.Metric == "lateness-p99-sec" })
	closed.Sent.BytesOut = 2_400_000
	for _, step := range []string{"login", "PATCH /sessions/{{.id}}"} {
		for i, name := range []string{"p50", "p90", "p95", "p99", "p99.9"} {
			closed.Values = append(closed.Values, dyno.Value{Metric: step + "-" + name + "-sec", Value: float64(len(step)*(1+i)) * 0.4e-3})
		}
	}
	for i := range closed.Sent.Slowest {
		closed.Sent.Slowest[i].Step = []string{"login", "PATCH /sessions/{{.id}}"}[i%2]
	}

	saturated := loaded(stalling(3000), 0, 0.98)
	saturated.Sent.Saturated = "it used 0.97 of its cores"

	failed := loaded(even(100), 900, 0)
	failed.Err = "900 of 1000 requests failed (status 503), more than the 1% allowed"

	command := loaded(even(1000), 2, 0) // another generator said little
	command.Sent = dyno.Sent{Engine: "k6 run script.js"}
	command.Failures, command.Latency = nil, nil
	command.Values = slices.DeleteFunc(command.Values, func(v dyno.Value) bool {
		return !slices.Contains([]string{"p50-sec", "p90-sec", "max-sec", "req/s", "failures"}, v.Metric)
	})

	one := loaded([]time.Duration{1500 * time.Microsecond}, 0, 0)
	for _, name := range []string{"p90-sec", "p95-sec", "p99-sec", "p99.9-sec"} {
		one.Values = slices.DeleteFunc(one.Values, func(v dyno.Value) bool { return v.Metric == name })
	}
	return map[string]*dyno.Result{"open": open, "closed": closed, "saturated": saturated, "failed": failed, "command": command, "one": one}
}

func summarize(t *testing.T, r *dyno.Result, o layout.Options) string {
	t.Helper()
	var b bytes.Buffer
	about := []string{"subject: http://127.0.0.1:8080", dyno.Load{Rate: dyno.PerSecond(500), Duration: dyno.Duration(30 * time.Second)}.String()}
	if err := Summary(&b, r, about, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	for name, r := range summaries() {
		golden(t, "summary-"+name+".txt", []byte(summarize(t, r, layout.Options{Full: true})))
	}
}

// What the service tells of itself has a part of its own, with its own names.
func TestSummaryService(t *testing.T) {
	r := loaded([]time.Duration{time.Millisecond}, 0, 0)
	text := func() string {
		var b strings.Builder
		if err := Summary(&b, r, nil, layout.Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(text(), "Service") {
		t.Error("nothing is told under Service")
	}
	r.Values = append(r.Values, dyno.Value{Metric: "rss-peak-B", Value: 3 << 20}, dyno.Value{Metric: "jobs_total", Value: 305})
	if got := text(); !strings.Contains(got, "\nService\nrss-peak    3.000  MiB\njobs_total    305\n") {
		t.Error(got)
	}
}

// A watched process may have a control group of its own: what that tells is shown.
func TestSummaryGroup(t *testing.T) {
	r := &dyno.Result{Elapsed: time.Minute}
	for _, m := range []string{"cgroup-peak-B", "oom-kills", "throttled-frac", "memory-stall-frac", "cpu-stall-frac"} {
		r.Values = append(r.Values, dyno.Value{Metric: m, Value: 0.5})
	}
	var b strings.Builder
	if err := Summary(&b, r, nil, layout.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cgroup-peak", "oom-kills", "throttled", "memory-stall", "cpu-stall"} {
		if !strings.Contains(b.String(), "\n"+name+" ") {
			t.Errorf("no %s in\n%s", name, &b)
		}
	}
}

// TestSummaryWidth: no line is longer than the terminal is wide, nor ends in a
// space; color changes nothing but the color; control characters stay out.
func TestSummaryWidth(t *testing.T) {
	rs := summaries()
	hostile := loaded(even(10), 2, 0)
	hostile.Failures = map[string]int{"\x1b[2J" + strings.Repeat("very long ", 30): 2}
	hostile.Warnings = dyno.Warnings{{Text: "\x1b]0;owned\a"}}
	hostile.Sent.Engine = "\x1b[31mk6"
	hostile.Sent.Slowest[0].Step, hostile.Sent.Slowest[1].Step = "\x1b[2J", "\r"
	for status := range 40 {
		hostile.Sent.Statuses[500+status] = 12345
	}
	rs["hostile"] = hostile
	for name, r := range rs {
		for _, width := range []int{80, 100, 160} {
			plain := summarize(t, r, layout.Options{Full: true, Width: width})
			for _, line := range strings.Split(plain, "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s, width %d: a line of %d characters: %s", name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a line ends in a space: %q", name, line)
				}
			}
			if strings.ContainsAny(plain, "\x1b\a\r") {
				t.Errorf("%s: a control character in %q", name, plain)
			}
			colored := summarize(t, r, layout.Options{Full: true, Width: width, Color: true})
			for _, code := range []string{"\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"} {
				colored = strings.ReplaceAll(colored, code, "")
			}
			if colored != plain {
				t.Errorf("%s: color changes more than the color", name)
			}
		}
	}
}

// TestBins: whatever the range, bins enclose it, are few, ascend, are round
// durations, and lose no request; one slow request keeps a bar of its own.
func TestBins(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		low := math.Exp(rng.Float64() * math.Log(1e12))
		high := low * math.Exp(rng.Float64()*rng.Float64()*math.Log(1e12))
		high = min(high, 3.6e12)
		h := hist.New()
		for range 50 {
			h.Add(time.Duration(low * math.Pow(high/low, rng.Float64()*rng.Float64())))
		}
		h.Add(time.Duration(high))
		bins := layout.BinsOf(h)
		first, last := bins[0], bins[len(bins)-1]
		lo, hi := h.Min().Nanoseconds(), h.Max().Nanoseconds()
		if len(bins) > layout.MostBins+1 || first.From > max(lo, 1) || last.To <= hi || first.To <= lo || last.From > hi {
			t.Errorf("%v to %v: bins %v", h.Min(), h.Max(), bins)
		}
		narrow := hi < lo+lo/layout.Finest // less than the histogram can tell apart
		if !narrow && (first.Count == 0 || last.Count == 0 || layout.Bar(last.Count, 1e9, 40) == "") {
			t.Errorf("%v to %v: an empty end of %v", h.Min(), h.Max(), bins)
		}
		sum := int64(0)
		for i, b := range bins {
			sum += b.Count
			if b.From >= b.To || i > 0 && b.From != bins[i-1].To {
				t.Errorf("%v to %v: a hole in %v", h.Min(), h.Max(), bins)
			}
		}
		if sum != h.Count() {
			t.Errorf("%v to %v: %d requests in %v, want %d", h.Min(), h.Max(), sum, bins, h.Count())
		}
	}
	if got := layout.EdgeLabels([]layout.Bin{{From: 900, To: 1000, Count: 1}, {From: 1000, To: 1_500_000, Count: 1}, {From: 1_500_000, To: 2_000_000, Count: 1}, {From: 2_000_000, To: 1_000_000_000, Count: 1}}); fmt.Sprintf("%q", got) != `["900 ns" "1 µs" "1.5 ms" "2.0 ms" "1 s "]` {
		t.Errorf("labels %q", got)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		n, all int64
		want   string
	}{{0, 5, "0.00 %"}, {5, 5, "100 %"}, {999_999, 1_000_000, ">99.99 %"}, {1, 1_000_000, "<0.01 %"}, {1, 3, "33.33 %"}} {
		if got := percent(c.n, c.all); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.n, c.all, got, c.want)
		}
	}
}

// plotted reads a percentile distribution as HdrHistogram's plotter does: rows
// of four numbers between spaces, but for what begins with #.
func plotted(text string) (rows [][4]float64) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' })
		if strings.HasPrefix(line, "#") || len(fields) != 4 {
			continue
		}
		var r [4]float64
		var err error
		for i := range r {
			if r[i], err = strconv.ParseFloat(fields[i], 64); err != nil {
				break
			}
		}
		if err == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// TestHGRM: what the plotter reads are the histogram's own quantiles, out to
// the last request.
func TestHGRM(t *testing.T) {
	r := loaded(stalling(15000), 0, 0)
	failed := *r
	failed.Err = "subject exited"
	var b bytes.Buffer
	if err := export.HGRM(&b, []*dyno.Result{r, &failed}); err != nil {
		t.Fatal(err)
	}
	golden(t, "stalling.hgrm", b.Bytes())
	rows := plotted(b.String())
	if len(rows) < 50 || rows[0][3] != 1 || rows[len(rows)-1][3] < 1000 || rows[len(rows)-1][2] != 15000 {
		t.Errorf("%d rows, %v to %v", len(rows), rows[0], rows[len(rows)-1])
	}
	for i, row := range rows {
		want := r.Latency.Quantile(row[1]).Seconds() * 1e3
		if i > 0 && math.Abs(row[0]-want) > 1e-6 || row[2] < row[1]*15000-1e-6 || math.Abs(row[3]-1/(1-row[1])) > 0.005 {
			t.Errorf("%v, want %v ms", row, want)
		}
		if i > 0 && (row[1] <= rows[i-1][1] || row[0] < rows[i-1][0] || row[2] < rows[i-1][2]) {
			t.Errorf("not ascending: %v after %v", row, rows[i-1])
		}
	}
	if !strings.Contains(b.String(), "\n#[Mean    = ") || !strings.Contains(b.String(), "Total count    =        15000]\n#[Buckets =           32, SubBuckets     =         2048]\n") {
		t.Errorf("footer of\n%s", b.String())
	}
	if err := export.HGRM(&b, []*dyno.Result{{}}); err == nil {
		t.Error("no latency is no error")
	}
}

// TestHGRMMillion: percentiles far out stay apart.
func TestHGRMMillion(t *testing.T) {
	h := hist.New()
	for i := range 2_000_000 {
		h.Add(time.Duration(1e6 + i*5))
	}
	var b bytes.Buffer
	if err := export.HGRM(&b, []*dyno.Result{{Latency: h}}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), " 1.000000000000 ") != 1 {
		t.Error("a percentile below 100 % reads as 100 %")
	}
}
