package receipt

import (
	"math"
	"testing"
)

// A capacity is told by another search, or by a run at a rate below or beyond its interval.
func TestCapacity(t *testing.T) {
	nan := Number(math.NaN())
	for name, c := range map[string]struct {
		promise Interval
		values  map[string]Value
		closed  bool
		want    Word
		reason  Reason
	}{
		"another search":                    {Interval{500, 480, 520}, map[string]Value{CapacityMetric: {525, 505, 545, 1}}, false, Held, ""},
		"a search that finds less":          {Interval{500, 480, 520}, map[string]Value{CapacityMetric: {400, 390, 410, 1}}, false, Missed, ""},
		"at least, and it was more":         {Interval{500, 500, nan}, map[string]Value{CapacityMetric: {900, 880, 920, 1}}, false, Held, ""},
		"at least, and it is at least that": {Interval{500, 500, nan}, map[string]Value{CapacityMetric: {600, 600, math.NaN(), 1}}, false, Held, ""},
		"at least, and the search was cut":  {Interval{500, 500, nan}, map[string]Value{CapacityMetric: {300, 300, math.NaN(), 1}}, false, Untold, OpenSearch},
		"within it, and it may be more":     {Interval{500, 480, 520}, map[string]Value{CapacityMetric: {500, 490, math.NaN(), 1}}, false, Untold, OpenSearch},
		"at most, and it may be less":       {Interval{500, 480, 520}, map[string]Value{CapacityMetric: {490, math.NaN(), 490, 1}}, false, Untold, OpenSearch},
		"far below it, and it holds":        {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 50}, "p99-sec": {Value: 0.02}}, false, Untold, RateTooFar},
		"far below it, and it does not":     {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 50}, "p99-sec": {Value: 0.05}}, false, Missed, ""},
		"far beyond it, and it does not":    {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 5000}, "p99-sec": {Value: 0.05}}, false, Untold, RateTooFar},
		"far beyond it, and it holds":       {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 5000}, "p99-sec": {Value: 0.02}}, false, Missed, ""},
		"below it, and it holds":            {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 400}, "p99-sec": {Value: 0.02}}, false, Held, ""},
		"below it, and it does not":         {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 400}, "p99-sec": {Value: 0.05}}, false, Missed, ""},
		"beyond it, and it does not":        {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 600}, "p99-sec": {Value: 0.05}}, false, Held, ""},
		"beyond it, and it holds":           {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 600}, "p99-sec": {Value: 0.02}}, false, Missed, ""},
		"in it":                             {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 490}, "p99-sec": {Value: 0.02}}, false, Untold, BetweenRates},
		"a closed load":                     {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 400}, "p99-sec": {Value: 0.02}}, true, Untold, ClosedLoad},
		"latency is not known":              {Interval{500, 480, 520}, map[string]Value{"sent/s": {Value: 400}}, false, Untold, NoSuchMetric},
	} {
		r := &Receipt{From: "capacity", Load: Unknown(), Promises: []Promise{{Metric: CapacityMetric, Interval: c.promise, Level: 0.95, Truth: true, Objectives: []string{"p99 < 30ms"}}}}
		a := &After{SameMachine: true, Open: !c.closed, Settings: []Measured{{Load: Unknown(), Values: c.values, Objectives: []string{"p99 < 30ms"}}}}
		if o := r.Against(a).Outcomes[0]; o.Word != c.want || o.Reason != c.reason {
			t.Errorf("%s: %+v, want %s %q", name, o, c.want, c.reason)
		}
		a.Settings[0].Objectives = []string{"p99 < 30ms", "failures < 1%"}
		if o := r.Against(a).Outcomes[0]; c.values[CapacityMetric].Value > 0 && (o.Word != Untold || o.Reason != NoSuchMetric) {
			t.Errorf("%s, of other objectives: %+v", name, o)
		}
	}
}

// A service that died at a rate did not carry it, whatever else was measured. A launch that failed otherwise tells nothing.
func TestCapacityOfFailed(t *testing.T) {
	r := &Receipt{Load: Unknown(), Promises: []Promise{{Metric: CapacityMetric, Interval: Interval{500, 480, 520}, Objectives: []string{"p99 < 30ms"}}}}
	for _, c := range []struct {
		rate         Number
		died, failed int
		want         Word
		reason       Reason
	}{{400, 1, 0, Missed, ""}, {550, 1, 0, Held, ""}, {400, 0, 1, Untold, NoSuchMetric}} {
		m := Measured{Load: Unknown(), Died: c.died, Failed: c.failed}
		m.Load.Rate = c.rate
		a := &After{SameMachine: true, Open: true, Settings: []Measured{m}}
		if o := r.Against(a).Outcomes[0]; o.Word != c.want || o.Reason != c.reason {
			t.Errorf("at %v: %+v, want %s %q", c.rate, o, c.want, c.reason)
		}
	}
}

// A launch that died elsewhere, or at a higher rate, breaks no promise.
func TestDiedElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *After)
		want   Word
		reason Reason
	}{
		"here":            {func(*After) {}, Missed, LaunchFailed},
		"another machine": {func(a *After) { a.Machine.CPUs = 1 }, Untold, MachineChanged},
		"a higher rate":   {func(a *After) { a.Settings[0].Load.Rate *= 2 }, Untold, LoadChanged},
		"a lower rate":    {func(a *After) { a.Settings[0].Load.Rate /= 2 }, Missed, LaunchFailed},
	} {
		r := promised(t, "50")
		a := came(r, "50", 1)
		a.Open, a.Settings[0].Died = true, 1
		c.change(a)
		for _, o := range r.Against(a).Outcomes {
			if o.Word != c.want || o.Reason != c.reason {
				t.Errorf("%s: %+v, want %s %q", name, o, c.want, c.reason)
			}
		}
	}
}
