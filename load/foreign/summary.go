package foreign

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
)

// readSummary finds the summary of another load generator in what it wrote: the
// last one in the first of the outputs that has one. It returns nil if there is
// none. Elapsed is 0 where the generator does not say it.
//
// The formats are those of hey 0.1.4 and wrk 4.1.0 (text), vegeta 12.13, oha 1.16
// and k6 2.2 (JSON); testdata/command has an example of each.
func readSummary(outputs ...[]byte) *load.Record {
	for _, out := range outputs {
		for _, read := range []func([]byte) (*summary, int){readJSON, readWrk, readHey, readHeyCSV} {
			rec, n := read(out)
			if rec == nil {
				continue
			}
			if n > 1 {
				rec.Warnings.AddOf(dyno.WarnCommand, "summaries", "the load command wrote %d summaries: the last one is taken, and what is per request is of the requests of that one", n)
			}
			rec.Slow = int64(rec.Failures[load.CauseTimeout])
			return &rec.Record
		}
	}
	return nil
}

// A summary is a record in the making.
type summary struct{ load.Record }

func newSummary(generator string) *summary {
	return &summary{load.Record{
		Sent: dyno.Sent{Engine: generator, Statuses: map[int]int64{}}, Failures: map[string]int{},
		Quantiles: map[float64]time.Duration{},
	}}
}

// answered counts n answers of a status, which is 0 if there was none.
func (r *summary) answered(status, n int64) {
	n = min(n, 1<<50) // sums cannot overflow
	r.Requests += n
	if status > 0 && status < 1000 {
		r.Statuses[int(status)] += n
	}
	if status >= 400 {
		r.fail("status "+strconv.FormatInt(status, 10), n)
	}
}

// unanswered counts n requests that failed without an answer.
func (r *summary) unanswered(cause string, n int64) {
	n = min(n, 1<<50)
	r.Requests += n
	r.fail(cause, n)
}

func (r *summary) fail(cause string, n int64) {
	if n = min(n, r.Requests-r.Failed); n > 0 {
		r.Failed += n
		r.Failures[cause] += int(n)
	}
}

// quantile notes a percentile of latency, if it is one.
func (r *summary) quantile(percent, x float64, unit time.Duration) {
	if d := toDuration(x, unit); d > 0 && percent > 0 && percent < 100 {
		// 99.9/100 is not .999.
		q, _ := strconv.ParseFloat(strconv.FormatFloat(percent/100, 'f', 6, 64), 64)
		r.Quantiles[q] = d
	}
}

// toDuration makes a duration of a number of units; it is 0 if the number is no
// duration.
func toDuration(x float64, unit time.Duration) time.Duration {
	x *= float64(unit)
	if math.IsNaN(x) || x < 0 || x > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(math.Round(x))
}

// rate sets the rate of successful requests from that of all.
func (r *summary) rate(all float64) {
	if r.Requests > 0 {
		r.perSecond(all * float64(r.Requests-r.Failed) / float64(r.Requests))
	}
}

func (r *summary) perSecond(x float64) {
	if x > 0 && !math.IsInf(x, 0) {
		r.Rate = x
	}
}

// toCount makes a whole number of one in JSON; sums of thousands cannot overflow.
func toCount(x float64) int64 {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return int64(min(x, 1<<50))
}

// toNumber reads a decimal number; it is NaN for anything else.
func toNumber(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// toWhole reads a count; it is 0 for anything else.
func toWhole(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// toolCause names the cause of a failure that a generator tells in words of its
// own, as cause does that of an error.
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

// readJSON looks for a summary among the objects that begin a line.
func readJSON(out []byte) (last *summary, n int) {
	// Objects that do not end well are read to their end or the output's: they
	// must not take more than the output's length a few times over.
	budget := 4 * len(out)
	for rest := out; budget > 0; {
		i := lineObject(rest)
		if i < 0 {
			break
		}
		rest = rest[i:]
		var doc map[string]json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(rest))
		if err := dec.Decode(&doc); err != nil {
			budget -= len(rest)
			if syntax, ok := err.(*json.SyntaxError); ok {
				budget += len(rest) - int(min(syntax.Offset, int64(len(rest)))) - 1
			}
			rest = rest[1:]
			continue
		}
		for _, read := range []func(map[string]json.RawMessage) *summary{readVegeta, readOha, readK6, readK6New} {
			if rec := read(doc); rec != nil {
				last = rec
				n++
				break
			}
		}
		rest = rest[dec.InputOffset():]
	}
	return last, n
}

// lineObject is where the first line begins that starts with a brace, or -1.
func lineObject(b []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '{')
		if i < 0 {
			return -1
		}
		i += from
		line := bytes.LastIndexByte(b[:i], '\n') + 1
		if len(bytes.TrimSpace(b[line:i])) == 0 {
			return i
		}
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			return -1
		}
		from = i + end
	}
}

// member unmarshals a member of an object into v; it reports whether it could.
func member(doc map[string]json.RawMessage, key string, v any) bool {
	raw, ok := doc[key]
	return ok && json.Unmarshal(raw, v) == nil
}

// readVegeta reads what vegeta report -type=json prints; see lib/metrics.go of
// vegeta 12.13.
func readVegeta(doc map[string]json.RawMessage) *summary {
	var latencies map[string]float64 // nanoseconds
	var statuses map[string]float64
	if !member(doc, "latencies", &latencies) || !member(doc, "status_codes", &statuses) {
		return nil
	}
	r := newSummary("vegeta")
	var errs []string
	member(doc, "errors", &errs)
	for code, n := range statuses {
		if status := toWhole(code); status > 0 {
			r.answered(status, toCount(n))
		} else {
			r.unanswered(vegetaCause(errs), toCount(n))
		}
	}
	var bytes struct{ Total float64 }
	if member(doc, "bytes_in", &bytes) {
		r.BytesIn = toCount(bytes.Total)
	}
	if member(doc, "bytes_out", &bytes) {
		r.BytesOut = toCount(bytes.Total)
	}
	var span, wait float64
	if member(doc, "duration", &span) && member(doc, "wait", &wait) {
		r.Elapsed = toDuration(span+wait, time.Nanosecond)
	}
	var throughput float64
	member(doc, "throughput", &throughput)
	r.perSecond(throughput)
	r.Mean = toDuration(latencies["mean"], time.Nanosecond)
	r.Min = toDuration(latencies["min"], time.Nanosecond)
	r.Max = toDuration(latencies["max"], time.Nanosecond)
	for name, ns := range latencies {
		if percent, ok := strings.CutSuffix(name, "th"); ok {
			r.quantile(toNumber(percent), ns, time.Nanosecond)
		}
	}
	return r
}

// vegetaCause is the cause of all requests without an answer, if they have one
// in common: vegeta lists the errors without their counts, among them one such
// as "503 Service Unavailable" of each status.
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
	if common == "" {
		return causeNone
	}
	return common
}

// readOha reads what oha --output-format json (once -j) prints; see schema.json
// of oha 1.16. Its times are in seconds, and null where nothing was answered.
func readOha(doc map[string]json.RawMessage) *summary {
	var sum struct {
		Total, Slowest, Fastest, Average, TotalData float64
	}
	var percentiles map[string]*float64
	var statuses, errs map[string]float64
	if !member(doc, "summary", &sum) || !member(doc, "latencyPercentiles", &percentiles) || !member(doc, "statusCodeDistribution", &statuses) {
		return nil
	}
	r := newSummary("oha")
	for code, n := range statuses {
		r.answered(toWhole(code), toCount(n))
	}
	member(doc, "errorDistribution", &errs)
	for text, n := range errs {
		// Requests under way when the time was over are no failures.
		if text != "aborted due to deadline" {
			r.unanswered(toolCause(text), toCount(n))
		}
	}
	r.BytesIn = toCount(sum.TotalData)
	r.Elapsed = toDuration(sum.Total, time.Second)
	r.Mean = toDuration(sum.Average, time.Second)
	r.Min = toDuration(sum.Fastest, time.Second)
	r.Max = toDuration(sum.Slowest, time.Second)
	if r.Elapsed > 0 { // requestsPerSec counts aborted requests, too
		r.rate(float64(r.Requests) / r.Elapsed.Seconds())
	}
	for name, s := range percentiles {
		if percent, ok := strings.CutPrefix(name, "p"); ok && s != nil {
			r.quantile(toNumber(percent), *s, time.Second)
		}
	}
	return r
}
