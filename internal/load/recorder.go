package load

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load/requestlog"
	"github.com/dynolab/dyno/internal/load/scenario"
	"github.com/dynolab/dyno/internal/load/turn"
)

// due is when a request was due, and when its client would have been free for it, as pace.Free has it.
type due struct {
	at, free time.Duration
	follows  bool // it is a later step of a session, so no time of the schedule
}

func (d due) start() time.Duration { return max(d.at, d.free) }

// A recorder counts what clients do, in shards so that they do not wait for each
// other. Its memory does not grow with clients or requests.
type recorder struct {
	tallies  []scenario.Tally
	open     bool
	zero     time.Duration // begin of the window
	zeroOwn  time.Duration // the same, of the run's own time
	deadline time.Duration // latency beyond which a request is overdue; never if the load has none
	until    time.Duration // end of a closed load with a duration, of the run's own time
	turn     *turn.Turn
	shards   []*shard
	keeper   *requestlog.Log // nil if requests are not kept
}

type shard struct {
	rec *recorder
	totals

	mu      sync.Mutex
	steps   []StepRecord // of each tally
	service *hist.Histogram
	late    *hist.Histogram
	second  *hist.Histogram    // latency since the last call of flip; nil without Options.Second
	kept    *requestlog.Buffer // nil if requests are not kept
}

// totals are a shard's counts of the loop, apart from histograms.
type totals struct {
	failures   map[failure]int
	examples   map[string]string // by cause: outcome.example of the first
	asides     map[string]int    // failures of requests that are not measured
	statuses   map[int]int64
	slowest    slowest
	sent       int64
	overdue    int64   // requests that succeeded after the deadline
	redirects  int64   // answers of status 3xx that no step expects
	inTime     float64 // requests that succeeded by the recorder's until; see shard.portion
	sentInTime float64 // requests that were over by then, likewise
	succeeded  float64 // all that succeeded, likewise
	in, out    int64   // bytes
	messages   int64   // of streams
	waited     int64
	last       time.Duration                       // done
	own        struct{ first, last time.Duration } // due, done, of the run's own time
	dueLast    time.Duration                       // of the request that was due last, of the run's own time
	sentAt     time.Duration                       // when it was sent, likewise
	lag        time.Duration                       // longest wait of a request since one had not to wait, likewise
	recovered  time.Duration                       // longest lag that was caught up with
	lastGood   time.Duration                       // when the last request succeeded, of the run's own time
	lastBad    time.Duration                       // when the last that failed was sent, likewise
	bad        int64                               // that failed in a row
}

func newTotals() totals {
	return totals{failures: map[failure]int{}, examples: map[string]string{}, asides: map[string]int{}, statuses: map[int]int64{}, own: struct{ first, last time.Duration }{first: never}}
}

const never = time.Duration(1<<63 - 1)

// maxHistograms bounds the memory: 64 histograms take some 17 MB.
const maxHistograms = 64

func newRecorder(tallies []scenario.Tally, shards int, open bool) *recorder {
	r := &recorder{tallies: tallies, open: open}
	n := min(shards, runtime.GOMAXPROCS(0), max(maxHistograms/(len(tallies)+2), 1))
	for range n {
		s := &shard{rec: r, totals: newTotals()}
		for _, t := range tallies {
			s.steps = append(s.steps, StepRecord{Label: t.Label, Latency: hist.New()})
		}
		if open {
			s.service, s.late = hist.New(), hist.New()
		}
		r.shards = append(r.shards, s)
	}
	return r
}

// tally adds a tally while requests are recorded, and returns its index. Only one goroutine records.
func (r *recorder) tally(t scenario.Tally) int {
	s := r.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(r.tallies, func(of scenario.Tally) bool { return of.Label == t.Label }) {
		t.Label += " (mark)" // of a step that has the same name
	}
	r.tallies = append(r.tallies, t)
	s.steps = append(s.steps, StepRecord{Label: t.Label, Latency: hist.New()})
	if r.keeper != nil {
		r.keeper.Step(t.Label)
	}
	return len(r.tallies) - 1
}

// begin begins the window.
func (r *recorder) begin(now time.Duration) { r.zero, r.zeroOwn = now, r.turn.OwnAt(now) }

func (r *recorder) shard(client int) *shard { return r.shards[client%len(r.shards)] }

func (r *recorder) keepIn(f *os.File, most int64) {
	var labels []string
	for _, t := range r.tallies {
		labels = append(labels, t.Label)
	}
	r.keeper = requestlog.New(f, most, labels)
	for _, s := range r.shards {
		s.kept = r.keeper.Buffer()
	}
}

// keepNoMore ends the keeping, and adds its result to rec unless that is nil.
func (r *recorder) keepNoMore(rec *Record) {
	k := r.keeper
	if k == nil {
		return
	}
	r.keeper = nil
	if err := k.Close(); rec == nil {
		return
	} else if err != nil {
		rec.Warnings.Add(dyno.WarnRequestsKept, "dyno keeps no single requests: %v", err)
		return
	}
	rec.Kept = k.Requests()
	if n, seen := k.Kept(); n < seen {
		rec.Warnings.Add(dyno.WarnRequestsKept, "dyno keeps a uniform sample of %[2]d of %[1]d requests (consider: --max-requests-kept)", seen, n)
	}
}

// eachSecond calls Options.Second until stop is called.
func (r *runner) eachSecond() (stop func()) {
	if r.options.Second == nil {
		return func() {}
	}
	spare, sum := make([]*hist.Histogram, len(r.rec.shards)), hist.New()
	for i, s := range r.rec.shards {
		s.second, spare[i] = hist.New(), hist.New()
	}
	zero, from := r.now(), time.Duration(0)
	flip := func() {
		sum.Reset()
		for i, s := range r.rec.shards {
			s.mu.Lock()
			s.second, spare[i] = spare[i], s.second
			s.mu.Unlock()
			sum.Merge(spare[i])
			spare[i].Reset()
		}
		to := r.now() - zero
		if sum.Count() > 0 {
			r.options.Second(sum, from, to)
		}
		from = to
	}
	var ticking sync.WaitGroup
	done := make(chan struct{})
	ticking.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ended := false; !ended; flip() {
			select {
			case <-done:
				ended = true
			case <-tick.C:
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

func (s *shard) add(c *client, st *scenario.Step, d due, o *outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := &s.steps[st.Tally]
	step.Requests++
	latency := o.done - d.at
	if o.cause != "" {
		step.Failed++
		if o.cause == CauseTimeout {
			step.Slow++
		}
	} else {
		step.Latency.Add(latency)
	}
	if !s.rec.tallies[st.Tally].Loop {
		return
	}
	s.sent++
	if s.kept != nil {
		zero := s.rec.zero
		s.kept.Add(c.number, st.Tally, d.at-zero, o.sent-zero, o.done-zero, o.status, o.in, o.cause != "")
	}
	if o.status > 0 {
		s.statuses[o.status]++
	}
	s.in += o.in
	s.out += o.out
	s.messages += o.messages
	s.last = max(s.last, o.done)
	away := s.rec.turn.Offset(o.done)
	s.own.first = min(s.own.first, d.at-s.rec.turn.Offset(d.at))
	s.own.last = max(s.own.last, o.done-away)
	inTime, portion := o.done-away <= s.rec.until, s.portion(o)
	if inTime {
		s.sentInTime += portion
	}
	if o.status/100 == 3 && len(st.Expect) == 0 {
		s.redirects++
	}
	if o.cause != "" {
		count(s.failures, o.failure, failure{"other", cureStep})
		if o.example != "" && s.examples[o.cause] == "" && len(s.examples) < maxCauses {
			s.examples[o.cause] = o.example
		}
		s.lastBad = max(s.lastBad, o.sent-away)
		s.bad++
	} else {
		s.bad = 0
		if latency > s.rec.deadline {
			s.overdue++
		}
		s.succeeded += portion
		if inTime {
			s.inTime += portion
		}
		s.lastGood = max(s.lastGood, o.done-away)
		if s.second != nil {
			s.second.Add(latency)
		}
		if s.slowest.wants(latency) {
			zero := s.rec.zero
			s.slowest.put(dyno.Request{Client: c.number, Step: st.Label, Due: d.at - zero, Sent: o.sent - zero, Done: o.done - zero, Status: o.status, Bytes: o.in})
		}
	}
	if s.rec.open {
		s.addOpen(d, o)
	}
}

// portion returns the share of a closed load's request that lay in turns of the load, if turns go by the
// clock. The rest of it took no time of the run's own. So requests per second are those of clients that go on
// for ever.
func (s *shard) portion(o *outcome) float64 {
	if s.rec.open || o.done <= o.sent {
		return 1
	}
	return s.rec.turn.Overlap(o.sent, o.done)
}

func (s *shard) addOpen(d due, o *outcome) {
	if o.cause == "" {
		s.service.Add(o.done - o.sent)
	}
	if !d.follows {
		s.beganAt(d, o.sent)
	}
}

// begun counts the begin of a session whose first step is not measured.
func (s *shard) begun(d due, sent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beganAt(d, sent)
}

// beganAt counts how late something of the schedule began. mu is held.
func (s *shard) beganAt(d due, began time.Duration) {
	s.late.Add(began - d.start())
	at, sent := s.rec.turn.OwnAt(d.at), s.rec.turn.OwnAt(began)
	if d.free > d.at {
		s.waited++
		s.lag = max(s.lag, sent-at)
	} else { // the load has caught up
		s.recovered, s.lag = max(s.recovered, s.lag), 0
	}
	if at >= s.dueLast {
		s.dueLast, s.sentAt = at, sent
	}
}

// aside counts a request that is not measured; window: it was sent in the window.
func (s *shard) aside(st *scenario.Step, cause string, window bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if window {
		s.sent++
	}
	if cause != "" {
		count(s.asides, fmt.Sprintf("step %q: %s", st.Label, cause), "other")
	}
}

// slowest are the slowest successful requests, the slowest first.
type slowest []dyno.Request

// MostSlowest is the largest number of requests in Record.Slowest.
const MostSlowest = 10

func latencyOf(r *dyno.Request) time.Duration { return r.Done - r.Due }

func (l slowest) wants(latency time.Duration) bool {
	return len(l) < MostSlowest || latency > latencyOf(&l[MostSlowest-1])
}

func (l *slowest) put(r dyno.Request) {
	all := append(*l, r)
	slices.SortFunc(all, func(a, b dyno.Request) int {
		return cmp.Or(cmp.Compare(latencyOf(&b), latencyOf(&a)), cmp.Compare(a.Due, b.Due))
	})
	*l = all[:min(len(all), MostSlowest)]
}

const maxCauses = 20

func count[K comparable](m map[K]int, k, other K) {
	if _, ok := m[k]; !ok && len(m) >= maxCauses {
		k = other
	}
	m[k]++
}

func addAll[K comparable, N int | int64](to, from map[K]N) {
	for k, n := range from {
		to[k] += n
	}
}

func (s *totals) merge(t *totals) {
	addAll(s.failures, t.failures)
	addAll(s.asides, t.asides)
	maps.Copy(s.examples, t.examples)
	addAll(s.statuses, t.statuses)
	for _, q := range t.slowest {
		s.slowest.put(q)
	}
	s.sent += t.sent
	s.overdue += t.overdue
	s.inTime += t.inTime
	s.succeeded += t.succeeded
	s.sentInTime += t.sentInTime
	s.redirects += t.redirects
	s.in += t.in
	s.out += t.out
	s.messages += t.messages
	s.waited += t.waited
	s.recovered = max(s.recovered, t.recovered)
	s.lastGood = max(s.lastGood, t.lastGood)
	s.lastBad = max(s.lastBad, t.lastBad)
	s.bad += t.bad
	s.last = max(s.last, t.last)
	s.own.first = min(s.own.first, t.own.first)
	s.own.last = max(s.own.last, t.own.last)
	if t.dueLast >= s.dueLast {
		s.dueLast, s.sentAt = t.dueLast, t.sentAt
	}
}
