package load

import (
	"iter"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// A Record is what a run measured. Totals are of the loop's measured steps.
type Record struct {
	dyno.Sent // engine, requests over, unsent, statuses, bytes, the slowest, saturation

	Failed   int64             // requests that failed
	Failures map[string]int    // by cause, such as "status 503" or "timeout"
	Examples map[string]string // by cause: a request that failed, and the answer
	Cures    map[string]string // by cause: what most often helps
	Slow     int64             // the failed ones that timed out
	Late     int64             // requests slower than the load's deadline, failed or unsent; 0 if it has none
	Window   int64             // all requests of the window, those of unmeasured steps too

	Start       time.Time     // of the measured window; Kept and Slowest count from it
	StartedLate time.Duration // how much later than Options.At the window began; below 0 if it was there before
	// Elapsed runs from Start to the end of the last request, with what was not the run's turn.
	Elapsed time.Duration
	// Rate is successful requests per second of the run's own time, SentRate all sent
	// requests. Waiting for the last answers is in neither. A closed load with a duration counts what
	// was done by its end; one with a number of requests takes the whole window.
	Rate, SentRate float64
	Own            time.Duration // the time of which they are
	Played         time.Duration // the window, of the run's own time

	// Of a closed load, of its own time since the window began: how many requests failed in a row at the
	// end, when the last of them was sent, and when the last success was over.
	Bad               int64
	LastBad, LastGood time.Duration

	Latency  *hist.Histogram // done - due, of the requests that succeeded
	Service  *hist.Histogram // done - sent; in a closed load it is Latency itself
	Lateness *hist.Histogram // open load: sent - when it could have been sent, the generator's own delay, of a session's first step; else nil
	Messages int64           // of streams, that were received
	Waited   int64           // open load: requests that waited for a connection to be free, or sessions for a client
	CPU      float64         // the generator's CPU time in the window as a share of its cores, or the busiest loop's of one; 0 if not known

	// Another generator's latency instead of histograms: quantiles by share, such as
	// 0.99, and moments, 0 if it gives none.
	Quantiles      map[float64]time.Duration
	Mean, Min, Max time.Duration

	// Kept reads the requests in Options.Scratch in the order of their ends: all, or
	// a uniform sample. Nil if none are kept.
	Kept iter.Seq2[dyno.Request, error]

	Generators []dyno.Generator // what sent it, if that were agents on other machines

	Steps    []StepRecord  // by name, in the order of the plan, if more than one step was measured
	Warnings dyno.Warnings // doubts that the reader must see
}

// A StepRecord has one step's measurements. Measured steps of set-up and teardown
// have one too, and count in no total.
type StepRecord struct {
	Label            string
	Requests, Failed int64
	Slow             int64           // those that timed out, and in an open load those that were not sent
	Latency          *hist.Histogram // of the requests that succeeded
}

// Add adds the same step of another part of the run.
func (s *StepRecord) Add(of *StepRecord) {
	s.Requests += of.Requests
	s.Failed += of.Failed
	s.Slow += of.Slow
	s.Latency.Merge(of.Latency)
}

// record merges the shards. No client may be at work.
func (r *runner) record() *Record {
	rec := &Record{Latency: hist.New()}
	rec.Service = rec.Latency
	if r.rec.open {
		rec.Service, rec.Lateness = hist.New(), hist.New()
	}
	sum := newTotals()
	for _, s := range r.rec.shards {
		sum.merge(&s.totals)
		if r.rec.open {
			rec.Service.Merge(s.service)
			rec.Lateness.Merge(s.late)
		}
	}
	first := true
	for i, t := range r.rec.tallies {
		st := StepRecord{Label: t.Label, Latency: hist.New()}
		for _, s := range r.rec.shards {
			st.Add(&s.steps[i])
		}
		if t.Loop {
			rec.Requests += st.Requests
			rec.Failed += st.Failed
			rec.Slow += st.Slow
			if r.rec.open && first {
				st.Slow += r.unsent // of a session, its first step
			}
			first = false
			rec.Latency.Merge(st.Latency)
		}
		if len(r.rec.tallies) > 1 {
			rec.Steps = append(rec.Steps, st)
		}
	}
	rec.Engine, rec.Unsent, rec.Window = r.engineName(), r.unsent, sum.sent
	if r.load.Deadline > 0 {
		rec.Late = sum.overdue + rec.Failed + rec.Unsent
	}
	rec.Failures, rec.Cures = map[string]int{}, map[string]string{}
	for f, n := range sum.failures {
		rec.Failures[f.cause] += n
		rec.Cures[f.cause] = f.cure
	}
	rec.Statuses, rec.Slowest, rec.Examples = sum.statuses, sum.slowest, sum.examples
	rec.BytesIn, rec.BytesOut, rec.Messages, rec.Waited = sum.in, sum.out, sum.messages, sum.waited
	if sum.own.first == never {
		sum.own.first = sum.own.last
	}
	rec.Start = r.at(r.rec.zero)
	rec.Elapsed = max(sum.last-r.rec.zero, 0)
	r.rates(rec, &sum)
	rec.Played = r.endedOwn - r.rec.zeroOwn
	if !r.rec.open {
		rec.Bad, rec.LastBad, rec.LastGood = sum.bad, max(sum.lastBad-r.rec.zeroOwn, 0), max(sum.lastGood-r.rec.zeroOwn, 0)
	}
	rec.CPU, rec.StartedLate = r.cpu, r.startedLate
	r.doubt(rec, &sum)
	return rec
}

func (r *runner) engineName() string {
	switch {
	case r.distant != nil:
		return "program"
	case r.loops != nil:
		return "loop"
	}
	return r.engine.Name()
}

func (r *runner) resent() int64 {
	if r.distant != nil {
		return 0
	}
	n := r.engine.Resent()
	if r.loops != nil {
		n += r.loops.resent.Load()
	}
	return n
}

func (r *runner) rates(rec *Record, sum *totals) {
	done, over, d := float64(rec.Latency.Count()), float64(rec.Requests), sum.own.last-sum.own.first
	switch all := time.Duration(r.load.Duration); {
	case r.rec.open && !r.complete:
		d = r.endedOwn - r.rec.zeroOwn
	case r.rec.open && r.unsent > 0:
		d = sum.sentAt - r.rec.zeroOwn
	case r.rec.open:
		// A lag that the load caught up with is a stall, which latency shows,
		// not a rate that cannot be held.
		d = r.planned() + max(sum.sentAt-sum.dueLast-sum.recovered, 0)
	case all > 0 && r.complete:
		done, over, d = sum.inTime, sum.sentInTime, all
	case r.slot > 0 && sum.succeeded > 0: // a number of requests, in turns by the clock
		over *= sum.succeeded / max(done, 1)
		done = sum.succeeded
	}
	rec.Own = d
	rec.Rate = done / d.Seconds()
	rec.SentRate = over / d.Seconds()
}

// planned is an open load's scheduled length, until one more request would be due.
func (r *runner) planned() time.Duration {
	n := float64(r.load.Requests)
	if n == 0 {
		return time.Duration(r.load.Duration)
	}
	if r.load.Replay != "" { // until the mean of its gaps is over once more
		return r.lastDue + r.lastDue/time.Duration(max(n-1, 1)) + 1
	}
	last, _ := r.load.Rate.Due(n - 1)
	if next, ok := r.load.Rate.Due(n); ok {
		return r.lastDue + next - last
	}
	return r.load.Rate.Length()
}
