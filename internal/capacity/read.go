package capacity

import (
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// Settle is the first part of a window, which is not counted: the queue is not yet what it will be.
const Settle = time.Second

// CountOf counts the requests of a histogram that were beyond the limit of each objective; none of those that
// succeeded is a failure.
func CountOf(h *hist.Histogram, objectives []Objective) []Count {
	counts := make([]Count, len(objectives))
	for i, o := range objectives {
		counts[i].N = float64(h.Count())
		if o.Limit > 0 {
			h.Each(func(lo, hi, n int64) {
				if (lo+hi)/2 >= int64(o.Limit) {
					counts[i].Beyond += float64(n)
				}
			})
		}
	}
	return counts
}

// Parts count the requests of a window second by second.
type Parts struct {
	Objectives []Objective
	Counts     [][]Count // of each second, of each objective
}

// Second is an observer of a lab, of one trial at a time.
func (p *Parts) Second(_ *dyno.Trial, h *hist.Histogram, _, _ time.Duration) {
	p.Counts = append(p.Counts, CountOf(h, p.Objectives))
}

// Read makes a window of the result of a trial. parts has what CountOf says of each second of it.
func (p *Problem) Read(r *dyno.Result, rate float64, parts [][]Count) Window {
	w := Window{Rate: rate, Length: time.Duration(r.Trial.Load.Duration), Whole: make([]Count, len(p.Objectives)), Parts: make([][]Count, len(p.Objectives))}
	counted := 1.0 // share of the window
	if len(parts) > 1 {
		counted = float64(len(parts)-1) / float64(len(parts))
		parts = parts[1:]
		w.Length -= Settle
	} else if r.Latency != nil && r.Latency.Count() > 0 {
		parts = [][]Count{CountOf(r.Latency, p.Objectives)}
	}
	w.Steal, w.Others = share(r, "steal-frac"), share(r, "others-cpu-frac")
	w.Disturbed, w.Warnings = p.disturbed(w.Steal, w.Others), r.Warnings
	if r.Died {
		return p.died(w)
	}
	value := func(metric string) float64 { v, _ := r.Values.Get(metric); return v }
	lost := counted * (value("failures") + float64(r.Sent.Unsent))
	slow := false // by far, even when latency runs from when a request was sent
	for i, o := range p.Objectives {
		c := &w.Whole[i]
		for _, part := range parts {
			c.N += part[i].N
			c.Beyond += part[i].Beyond
			if o.Limit > 0 {
				w.Parts[i] = append(w.Parts[i], part[i])
			}
		}
		c.N += lost
		c.Beyond += lost
		seen := c.share()
		if o.Limit > 0 {
			seen = math.NaN()
			if v, ok := r.Values.Get(percentile(o)); ok {
				seen = v
			}
		}
		w.Seen = append(w.Seen, seen)
		if o.Limit == 0 && !o.Holds(c.Beyond, c.N) {
			slow = true // a late generator makes no request fail
		}
		if o.Limit > 0 && value("service-"+percentile(o)) > clearly*o.Limit.Seconds() {
			slow = true
		}
	}
	w.Behind, w.Limited = p.judge(r, slow)
	return w
}

// percentile is the metric of an objective of latency.
func percentile(o Objective) string {
	i := slices.IndexFunc(dyno.Percentiles, func(x struct {
		Metric string
		Share  float64
	}) bool {
		return dyno.ThresholdName(x.Metric) == o.Name
	})
	return dyno.Percentiles[i].Metric
}

// shortest is the shortest limit; 0 without one.
func (p *Problem) shortest() (limit time.Duration) {
	for _, o := range p.Objectives {
		if o.Limit > 0 && (limit == 0 || o.Limit < limit) {
			limit = o.Limit
		}
	}
	return limit
}

// How late the generator may be, and how much of the rate has to be sent.
const (
	mostLate  = time.Millisecond
	lateLimit = 0.1 // of the shortest limit
	leastSent = 0.99
	clearly   = 2                      // times its limit, a service is slow by itself
	lateEnd   = 200 * time.Millisecond // by which the last request may be late: of a short window that is much
)

// judge says whether the service or the generator kept the rate from being sent. A generator that is late makes
// latency longer, which says nothing against the service unless it is slow by itself; where only failures count it says nothing at all. Whether
// a late window counts must not depend on whether it holds, as then the answer would be too high.
func (p *Problem) judge(r *dyno.Result, slow bool) (behind, limited bool) {
	late, known := r.Values.Get("lateness-p99-sec")
	if !known { // then the counts say what they can
		return false, false
	}
	sent, known := r.Values.Get("sent/s")
	length := time.Duration(r.Trial.Load.Duration).Seconds()
	due := float64(r.Sent.Requests+r.Sent.Unsent) / length
	behind = known && sent < due*min(leastSent, 1-lateEnd.Seconds()/length)
	limit := p.shortest().Seconds()
	if late > max(mostLate.Seconds(), lateLimit*limit) && (behind || limit > 0) {
		return false, !slow
	}
	return behind, false
}

// died makes the window of a service that ended under its load: it answers nothing.
func (p *Problem) died(w Window) Window {
	w.Died, w.Behind, w.Parts = true, true, nil
	n := max(w.Rate*w.Length.Seconds(), 1)
	for i := range w.Whole {
		w.Whole[i] = Count{N: n, Beyond: n}
		w.Seen = append(w.Seen, math.NaN())
	}
	return w
}

func share(r *dyno.Result, metric string) float64 {
	if v, ok := r.Values.Get(metric); ok {
		return v
	}
	return math.NaN()
}

// A machine that withholds a share of its time can make as large a share of the requests slow, and more while
// the queue empties: so half the allowed share is the limit of steal, in bounds. Other processes only matter while they
// want the CPU that the service wants.
const (
	leastSteal  = 0.002
	mostSteal   = 0.02
	othersSteal = 10 // of the limit of steal
	leastOthers = 0.05
)

// disturbed is about the machine only, never about what was measured.
func (p *Problem) disturbed(steal, others float64) bool {
	allowed := 1.0
	for _, o := range p.Objectives {
		allowed = min(allowed, o.Share)
	}
	limit := min(max(allowed/2, leastSteal), mostSteal)
	return steal > limit || others > max(othersSteal*limit, leastOthers)
}

// holds reports whether all objectives are held by counts.
func (p *Problem) holds(counts []Count) bool {
	for i, o := range p.Objectives {
		if !o.Holds(counts[i].Beyond, counts[i].N) {
			return false
		}
	}
	return true
}
