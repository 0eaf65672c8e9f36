package load

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
)

// A Record is what a run measured. Its totals are those of the loop's measured
// steps.
type Record struct {
	Requests int64          // measured requests that are over, failed ones included
	Failed   int64          // those of them that failed
	Failures map[string]int // the failed ones by cause, such as "status 503" or "timeout"
	Slow     int64          // the failed ones that timed out
	Unsent   int64          // open load: due, but the run ended before they could be sent
	Sent     int64          // all requests of the window, those of unmeasured steps too

	// Elapsed is the measured window: from when the first request was due
	// until the last was done.
	Elapsed time.Duration

	// Rate is the successful requests per second of the time in which requests
	// were sent; the wait for the last answers is in no rate. In a closed load
	// with a duration it counts those that were done by its end, in one with a
	// number of requests it is that of the whole window.
	Rate float64

	Latency  *dyno.Histogram // done - due, of the requests that succeeded
	Service  *dyno.Histogram // done - sent; in a closed load it is Latency itself
	Lateness *dyno.Histogram // open load: sent - due, of requests for which a connection was free; else nil
	Waited   int64           // open load: requests that waited for a connection to be free

	// What another generator says of latency instead of a histogram: quantiles
	// by their share, such as 0.99, and moments that are 0 where it gives none.
	Quantiles      map[float64]time.Duration
	Mean, Min, Max time.Duration

	Engine            string        // what sent: the name of another generator, "command" if that is not known
	Statuses          map[int]int64 // answers by status, as far as known
	BytesIn, BytesOut int64         // of bodies received and sent, as far as known

	Steps    []StepRecord // by name, in the order of the plan, if more than one step was measured
	Bytes    int64        // of bodies received
	Warnings []string     // doubts that the reader must see
}

// A StepRecord is what was measured of one step. Steps of set-up and teardown
// appear here if the plan asks for it, and in no total.
type StepRecord struct {
	Label            string
	Requests, Failed int64
	Slow             int64           // those that timed out, and in an open load those that were not sent
	Latency          *dyno.Histogram // of the requests that succeeded
}

// due is when a request was due, and whether its connection was free then.
type due struct {
	at   time.Time
	free bool
}

// A recorder counts what the clients do. Its shards keep them from waiting for
// one another, and its memory does not grow with clients or requests.
type recorder struct {
	tallies []tally
	open    bool
	shards  []*shard
}

type shard struct {
	mu              sync.Mutex
	tallies         []tally
	open            bool
	requests        []int64 // of each tally
	failed, slow    []int64
	latency         []*dyno.Histogram
	service, late   *dyno.Histogram
	failures        map[string]int
	asides          map[string]int // failures of what is not measured
	sent            int64
	redirects       int64     // answers of status 3xx that no step expects
	until           time.Time // end of a closed load with a duration
	inTime          int64     // requests that succeeded by then
	bytes, waited   int64
	first, last     time.Time // due, done
	dueLast, sentAt time.Time // of the request that was due last
}

// maxHistograms bounds the memory: 64 histograms take some 17 MB.
const maxHistograms = 64

func newRecorder(tallies []tally, clients int, open bool) *recorder {
	r := &recorder{tallies: tallies, open: open}
	n := min(clients, 4*runtime.GOMAXPROCS(0), max(maxHistograms/(len(tallies)+2), 1))
	for range n {
		s := &shard{
			tallies: tallies, open: open,
			requests: make([]int64, len(tallies)), failed: make([]int64, len(tallies)), slow: make([]int64, len(tallies)),
			failures: map[string]int{}, asides: map[string]int{},
		}
		for range tallies {
			s.latency = append(s.latency, dyno.NewHistogram())
		}
		if open {
			s.service, s.late = dyno.NewHistogram(), dyno.NewHistogram()
		}
		r.shards = append(r.shards, s)
	}
	return r
}

func (r *recorder) shard(client int) *shard { return r.shards[client%len(r.shards)] }

// add counts a request of a measured step.
func (s *shard) add(st *step, d due, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tallies[st.tally].loop {
		s.sent++
	}
	s.requests[st.tally]++
	if o.cause != "" {
		s.failed[st.tally]++
		if o.cause == causeTimeout {
			s.slow[st.tally]++
		}
	} else {
		s.latency[st.tally].Add(o.done.Sub(d.at))
	}
	if !s.tallies[st.tally].loop {
		return
	}
	if o.cause != "" {
		count(s.failures, o.cause)
	}
	s.bytes += o.bytes
	if s.first.IsZero() || d.at.Before(s.first) {
		s.first = d.at
	}
	if o.done.After(s.last) {
		s.last = o.done
	}
	if o.cause == "" && !o.done.After(s.until) {
		s.inTime++
	}
	if o.status/100 == 3 && len(st.expect) == 0 {
		s.redirects++
	}
	if !s.open {
		return
	}
	if o.cause == "" {
		s.service.Add(o.done.Sub(o.sent))
	}
	if d.free {
		s.late.Add(o.sent.Sub(d.at))
	} else {
		s.waited++
	}
	if d.at.After(s.dueLast) {
		s.dueLast, s.sentAt = d.at, o.sent
	}
}

// aside counts a request that is no part of the measured ones; window says
// that it was sent in the measured window.
func (s *shard) aside(st *step, cause string, window bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if window {
		s.sent++
	}
	if cause != "" {
		count(s.asides, fmt.Sprintf("step %q: %s", st.label, cause))
	}
}

// maxCauses bounds the number of distinct causes.
const maxCauses = 20

func count(m map[string]int, cause string) {
	if _, ok := m[cause]; !ok && len(m) >= maxCauses {
		cause = "other"
	}
	m[cause]++
}

// record puts the shards together. No client may be at work.
func (r *runner) record() *Record {
	rec := &Record{Failures: map[string]int{}, Unsent: r.unsent, Latency: dyno.NewHistogram()}
	rec.Service = rec.Latency
	if r.rec.open {
		rec.Service, rec.Lateness = dyno.NewHistogram(), dyno.NewHistogram()
	}
	for i, t := range r.rec.tallies {
		st := StepRecord{Label: t.label, Latency: dyno.NewHistogram()}
		for _, s := range r.rec.shards {
			st.Requests += s.requests[i]
			st.Failed += s.failed[i]
			st.Slow += s.slow[i]
			st.Latency.Merge(s.latency[i])
		}
		if t.loop {
			rec.Requests += st.Requests
			rec.Failed += st.Failed
			rec.Slow += st.Slow
			if r.rec.open {
				st.Slow += r.unsent // its loop has one step
			}
			rec.Latency.Merge(st.Latency)
		}
		if len(r.rec.tallies) > 1 {
			rec.Steps = append(rec.Steps, st)
		}
	}
	sum := shard{failures: rec.Failures, asides: map[string]int{}}
	for _, s := range r.rec.shards {
		sum.merge(s)
		if r.rec.open {
			rec.Service.Merge(s.service)
			rec.Lateness.Merge(s.late)
		}
	}
	rec.Sent, rec.Bytes, rec.Waited = sum.sent, sum.bytes, sum.waited
	rec.Elapsed = sum.last.Sub(sum.first)
	rec.Rate = float64(rec.Latency.Count()) / rec.Elapsed.Seconds()
	switch d := time.Duration(r.load.Duration); {
	case r.rec.open:
		// Until the last request was sent, and the gap that follows it.
		rec.Rate = float64(rec.Latency.Count()) / (max(sum.sentAt.Sub(sum.first), 0) + r.gap()).Seconds()
	case d > 0 && !sum.last.Before(sum.until):
		rec.Rate = float64(sum.inTime) / d.Seconds()
	}
	rec.Warnings = r.warnings(rec, &sum)
	return rec
}

// gap is the mean time from one request to the next in an open load.
func (r *runner) gap() time.Duration {
	return time.Duration(float64(time.Second) / r.load.Rate.Max())
}

// merge adds the totals of t that are no histograms.
func (s *shard) merge(t *shard) {
	for cause, n := range t.failures {
		s.failures[cause] += n
	}
	for cause, n := range t.asides {
		s.asides[cause] += n
	}
	s.sent += t.sent
	s.inTime += t.inTime
	s.redirects += t.redirects
	s.until = t.until
	s.bytes += t.bytes
	s.waited += t.waited
	if s.first.IsZero() || !t.first.IsZero() && t.first.Before(s.first) {
		s.first = t.first
	}
	if t.last.After(s.last) {
		s.last = t.last
	}
	if t.dueLast.After(s.dueLast) {
		s.dueLast, s.sentAt = t.dueLast, t.sentAt
	}
}

// When an open load is doubted: below this share of the rate, and above this
// lateness at the 99th percentile or this share of waiting requests.
const (
	leastRate    = 0.99
	mostLateness = time.Millisecond
	mostWaited   = 0.01
)

func (r *runner) warnings(rec *Record, sum *shard) (ws []string) {
	warn := func(format string, args ...any) { ws = append(ws, fmt.Sprintf(format, args...)) }
	if rec.Failed > 0 {
		warn("%d of %d requests failed: %s", rec.Failed, rec.Requests, causes(rec.Failures))
	}
	if len(sum.asides) > 0 {
		warn("requests that are not measured failed: %s", causes(sum.asides))
	}
	if sum.redirects > 0 {
		warn("%d answers were redirects (status 3xx), which count as success and are not followed (consider: the path that they lead to)", sum.redirects)
	}
	if !r.rec.open || rec.Requests == 0 {
		return ws
	}
	if rec.Unsent > 0 {
		warn("%d requests were due and could not be sent before the load ended", rec.Unsent)
	}
	span := sum.dueLast.Sub(sum.first) + r.gap()
	behind := sum.sentAt.Sub(sum.dueLast)
	if kept := float64(span) / float64(span+behind); kept < leastRate {
		warn("the rate was %.4g/s, not the %.4g/s asked for: requests were sent up to %v late at the end",
			r.load.Rate.Max()*kept, r.load.Rate.Max(), behind.Round(time.Millisecond))
	}
	if p99 := rec.Lateness.Quantile(0.99); p99 > mostLateness {
		warn("dyno itself sent late, p99 %v, which latency includes (consider: a lower rate, or more CPU for dyno)",
			p99.Round(10*time.Microsecond))
	}
	if share := float64(rec.Waited) / float64(rec.Requests); share > mostWaited {
		warn("%.1f %% of the requests waited for one of %d connections, which latency includes (consider: more concurrency)",
			100*share, r.load.Concurrency)
	}
	return ws
}

// causes lists failures, the most frequent first.
func causes(m map[string]int) string {
	var list []string
	for _, c := range ranked(m) {
		list = append(list, fmt.Sprintf("%s (%d)", c, m[c]))
	}
	return strings.Join(list, ", ")
}

func ranked(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(m[b]-m[a], strings.Compare(a, b))
	})
}

// verdict says whether the record may stand: fast errors are no good latency,
// and no data is no pass.
func (r *runner) verdict(rec *Record) error {
	if rec.Requests+rec.Unsent == 0 {
		return fmt.Errorf("load %s: no request was measured (consider: a longer duration)", r.base)
	}
	bad, all := rec.Failed+rec.Unsent, rec.Requests+rec.Unsent
	share := float64(bad) / float64(all)
	if share <= r.limit {
		return nil
	}
	most, verb := "not sent in time", "failed"
	if rec.Unsent > 0 {
		verb = "failed or were not sent in time"
	}
	if top := ranked(rec.Failures); len(top) > 0 && int64(rec.Failures[top[0]]) >= rec.Unsent {
		most = top[0]
	}
	return fmt.Errorf("load %s: %d of %d requests %s (%.3g %%), more than the %v allowed: most often %s (consider: %s)",
		r.base, bad, all, verb, 100*share, dyno.Fraction(r.limit), most, cure(most))
}

// cure is what most often helps against a cause.
func cure(cause string) string {
	switch {
	case cause == "connection refused", cause == "connection reset", cause == "connection closed", cause == "host not found":
		return "whether the service is still up at this address; its log may say why not"
	case cause == causeTimeout:
		return "a longer timeout, or less load"
	case cause == "not sent in time":
		return "a lower rate, or more concurrency"
	case cause == "too many open files", cause == "no free local port":
		return "a lower concurrency, or a higher ulimit -n"
	case cause == "status 429", strings.HasPrefix(cause, "status 5"):
		return "less load; the service's log may say why"
	case strings.HasPrefix(cause, "status "):
		return "expect: in the step if this status is right, or else its path, headers and body"
	}
	return "the step's path and captures"
}
