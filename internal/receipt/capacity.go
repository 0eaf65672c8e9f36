package receipt

import (
	"math"

	"github.com/dynolab/dyno"
)

// nearRate is by which factor a rate may lie beside a capacity to confirm it.
const nearRate = 1.2

// carries judges a capacity by a run at one rate: up to the interval all objectives hold, beyond it one does not. Far away only the
// contrary says anything.
func (j *judge) carries(o *Outcome, p *Promise, m *Measured) {
	rate, sent := m.Values["sent/s"]
	holds, seen := m.hold(p.Objectives)
	if m.Died > 0 {
		holds, seen = false, true
		if !sent {
			rate.Value, sent = float64(m.Load.Rate), !math.IsNaN(float64(m.Load.Rate))
		}
	}
	if !sent || !seen || len(p.Objectives) == 0 {
		o.Reason = NoSuchMetric
		return
	}
	o.Seen, o.Trials = Number(rate.Value), rate.Trials
	below, beyond := rate.Value <= float64(p.Lo), rate.Value >= float64(p.Hi) // neither if there is no such bound
	switch {
	case !j.after.Open:
		o.Reason = ClosedLoad
	case j.machine() != "":
		o.Reason = j.machine()
	case m.Died == 0 && m.Failed > 0:
		o.Reason = LaunchFailed
	case !below && !beyond:
		o.Reason = BetweenRates
	case holds != below:
		o.Word = Missed
	case below && nearRate*rate.Value < float64(p.Lo), beyond && rate.Value > nearRate*float64(p.Hi):
		o.Reason = RateTooFar
	default:
		o.Word = Held
	}
}

// hold reports whether all objectives hold; seen is false if one of them was not measured.
func (m *Measured) hold(objectives []string) (holds, seen bool) {
	holds = true
	for _, text := range objectives {
		t, err := dyno.ParseThreshold(text)
		if err != nil {
			return false, false
		}
		metric, limit, err := t.Of(nil)
		v, ok := m.Values[metric.Name]
		if share, bad := dyno.ParseFraction(t.Literal); t.Name == "failures" && bad == nil && m.Requests > 0 {
			v, ok = m.Values["failures"]
			v.Value, limit, err = v.Value*float64(v.Trials)/m.Requests, float64(share), nil
		}
		if err != nil || !ok {
			return false, false
		}
		holds = holds && (v.Value < limit || v.Value == limit && t.Op == "<=")
	}
	return holds, true
}

// confirmed reports whether a bound that was found says what an interval says that is open on the same side: the capacity is at least,
// or at most, so much.
func (i Interval) confirmed(bound Value) bool {
	none := func(x Number) bool { return math.IsNaN(float64(x)) }
	atLeast := none(i.Hi) && math.IsNaN(bound.Hi) && bound.Value >= float64(i.Value)
	atMost := none(i.Lo) && math.IsNaN(bound.Lo) && bound.Value <= float64(i.Value)
	return atLeast || atMost
}
