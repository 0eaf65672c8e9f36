package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// A Why says what was measured beside a change of a primary metric that can
// account for it. Causes are at most three, the greatest first; none means that
// no cause was found among what was measured.
type Why struct {
	Metric string
	Causes []Cause
}

// A Cause is another measured change, of the setting against the baseline, by
// which a primary metric moves. It was measured as a change by its own
// interval; that it is the cause is inferred from how services work.
type Cause struct {
	Class  Class
	Metric string  // that tells it
	Base   float64 // median of the baseline, in the metric's base unit
	Now    float64 // median of the setting
	Lo, Hi float64 // 95 % interval of the ratio; NaN where a zero allows none
	Share  float64 // of the primary metric's change; NaN where the units do not allow to say
	Places []Place // where in the program, as profiles tell, the greatest change first
}

// A Class is a kind of cause.
type Class string

// The classes of causes.
const (
	ClassGC         Class = "garbage collection"
	ClassAllocation Class = "allocation"
	ClassCPU        Class = "CPU time"
	ClassLock       Class = "lock contention"
	ClassScheduling Class = "waiting for a CPU"
	ClassHeap       Class = "heap"
	ClassStacks     Class = "goroutines and threads"
)

// A Place is a function whose share of a profile changed, with the line that
// changed most.
type Place struct {
	Func   string
	File   string
	Line   int
	Change float64 // per request, in the profile's base unit
	Lo, Hi float64 // 95 % interval of Change
	Share  float64 // of the change of the whole profile
}

// A lever is one way in which a metric moves a primary one.
type lever struct {
	class   Class
	metric  string
	profile string // of dyno.ProfileNames, that tells where; "" if none does
	same    bool   // both are of the same unit, and one is part of the other
	inverse bool   // more of it is less of the primary metric
}

// levers lists what moves each primary metric. What is part of it comes first.
var levers = map[string][]lever{
	"cpu-sec/req": {
		{class: ClassGC, metric: "gc-cpu-sec/req", same: true},
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", same: true},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs"},
		{class: ClassAllocation, metric: "allocs/req", profile: "allocs"},
	},
	"p50-sec": latencyLevers,
	"p99-sec": latencyLevers,
	"req/s": {
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", inverse: true},
		{class: ClassLock, metric: "mutex-wait-sec/req", profile: "mutex", inverse: true},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs", inverse: true},
		{class: ClassGC, metric: "gc-cpu-sec/req", inverse: true},
		{class: ClassScheduling, metric: "sched-p99-sec", inverse: true},
	},
	"rss-peak-B": {
		{class: ClassHeap, metric: "heap-peak-B", profile: "heap", same: true},
		{class: ClassHeap, metric: "heap-live-B", profile: "heap", same: true},
		{class: ClassStacks, metric: "goroutines"},
		{class: ClassStacks, metric: "threads"},
	},
}

var latencyLevers = []lever{
	{class: ClassLock, metric: "mutex-wait-sec/req", profile: "mutex", same: true},
	{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", same: true},
	{class: ClassGC, metric: "gc-cpu-sec/req"},
	{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs"},
	{class: ClassScheduling, metric: "sched-p99-sec"},
}

const (
	mostCauses = 3
	mostPlaces = 3
	leastShare = 0.05 // of a change; less is no cause
)

// why finds the causes of the changes of setting i. places gives the functions
// that changed in a profile.
func (t *Table) why(i int, places func(profile string) []Place) []Why {
	var whys []Why
	s := &t.Settings[i]
	for _, m := range t.Metrics {
		if v := s.Versus[m.Name]; !m.Primary || v.Verdict != stats.Better && v.Verdict != stats.Worse {
			continue
		}
		whys = append(whys, Why{m.Name, t.causes(i, m, places)})
	}
	return whys
}

// causes lists the levers that moved with the metric.
func (t *Table) causes(i int, m dyno.Metric, places func(string) []Place) []Cause {
	s := &t.Settings[i]
	moved := s.Versus[m.Name]
	var found []Cause
	for _, l := range levers[m.Name] {
		v, ok := s.Versus[l.metric]
		if !ok || !t.changed(v) || (v.Diff > 0) == ((moved.Diff > 0) == l.inverse) {
			continue
		}
		c := Cause{
			Class: l.class, Metric: l.metric, Base: t.Settings[0].Values[l.metric].Center, Now: s.Values[l.metric].Center,
			Lo: v.Lo, Hi: v.Hi, Share: math.NaN(),
		}
		if l.same && l.metric != m.Name {
			if c.Share = v.Diff / moved.Diff; c.Share < leastShare {
				continue
			}
		}
		if l.profile != "" {
			c.Places = toward(places(l.profile), v.Diff)
		}
		if l.metric == m.Name { // it is no cause of itself; only its places tell something
			if len(c.Places) == 0 {
				continue
			}
			c.Share = 0
			for _, p := range c.Places {
				c.Share += p.Change / moved.Diff
			}
		}
		if !slices.ContainsFunc(found, func(have Cause) bool { return have.Class == c.Class }) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Cause) int { return cmp.Compare(weight(b), weight(a)) })
	return found[:min(len(found), mostCauses)]
}

// changed reports whether a metric that is no primary one is taken for changed:
// by its own interval, as it is looked at only where a primary one did change.
func (t *Table) changed(v Versus) bool {
	switch {
	case math.IsNaN(v.Lo) || math.IsNaN(v.Hi):
		return v.Verdict == stats.Better || v.Verdict == stats.Worse
	case v.Lo <= 1 && v.Hi >= 1:
		return false
	}
	return math.Abs(math.Log(v.Ratio)) > math.Log1p(t.Negligible)
}

// toward are the places that changed in the direction of sign.
func toward(places []Place, sign float64) []Place {
	var same []Place
	for _, p := range places {
		if p.Change > 0 == (sign > 0) {
			same = append(same, p)
		}
	}
	return same[:min(len(same), mostPlaces)]
}

// weight orders causes: those whose share is known by it; what moved without a
// common unit after them, by how much.
func weight(c Cause) float64 {
	if !math.IsNaN(c.Share) {
		return 1000 + min(c.Share, 10)
	}
	if c.Base > 0 && c.Now > 0 {
		return min(math.Abs(math.Log(c.Now/c.Base)), 900)
	}
	return 900
}
