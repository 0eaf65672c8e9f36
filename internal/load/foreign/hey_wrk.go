package foreign

import (
	"encoding/csv"
	"regexp"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
)

// lastSection returns the text from the last line on that begins with mark, and the
// number of such lines.
func lastSection(out []byte, mark string) (text string, n int) {
	sections := strings.Split("\n"+string(out), "\n"+mark)
	if n = len(sections) - 1; n > 0 {
		text = mark + sections[n]
	}
	return text, n
}

var (
	wrkTotal   = regexp.MustCompile(`(?m)^\s*(\d+) requests in ([\d.]+\w+), [\d.]+\w* read`)
	wrkLatency = regexp.MustCompile(`(?m)^\s*Latency\s+([\d.]+\w+)\s+[\d.]+\w+\s+([\d.]+\w+)`)
	wrkPercent = regexp.MustCompile(`(?m)^\s*([\d.]+)%\s+([\d.]+\w+)\s*$`)
	wrkSocket  = regexp.MustCompile(`(?m)^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkStatus  = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: (\d+)`)
	wrkRate    = regexp.MustCompile(`(?m)^Requests/sec:\s*([\d.]+)`)
)

// readWrk reads wrk's output, with and without --latency; see wrk.c and units.c of
// wrk 4.1.0. It leaves out wrk's bytes, which include headers.
func readWrk(out []byte) (*summary, int) {
	text, n := lastSection(out, "Running ")
	total, latency := wrkTotal.FindStringSubmatch(text), wrkLatency.FindStringSubmatch(text)
	if total == nil || latency == nil {
		return nil, 0
	}
	r := newSummary("wrk")
	r.answered(0, toWhole(total[1]))
	r.Elapsed = wrkTime(total[2])
	// A request that took longer than --timeout is counted as answered, but is in
	// no percentile.
	if m := wrkSocket.FindStringSubmatch(text); m != nil {
		r.unanswered("connection refused", toWhole(m[1]))
		r.unanswered("connection closed", toWhole(m[2]))
		r.unanswered("connection reset", toWhole(m[3]))
		if slow := toWhole(m[4]); slow > 0 {
			r.fail(load.CauseTimeout, slow)
			r.Warnings.AddOf(dyno.WarnCommand, "timeouts", "the latency of wrk leaves out %d requests that took longer than its --timeout", slow)
		}
	}
	if m := wrkStatus.FindStringSubmatch(text); m != nil {
		r.fail("status 4xx or 5xx", toWhole(m[1]))
	}
	if m := wrkRate.FindStringSubmatch(text); m != nil {
		// wrk's rates leave out requests without an answer.
		r.rate(toNumber(m[1]) * float64(r.Requests) / toNumber(total[1]))
	}
	if r.Requests == r.Failed {
		return r, n // its latency is zero
	}
	r.Mean, r.Max = wrkTime(latency[1]), wrkTime(latency[2])
	for _, m := range wrkPercent.FindAllStringSubmatch(text, -1) {
		r.quantile(toNumber(m[1]), wrkTime(m[2]).Seconds(), time.Second)
	}
	if len(r.Quantiles) == 0 {
		r.Warnings.AddOf(dyno.WarnCommand, "percentiles", "wrk gave no percentiles (consider: wrk --latency)")
	}
	return r, n
}

// wrkTime reads a duration such as 1.23ms, in us, ms, s, m or h.
func wrkTime(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

var (
	heyLine    = regexp.MustCompile(`(?m)^\s*(Total|Slowest|Fastest|Average|Requests/sec|Total data):\s*([\d.]+)`)
	heyTotal   = regexp.MustCompile(`(?m)^\s*Total:\s*[\d.]+ secs$`)
	heyPercent = regexp.MustCompile(`(?m)^\s*([\d.]+)%+ in ([\d.]+) secs`)
	heyStatus  = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\s+(\d+) responses`)
	heyError   = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\t(.+)$`)
)

// heyStep is the unit that hey rounds to, with an error of half of it.
const heyStep = 100 * time.Microsecond

// readHey reads hey's summary; see requester/print.go of hey 0.1.4.
func readHey(out []byte) (*summary, int) {
	text, n := lastSection(out, "Summary:")
	if !heyTotal.MatchString(text) { // oha's text looks alike, in other units
		return nil, 0
	}
	r := newSummary("hey")
	text, errs, _ := strings.Cut(text, "Error distribution:")
	for _, m := range heyStatus.FindAllStringSubmatch(text, -1) {
		r.answered(toWhole(m[1]), toWhole(m[2]))
	}
	for _, m := range heyError.FindAllStringSubmatch(errs, -1) {
		r.unanswered(toolCause(m[2]), toWhole(m[1]))
	}
	seconds := map[string]float64{}
	for _, m := range heyLine.FindAllStringSubmatch(text, -1) {
		seconds[m[1]] = toNumber(m[2])
	}
	r.times(time.Second, seconds["Total"], seconds["Average"], seconds["Fastest"], seconds["Slowest"])
	r.rate(seconds["Requests/sec"])
	r.BytesIn = toCount(seconds["Total data"])
	for _, m := range heyPercent.FindAllStringSubmatch(text, -1) {
		r.quantile(toNumber(m[1]), toNumber(m[2]), time.Second)
	}
	r.coarse(r.Quantiles[.5])
	return r, n
}

// coarse warns if hey's rounding exceeds a hundredth of the median.
func (r *summary) coarse(median time.Duration) {
	if r.Requests > r.Failed && median < 50*heyStep {
		r.Warnings.AddOf(dyno.WarnCommand, "rounding", "hey rounds times to %v, which is coarse for these latencies", heyStep)
	}
}

// heyRows is the number of requests that hey keeps: maxRes in requester/requester.go.
const heyRows = 1_000_000

const heyColumns = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"

// readHeyCSV reads the rows of hey -o csv, one per answered request.
func readHeyCSV(out []byte) (*summary, int) {
	text, n := lastSection(out, heyColumns)
	if n == 0 {
		return nil, 0
	}
	r := newSummary("hey")
	h := hist.New()
	rows := csv.NewReader(strings.NewReader(text))
	rows.ReuseRecord, rows.FieldsPerRecord = true, 8
	if _, err := rows.Read(); err != nil {
		return nil, 0
	}
	for {
		row, err := rows.Read()
		if err != nil {
			break // what follows the table is not of it
		}
		seconds, from, status := toNumber(row[0]), toNumber(row[7]), toWhole(row[6])
		if !(seconds >= 0 && from >= 0) || status < 100 || status > 999 { // also of NaN
			continue
		}
		took, at := toDuration(seconds, time.Second), toDuration(from, time.Second)
		r.answered(status, 1)
		r.Elapsed = max(r.Elapsed, at+took)
		if status < 400 {
			h.Add(took)
		}
	}
	r.Latency, r.Service, r.Quantiles = h, h, nil
	r.rateOfElapsed()
	r.coarse(h.Quantile(.5))
	r.Warnings.AddOf(dyno.WarnCommand, "no-answer", "hey -o csv leaves out requests without an answer, so the failures do not count them")
	if r.Requests >= heyRows {
		r.Warnings.AddOf(dyno.WarnCommand, "rows", "hey keeps the first %d requests only", heyRows)
	}
	return r, n
}
