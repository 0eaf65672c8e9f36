package timeline

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

// SteadyWindow is the least window in which response times can be called steady.
const SteadyWindow = 30 * time.Second

// A Steadiness is whether response times of one trial stayed as they were.
type Steadiness struct {
	Window   time.Duration
	Requests int64 // that succeeded
	P50, P99 Course
}

// A Course is how a percentile of the latency of requests done in each part of a window went.
type Course struct {
	stats.Trend               // in seconds, of parts by the middle of their time, or of three parts each
	Level       float64       // seconds: the median of the parts
	Part        time.Duration // length of a part, but where more time was needed for its requests
}

// How a window is parted.
const (
	requestsP50  = 20   // of a part: below them their median is a matter of luck
	requestsP99  = 1000 // 10 of them are above
	mostParts    = 1500
	leastMiddles = 20 // of three parts each; else each part counts
)

// NewSteadiness reads the latency of a trial of that length, with so many requests that
// succeeded. The error is the sequence's.
func NewSteadiness(lines iter.Seq2[hist.Line, error], window time.Duration, requests int64) (*Steadiness, error) {
	p50, p99 := newParts(0.5, requestsP50, window, requests), newParts(0.99, requestsP99, window, requests)
	for l, err := range lines {
		if err != nil {
			return nil, err
		}
		p50.add(&l)
		p99.add(&l)
	}
	return &Steadiness{window, requests, p50.course(), p99.course()}, nil
}

// parts takes a percentile of equal parts of a window.
type parts struct {
	q         float64
	need      int64 // requests
	length    time.Duration
	from      time.Duration
	h         *hist.Histogram
	at, value []float64
}

// newParts makes parts of whole seconds in which half as many requests again as are needed
// are expected, lest every other part has to be longer.
func newParts(q float64, need int64, window time.Duration, requests int64) *parts {
	length := max(window/mostParts, time.Duration(1.5*float64(need)/float64(max(requests, 1))*float64(window)))
	return &parts{q: q, need: need, length: max(1, (length+time.Second-1)/time.Second) * time.Second, h: hist.New()}
}

// add counts a line to the part under way, which ends with it if it is long enough, to half
// a line, and has its requests. What is left at the end is no part.
func (p *parts) add(l *hist.Line) {
	if p.h.Count() == 0 {
		p.from = l.From
	}
	p.h.Merge(l.Histogram)
	if l.To-p.from >= p.length-time.Second/2 && p.h.Count() >= p.need {
		p.at = append(p.at, ((p.from + l.To) / 2).Seconds())
		p.value = append(p.value, p.h.Quantile(p.q).Seconds())
		p.h.Reset()
	}
}

// course looks for a trend in the parts; of many, in the middle one of each three: one second
// with a stall may be a hundred times as slow, and would hide what all others do.
func (p *parts) course() Course {
	at, value := p.at, p.value
	if len(value) >= 3*leastMiddles {
		at, value = nil, nil
		for i := 0; i+3 <= len(p.value); i += 3 {
			at, value = append(at, p.at[i+1]), append(value, stats.Median(p.value[i:i+3]))
		}
	}
	return Course{stats.TrendOf(at, value), stats.Median(p.value), p.length}
}

// A SteadyVerdict says whether a percentile of latency stayed as it was.
type SteadyVerdict string

const (
	TimesSteady   SteadyVerdict = "steady"   // no trend, and surely less than mostBlind of change; or one that is negligible
	TimesDrifting SteadyVerdict = "drifting" // longer and longer, or shorter and shorter, to the end
	TimesStepped  SteadyVerdict = "stepped"  // they changed once, or for a while, and are level since
	TimesUnclear  SteadyVerdict = "unclear"
)

// A Why says why it is unclear whether response times are steady. The zero value is no reason.
type Why struct {
	Text  string       `json:"why,omitempty"` // in words; package words fills it in for summary.json
	Kind  WhyKind      `json:"why-kind,omitempty"`
	Trend stats.Reason `json:"-"` // if the Kind is one of these
}

// A WhyKind is one of these, or a [stats.ReasonKind].
type WhyKind string

const (
	RisesAndFalls WhyKind = "rises-and-falls" // again and again
	VariesTooMuch WhyKind = "varies-too-much" // for so short a window
	TrialsDiffer  WhyKind = "trials-differ"
)

// mostBlind is the share of the level that the interval of the change over the window may
// not exceed if response times are steady.
const mostBlind = 0.1

// verdict judges a course over a window. A change by less than negligible is none.
func (c *Course) verdict(window time.Duration, negligible float64) (v SteadyVerdict, why Why) {
	over, change, least := window.Seconds(), c.Shift, negligible*c.Level
	switch c.Shape {
	case stats.Growing, stats.Falling:
		v, change = TimesDrifting, c.Slope*over
	case stats.Stepped, stats.Flattening:
		v = TimesStepped
	case stats.Sawtooth:
		v, why.Kind = TimesUnclear, RisesAndFalls
	case stats.Level:
		v, why.Kind = TimesUnclear, VariesTooMuch
		change, least = max(math.Abs(c.Lo), math.Abs(c.Hi))*over, mostBlind*c.Level
	default:
		return TimesUnclear, Why{Kind: WhyKind(c.Reason.Kind), Trend: c.Reason}
	}
	if math.Abs(change) <= least {
		return TimesSteady, Why{}
	}
	return v, why
}

// A Steady is the verdict on the response times of a setting over its trials that count.
type Steady struct {
	Trials int          `json:"trials"`
	Window dyno.Number  `json:"window-sec"` // median of the trials
	P50    *Drift       `json:"p50,omitempty"`
	P99    *Drift       `json:"p99,omitempty"` // nil, as P50, if no window was SteadyWindow long
	Modes  []stats.Mode `json:"modes"`         // of all requests of the trials, in seconds
	Late   dyno.Number  `json:"late-frac"`     // median of late-frac; NaN without a deadline
}

// A Drift is how a percentile of latency went in a setting: medians of its trials' figures,
// in seconds, NaN where not known.
type Drift struct {
	Verdict    SteadyVerdict `json:"verdict"` // of more than half of the trials, and in one direction; else unclear
	Why                      // of an unclear one
	Level      dyno.Number   `json:"sec"`
	Slope      dyno.Number   `json:"sec/h"` // by time; this and the next three per hour of the window
	Lo         dyno.Number   `json:"lo"`
	Hi         dyno.Number   `json:"hi"`               // medians of the trials' 95 % intervals
	Detectable dyno.Number   `json:"detectable-sec/h"` // slope that would have been seen in 99 of 100 such trials
	PerMillion dyno.Number   `json:"sec/1e6req"`       // Slope by requests
	Shift      dyno.Number   `json:"shift-sec"`        // of TimesStepped: by how much
	At         dyno.Number   `json:"at-sec"`           // likewise: after how many seconds of the window
}

// SteadyOf puts the trials of a setting together; nil if there is nothing to say: no long
// window, no deadline, and one mode.
func SteadyOf(rs []*dyno.Result, of map[int]*Steadiness, negligible float64) *Steady {
	var long []*Steadiness
	var counted []*dyno.Result
	var late, windows []float64
	for _, r := range rs {
		if !dyno.Counts(r, "p99-sec") {
			continue
		}
		counted = append(counted, r)
		windows = append(windows, r.Elapsed.Seconds())
		if v, ok := r.Values.Get("late-frac"); ok {
			late = append(late, v)
		}
		if x := of[r.Trial.N]; x != nil {
			long = append(long, x)
		}
	}
	s := &Steady{Trials: len(counted), Modes: append([]stats.Mode{}, modes(counted)...), Late: dyno.Number(stats.Median(late))}
	if len(long) == 0 && len(late) == 0 && len(s.Modes) < 2 {
		return nil
	}
	s.Window = dyno.Number(time.Duration(stats.Median(windows) * float64(time.Second)).Seconds())
	if len(long) > 0 {
		s.P50 = drift(long, negligible, func(x *Steadiness) *Course { return &x.P50 })
		s.P99 = drift(long, negligible, func(x *Steadiness) *Course { return &x.P99 })
	}
	return s
}

func drift(trials []*Steadiness, negligible float64, of func(*Steadiness) *Course) *Drift {
	type kind struct {
		verdict SteadyVerdict
		up      bool
	}
	votes, why := map[kind]int{}, map[kind]Why{}
	var slopes, los, his, least, levels, requests, shifts, ats []float64
	for _, x := range trials {
		c := of(x)
		v, reason := c.verdict(x.Window, negligible)
		k := kind{v, false}
		switch v {
		case TimesDrifting:
			k.up = c.Slope > 0
		case TimesStepped:
			k.up = c.Shift > 0
			shifts, ats = append(shifts, c.Shift), append(ats, c.At)
		case TimesUnclear:
			why[k] = reason
		}
		votes[k]++
		slopes, los, his = append(slopes, c.Slope), append(los, c.Lo), append(his, c.Hi)
		least, levels = append(least, c.Detectable), append(levels, c.Level)
		requests = append(requests, c.Slope*x.Window.Seconds()/float64(x.Requests))
	}
	median := func(xs []float64, times float64) dyno.Number { return dyno.Number(stats.Median(xs) * times) }
	d := &Drift{
		Verdict: TimesUnclear, Why: Why{Kind: TrialsDiffer},
		Level: median(levels, 1), Slope: median(slopes, 3600), Lo: median(los, 3600), Hi: median(his, 3600), Detectable: median(least, 3600),
		PerMillion: median(requests, 1e6), Shift: dyno.Number(math.NaN()), At: dyno.Number(math.NaN()),
	}
	for k, n := range votes {
		if 2*n > len(trials) {
			d.Verdict, d.Why = k.verdict, why[k]
		}
	}
	if d.Verdict == TimesStepped {
		d.Shift, d.At = median(shifts, 1), median(ats, 1)
	}
	return d
}

// leastOfTrial is the share of requests that a mode has in more than half of the trials;
// else the trials differ, and each may have but one mode.
const leastOfTrial = 0.01

// modes are those of the latency of all trials, in seconds.
func modes(rs []*dyno.Result) []stats.Mode {
	all := hist.New()
	var each []*hist.Histogram
	for _, r := range rs {
		if r.Latency != nil && r.Latency.Count() > 0 && r.Latency.Whole() {
			all.Merge(r.Latency)
			each = append(each, r.Latency)
		}
	}
	var bins []stats.Bin
	all.Each(func(lo, hi, n int64) {
		bins = append(bins, stats.Bin{Lo: float64(lo) / 1e9, Hi: float64(hi+1) / 1e9, Count: n})
	})
	found := stats.Modes(bins)
	for i := 0; i < len(found) && len(found) > 1; {
		common := 0
		for _, h := range each {
			if shareIn(h, found[i]) >= leastOfTrial {
				common++
			}
		}
		if 2*common > len(each) {
			i++
			continue
		}
		into := i - 1 // the mode that it becomes a part of: the nearest
		if i == 0 || i < len(found)-1 && found[i+1].At/found[i].At < found[i].At/found[i-1].At {
			into = i + 1
		}
		m, n := found[into], found[i]
		if n.Frac > m.Frac {
			m.At = n.At
		}
		m.Frac, m.Lo, m.Hi = m.Frac+n.Frac, min(m.Lo, n.Lo), max(m.Hi, n.Hi)
		found[into] = m
		found = slices.Delete(found, i, i+1)
		i = 0
	}
	return found
}

func shareIn(h *hist.Histogram, m stats.Mode) float64 {
	in := int64(0)
	h.Each(func(lo, hi, n int64) {
		if middle := float64(lo+hi) / 2e9; middle >= m.Lo && middle < m.Hi {
			in += n
		}
	})
	return float64(in) / float64(h.Count())
}
