package receipt

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
)

// A Word is what came of a promise.
type Word string

// The words.
const (
	Held   Word = "held"
	Missed Word = "missed"
	Untold Word = "untold" // it cannot be told
)

// A Reason is why a promise cannot be told, or which failure broke it.
type Reason string

// The reasons.
const (
	LoadChanged    Reason = "load-changed"
	MachineChanged Reason = "machine-changed"
	MachineUnknown Reason = "machine-unknown"
	NoSuchMetric   Reason = "no-such-metric"      // it was not measured
	NoBaseline     Reason = "no-baseline"         // a ratio needs both settings
	FewBlocks      Reason = "too-few-blocks"      // for an interval of a later ratio
	FewCollections Reason = "too-few-collections" // as were promised, and as came
	BetweenRates   Reason = "between-rates"       // the rate lies in the interval of the capacity
	ClosedLoad     Reason = "closed-load"         // whose rate gives way
	RateTooFar     Reason = "rate-too-far"        // from the capacity, so that it says what anyone would have said
	OpenSearch     Reason = "open-search"         // that found a bound alone, which does not confirm the capacity
	LaunchFailed   Reason = "launch-failed"       // of a launch whose service died, it is why the promise did not hold
	NoInterval     Reason = "no-interval"         // nothing definite was promised
	RequestsFailed Reason = "requests-failed"     // likewise, more than the load allows
)

// A Value is the median of some trials, with its interval of 95 %, NaN if there is none.
type Value struct {
	Value, Lo, Hi float64
	Trials        int
}

// A Measured is one setting of what came after.
type Measured struct {
	Levels   dyno.Setting // with GOGC and GOMEMLIMIT where they are known
	Load     Load
	Requests float64 // of all its windows, or minutes where figures are per minute
	Values   map[string]Value

	Objectives []string // of CapacityMetric: what held up to this rate

	Died    int // launches whose service ended by itself, or for lack of memory
	Refused int // launches of which more requests failed than the load allows
	Failed  int // launches that failed for another reason, which may not be the service's
}

// An After is a run, or a log, that promises are held against.
type After struct {
	ID       string // the same of a log that has grown, and of a run that was copied
	Path     string
	Name     string // "" of a log
	Subject  string
	Goals    int // GOGC that the goals of its collections look like, if that is not NotGoals; else 0
	NotGoals int
	Assumed  string    // setting of the collector that is assumed, as dyno did not launch the service; "" if it is known
	Started  time.Time // zero of a log
	Ended    time.Time // of a log; zero if it is not known
	Machine  Machine
	Open     bool // the load keeps its rate

	SameMachine bool // it is said that the machine is that of the promise
	Settings    []Measured
	Ratio       func(of, to int, metric string) (Value, bool) // of two settings, measured side by side; nil if there are none
}

// A Change is the load after by the load before; NaN where one of them is not known.
type Change struct {
	Rate  Number `json:"req/s"`
	Alloc Number `json:"alloc-B/s"`
	Live  Number `json:"live-B"`
	Each  Number `json:"alloc-B/req"` // of closed loads with the same clients, instead of both rates
}

// An Outcome is a promise with what came of it.
type Outcome struct {
	answer.Setting
	Against   *answer.Setting `json:"against,omitempty"`
	Ran       string          `json:"ran,omitempty"` // the setting that was measured, if several agree with the promised one
	Metric    string          `json:"metric"`
	Promised  Interval        `json:"promised"`
	Judged    Interval        `json:"judged"` // Promised for the load that came, and with the noise of the later measurement where that is to be added
	Level     float64         `json:"level"`
	Seen      Number          `json:"seen"`
	Trials    int             `json:"trials,omitempty"`
	Word      Word            `json:"outcome"`
	Reason    Reason          `json:"reason,omitempty"`
	Change    *Change         `json:"load,omitempty"`      // nil if the load was the same
	Corrected bool            `json:"corrected,omitempty"` // Judged is what the model makes of the promise under another load
	Doubted   bool            `json:"doubted,omitempty"`   // the promise had a doubt
}

// A Check is one receipt held against one After.
type Check struct {
	Kind     string    `json:"kind"`
	Schema   int       `json:"schema"`
	Dyno     string    `json:"dyno"` // version
	Made     time.Time `json:"made"`
	Receipt  string    `json:"receipt"` // its ID
	From     string    `json:"from"`
	After    string    `json:"after"` // its path
	AfterID  string    `json:"after_id"`
	Outcomes []Outcome `json:"outcomes"`
}

// Bounds of judging.
const (
	sameLoad  = 0.1 // a load that differs by a smaller share is the same
	farthest  = 2.0 // by which factor a load may differ so that the model corrects for it
	fewestGCs = 5   // fewer collections than that say nothing
)

// Against holds a receipt against what came. The check has the promises for settings that a has; it has none if a is
// about others.
func (r *Receipt) Against(a *After) Check {
	c := Check{Kind: CheckKind, Schema: Schema, Receipt: r.ID, From: r.From, After: a.Path, AfterID: a.ID, Outcomes: []Outcome{}}
	j := judge{Receipt: r, after: a}
	for i := range r.Promises {
		places := a.find(&r.Promises[i])
		for _, at := range places {
			o := j.outcome(&r.Promises[i], at)
			if len(places) > 1 {
				o.Ran = a.Settings[at].Levels.String()
			}
			c.Outcomes = append(c.Outcomes, o)
		}
	}
	return c
}

// Before reports whether the receipt was made before what came, as far as that is known. Else it promised nothing.
func (r *Receipt) Before(a *After) bool {
	when := a.Started
	if when.IsZero() {
		when = a.Ended // a log does not say when it began
	}
	return when.IsZero() || r.Made.Before(when)
}

type judge struct {
	*Receipt
	after *After
	model corrector
}

// outcome judges a promise by the setting of that place.
func (j *judge) outcome(p *Promise, at int) Outcome {
	m := &j.after.Settings[at]
	o := Outcome{
		Setting: p.Setting, Against: p.Against, Metric: p.Metric, Promised: p.Interval, Judged: p.Interval, Level: p.Level, Seen: Number(math.NaN()),
		Word: Untold, Doubted: len(p.Doubts) > 0,
	}
	switch {
	case p.open():
		o.Reason = NoInterval
		return o
	case j.Load.Sends != m.Load.Sends && j.Load.Sends != "" && m.Load.Sends != "":
		o.Reason = LoadChanged
		return o
	}
	seen, reason := j.seen(p, at)
	if p.Metric == CapacityMetric && reason == NoSuchMetric {
		j.carries(&o, p, m)
		return o
	}
	if o.Word, o.Reason = j.failed(m); o.Reason != "" {
		return o
	}
	if o.Reason = reason; reason != "" {
		return o
	}
	o.Seen, o.Trials = Number(seen.Value), seen.Trials
	if o.Reason = j.fits(&o, p, m); o.Reason != "" {
		return o
	}
	if p.Launches >= fewestTrials && seen.Trials > 1 {
		o.Judged = p.of(seen.Trials)
	}
	if p.Metric == CapacityMetric && (math.IsNaN(seen.Lo) || math.IsNaN(seen.Hi)) {
		if o.Word = Held; !p.confirmed(seen) {
			o.Word, o.Reason = Untold, OpenSearch
		}
		return o
	}
	if p.Truth {
		o.Judged = o.Judged.and(seen)
	}
	if o.Word = Missed; o.Judged.has(seen.Value) {
		o.Word = Held
	}
	return o
}

// failed is what failures of a setting say of its promises: the median of the launches that survived must not speak for all. The
// reason is "" if nothing failed. What failed elsewhere, or at a higher rate, was not promised.
func (j *judge) failed(m *Measured) (Word, Reason) {
	word, why := Missed, LaunchFailed
	switch {
	case m.Died+m.Refused+m.Failed == 0:
		return Untold, ""
	case j.machine() != "":
		return Untold, j.machine()
	case j.after.Open && m.Load.Rate > (1+sameLoad)*j.Load.Rate:
		return Untold, LoadChanged
	case m.Died == 0 && m.Refused > 0:
		why = RequestsFailed
	case m.Died == 0:
		word = Untold
	}
	return word, why
}

// seen is the measured value of a promise, or why there is none.
func (j *judge) seen(p *Promise, at int) (v Value, why Reason) {
	if p.Against == nil {
		m := &j.after.Settings[at]
		v, ok := m.Values[p.Metric]
		same := p.Metric != CapacityMetric || slices.Equal(slices.Sorted(slices.Values(p.Objectives)), slices.Sorted(slices.Values(m.Objectives)))
		if ok && same && !math.IsNaN(v.Value) {
			return v, ""
		}
		return v, NoSuchMetric
	}
	base := j.after.base(p, at)
	if base < 0 || j.after.Ratio == nil {
		return v, NoBaseline
	}
	v, ok := j.after.Ratio(at, base, p.Metric)
	switch {
	case !ok || math.IsNaN(v.Value):
		return v, NoSuchMetric
	case math.IsNaN(v.Lo) || math.IsNaN(v.Hi):
		return v, FewBlocks
	}
	return v, ""
}

// fits says why a promise is not about what came, or corrects it for the load.
func (j *judge) fits(o *Outcome, p *Promise, m *Measured) Reason {
	if why := j.machine(); why != "" && timed(p.Metric) {
		return why
	}
	change := j.Load.to(m.Load, p.Metric)
	moved := change.moved() && p.Metric != CapacityMetric
	corrected := p.Against == nil && j.Model != nil && j.model.correct(j.Model, o, p, change)
	if moved {
		o.Change, o.Corrected = &change, corrected
	}
	switch {
	case moved && !corrected:
		return LoadChanged
	case !corrected:
		j.model.cycles = 1
	case !moved: // intervals are narrower than what counts as the same load, which may differ in truth or only as it was measured
		o.Judged = o.Judged.or(p.Interval)
	}
	return j.counted(o, p, m)
}

// counted is FewCollections if fewer collections are expected, and came, than say something: a wrong promise of few is told by many that
// came. Where they are fewer than in the window that was promised from, the interval gets their noise: a window begins and ends between
// two collections.
func (j *judge) counted(o *Outcome, p *Promise, m *Measured) Reason {
	counts := strings.HasPrefix(p.Metric, "gc-")
	if j.Model == nil || !counts && p.Metric != "heap-peak-B" && p.Metric != "rss-peak-B" {
		return ""
	}
	metric, each := j.cycles(p)
	came, ok := m.Values[metric]
	if !ok { // its requests are not known
		return ""
	}
	each *= j.model.cycles
	expected, before := max(each*m.Requests, 1), max(each*j.Model.requests(), 1)
	if max(expected, came.Value*m.Requests) < fewestGCs {
		return FewCollections
	}
	if more := 1/(expected*expected) - 1/(before*before); counts && more > 0 {
		o.Judged = o.Judged.wider(countNoise * math.Sqrt(more))
	}
	return ""
}

// countNoise is the standard deviation of how many collections end in a window, of which there would be a whole number and a
// part.
const countNoise = 0.41

// cycles are the collections per request, or per minute, that are promised for the promise's setting; "" if none are.
func (r *Receipt) cycles(of *Promise) (metric string, each float64) {
	for i := range r.Promises {
		if p := &r.Promises[i]; p.Name == of.Name && strings.HasPrefix(p.Metric, "gc-cycles/") {
			return p.Metric, float64(p.Value)
		}
	}
	return "", math.NaN()
}

// machine says why the machine may be another; "" if it is the same.
func (j *judge) machine() Reason {
	m, n := j.Machine, j.after.Machine
	switch {
	case j.after.SameMachine || m == n && m.CPUs > 0:
		return ""
	case m.CPU != n.CPU && m.CPU != "" && n.CPU != "", m.CPUs != n.CPUs && m.CPUs > 0 && n.CPUs > 0:
		return MachineChanged
	}
	return MachineUnknown
}

// to is how a load has changed, for a metric. A figure per minute has no requests.
func (l Load) to(after Load, metric string) Change {
	c := Change{Rate: after.Rate / l.Rate, Alloc: after.Alloc / l.Alloc, Live: after.Live / l.Live, Each: Number(math.NaN())}
	if l.Clients > 0 && l.Clients == after.Clients { // the rate is an outcome: whoever leaves out what moved it leaves out what did not hold
		c.Each = c.Alloc / c.Rate
		c.Rate, c.Alloc = Number(math.NaN()), Number(math.NaN())
	}
	if math.IsNaN(float64(c.Live)) {
		c.Live = after.Marked / l.Marked
	}
	if strings.HasSuffix(metric, "/min") {
		c.Rate = 1
	}
	return c
}

// moved reports whether the load is another. What is not known is the same.
func (c Change) moved() bool {
	for _, x := range []Number{c.Rate, c.Alloc, c.Live, c.Each} {
		if math.Abs(math.Log(float64(x))) > math.Log1p(sameLoad) {
			return true
		}
	}
	return false
}

// open reports whether an interval excludes nothing, or is of nothing.
func (i Interval) open() bool {
	return math.IsNaN(float64(i.Value)) || math.IsNaN(float64(i.Lo)) && math.IsNaN(float64(i.Hi))
}

// has reports whether an interval contains a value. An absent bound excludes nothing.
func (i Interval) has(x float64) bool { return !(x < float64(i.Lo)) && !(x > float64(i.Hi)) }

// or is the interval with the value of p, and with all that is in either.
func (i Interval) or(p Interval) Interval { return Interval{p.Value, min(i.Lo, p.Lo), max(i.Hi, p.Hi)} }

// wider adds an error, as a standard deviation of the logarithm, to an interval of 90 %.
func (i Interval) wider(sd float64) Interval { return i.add(1.645*sd, 1.645*sd) }

// and adds the noise of a value to an interval. Each side is that of the difference of two figures, whose errors add up as squares.
func (i Interval) and(v Value) Interval {
	below, above := math.Log(v.Value/v.Lo), math.Log(v.Hi/v.Value)
	return i.add(above, below)
}

// add makes both sides wider by reaches, logarithms. A reach that is unknown adds nothing.
func (i Interval) add(below, above float64) Interval {
	v := float64(i.Value)
	if lo := math.Log(v / float64(i.Lo)); below > 0 && lo >= 0 {
		i.Lo = Number(v / math.Exp(math.Hypot(lo, below)))
	}
	if hi := math.Log(float64(i.Hi) / v); above > 0 && hi >= 0 {
		i.Hi = Number(v * math.Exp(math.Hypot(hi, above)))
	}
	return i
}
