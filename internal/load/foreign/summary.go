package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
)

// readSummary reads the last summary in the first output that has one; nil if there is none. Elapsed is 0 if
// the generator does not report it. It reads the formats of hey 0.1.4 (text and CSV), wrk 4.1.0 (text),
// vegeta 12.13, oha 1.16 and k6 2.2 (JSON). testdata/command has examples.
func readSummary(outputs ...[]byte) *load.Record {
	for _, out := range outputs {
		for _, read := range []func([]byte) (*summary, int){readJSON, readWrk, readHey, readHeyCSV} {
			rec, n := read(out)
			if rec == nil {
				continue
			}
			if n > 1 {
				rec.Warnings.AddOf(dyno.WarnCommand, "summaries", "the load command wrote %d summaries: dyno uses the last, and its figures per request divide by the requests of that one", n)
			}
			rec.Slow = int64(rec.Failures[load.CauseTimeout])
			return &rec.Record
		}
	}
	return nil
}

type summary struct{ load.Record }

func newSummary(generator string) *summary {
	return &summary{load.Record{
		Sent: dyno.Sent{Engine: generator, Statuses: map[int]int64{}}, Failures: map[string]int{},
		Quantiles: map[float64]time.Duration{},
	}}
}

// answered counts n answers of a status, 0 if it is not known.
func (r *summary) answered(status, n int64) {
	r.Requests += n
	if status > 0 && status < 1000 {
		r.Statuses[int(status)] += n
	}
	if status >= 400 {
		r.fail("status "+strconv.FormatInt(status, 10), n)
	}
}

func (r *summary) unanswered(cause string, n int64) {
	r.Requests += n
	r.fail(cause, n)
}

func (r *summary) fail(cause string, n int64) {
	if n = min(n, r.Requests-r.Failed); n > 0 {
		r.Failed += n
		r.Failures[cause] += int(n)
	}
}

func (r *summary) quantile(percent, x float64, unit time.Duration) {
	q := math.Round(percent*1e4) / 1e6 // 99.9/100 is not .999
	if d := toDuration(x, unit); d > 0 && q > 0 && q < 1 {
		r.Quantiles[q] = d
	}
}

// toDuration returns 0 if x units are no duration.
func toDuration(x float64, unit time.Duration) time.Duration {
	x *= float64(unit)
	if math.IsNaN(x) || x < 0 || x > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(math.Round(x))
}

// rate notes the successes among all requests per second.
func (r *summary) rate(all float64) {
	x := all * float64(r.Requests-r.Failed) / float64(r.Requests)
	if x > 0 && !math.IsInf(x, 0) {
		r.Rate = x
	}
}

// toCount caps counts so that sums cannot overflow.
func toCount(x float64) int64 {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return int64(min(x, 1<<50))
}

func toNumber(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

func toWhole(s string) int64 { return toCount(toNumber(s)) }

func (r *summary) times(unit time.Duration, elapsed, mean, least, most float64) {
	r.Elapsed, r.Mean = toDuration(elapsed, unit), toDuration(mean, unit)
	r.Min, r.Max = toDuration(least, unit), toDuration(most, unit)
}

// quantiles notes percentiles named "99th", "p99" or "p(99)".
func (r *summary) quantiles(named map[string]float64, unit time.Duration) {
	for name, x := range named {
		r.quantile(toNumber(strings.Trim(name, "pth()")), x, unit)
	}
}

func (r *summary) rateOfElapsed() { r.rate(float64(r.Requests) / r.Elapsed.Seconds()) }

// toolCause names the cause of a failure that a generator tells in its own words.
func toolCause(text string) string {
	for _, c := range []struct{ part, cause string }{
		{"Client.Timeout", load.CauseTimeout}, {"deadline exceeded", load.CauseTimeout},
		{"timeout", load.CauseTimeout}, {"timed out", load.CauseTimeout},
		{"connection refused", "connection refused"}, {"Connection refused", "connection refused"},
		{"connection reset", "connection reset"}, {"broken pipe", "connection reset"},
		{"too many open files", "too many open files"}, {"cannot assign requested address", "no free local port"},
		{"no such host", "host not found"}, {"EOF", "connection closed"}, {"connection closed", "connection closed"},
	} {
		if strings.Contains(text, c.part) {
			return c.cause
		}
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "?"); text == "" {
		return causeNone
	}
	return text[:min(len(text), 80)]
}

// causeNone is the cause where a generator gives none.
const causeNone = "no answer"

// readJSON looks for summaries among the objects that begin a line. A broken object may be
// read to the output's end: the budget bounds that to a few times the output's length.
func readJSON(out []byte) (last *summary, n int) {
	for budget := 4 * len(out); len(out) > 0 && budget > 0; {
		if line := bytes.TrimLeft(out, " \t"); bytes.HasPrefix(line, []byte("{")) {
			var doc json.RawMessage
			dec := json.NewDecoder(bytes.NewReader(line))
			if err := dec.Decode(&doc); err != nil {
				read := len(line)
				if syntax, ok := err.(*json.SyntaxError); ok {
					read = int(syntax.Offset)
				}
				budget -= read
			} else {
				out = line[dec.InputOffset():]
				for _, read := range []func([]byte) *summary{readVegeta, readOha, readK6, readK6New} {
					if rec := read(doc); rec != nil {
						last = rec
						n++
						break
					}
				}
			}
		}
		_, out, _ = bytes.Cut(out, []byte("\n"))
	}
	return last, n
}

// readVegeta reads vegeta report -type=json; see lib/metrics.go of vegeta 12.13.
func readVegeta(doc []byte) *summary {
	var v struct {
		Latencies      map[string]float64 // nanoseconds
		Statuses       map[string]float64 `json:"status_codes"`
		Errors         []string
		In             struct{ Total float64 } `json:"bytes_in"`
		Out            struct{ Total float64 } `json:"bytes_out"`
		Duration, Wait float64
	}
	json.Unmarshal(doc, &v) // what is of another type stays zero
	if v.Latencies == nil || v.Statuses == nil {
		return nil
	}
	r := newSummary("vegeta")
	for code, n := range v.Statuses {
		if status := toWhole(code); status > 0 {
			r.answered(status, toCount(n))
		} else {
			r.unanswered(vegetaCause(v.Errors), toCount(n))
		}
	}
	r.BytesIn, r.BytesOut = toCount(v.In.Total), toCount(v.Out.Total)
	r.times(time.Nanosecond, v.Duration+v.Wait, v.Latencies["mean"], v.Latencies["min"], v.Latencies["max"])
	r.rateOfElapsed()
	r.quantiles(v.Latencies, time.Nanosecond)
	return r
}

// vegetaCause is the one cause of all unanswered requests, if they have one: vegeta
// lists errors without counts, with one such as "503 Service Unavailable" for each
// status.
func vegetaCause(errs []string) string {
	common := ""
	for _, e := range errs {
		if code, _, _ := strings.Cut(e, " "); len(code) == 3 && toWhole(code) >= 100 {
			continue
		}
		if c := toolCause(e); common == "" {
			common = c
		} else if c != common {
			return causeNone
		}
	}
	return cmp.Or(common, causeNone)
}

// readOha reads oha --output-format json (once -j); see schema.json of oha 1.16. Its
// times are in seconds, and null where nothing was answered.
func readOha(doc []byte) *summary {
	var v struct {
		Summary     *struct{ Total, Slowest, Fastest, Average, TotalData float64 }
		Percentiles map[string]float64 `json:"latencyPercentiles"`
		Statuses    map[string]float64 `json:"statusCodeDistribution"`
		Errors      map[string]float64 `json:"errorDistribution"`
	}
	json.Unmarshal(doc, &v)
	if v.Summary == nil || v.Percentiles == nil || v.Statuses == nil {
		return nil
	}
	r := newSummary("oha")
	for code, n := range v.Statuses {
		r.answered(toWhole(code), toCount(n))
	}
	for text, n := range v.Errors {
		if text != "aborted due to deadline" { // under way when the time was over: no failure
			r.unanswered(toolCause(text), toCount(n))
		}
	}
	r.BytesIn = toCount(v.Summary.TotalData)
	r.times(time.Second, v.Summary.Total, v.Summary.Average, v.Summary.Fastest, v.Summary.Slowest)
	r.rateOfElapsed() // requestsPerSec counts aborted requests
	r.quantiles(v.Percentiles, time.Second)
	return r
}
