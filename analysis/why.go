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

	weight float64 // orders causes: as a share of the change, where units allow to compare
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
	kind    kinship
	inverse bool // more of it is less of the primary metric
}

// A kinship says how the change of a lever compares with that of the primary
// metric.
type kinship int

const (
	other kinship = iota // of another unit: only its direction can be compared
	alike                // of the same unit: much less of it cannot be the cause
	part                 // it is part of the primary metric: its share can be told
)

// levers lists what moves each primary metric.
var levers = map[string][]lever{
	"cpu-sec/req": {
		{class: ClassGC, metric: "gc-cpu-sec/req", kind: part},
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", kind: part},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs"},
		{class: ClassAllocation, metric: "allocs/req", profile: "allocs"},
	},
	"p50-sec": latencyLevers,
	"p99-sec": latencyLevers,
	"req/s": {
		{class: ClassLock, metric: "mutex-wait-sec/req", profile: "mutex", kind: alike, inverse: true},
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", kind: alike, inverse: true},
		{class: ClassGC, metric: "gc-cpu-sec/req", kind: alike, inverse: true},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs", inverse: true},
		{class: ClassScheduling, metric: "sched-p99-sec", kind: alike, inverse: true},
	},
	"rss-peak-B": {
		{class: ClassHeap, metric: "heap-peak-B", profile: "heap", kind: part},
		{class: ClassHeap, metric: "heap-live-B", profile: "heap", kind: part},
		{class: ClassStacks, metric: "goroutines"},
		{class: ClassStacks, metric: "threads"},
	},
}

var latencyLevers = []lever{
	{class: ClassLock, metric: "mutex-wait-sec/req", profile: "mutex", kind: alike},
	{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", kind: alike},
	{class: ClassGC, metric: "gc-cpu-sec/req", kind: alike},
	{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs"},
	{class: ClassScheduling, metric: "sched-p99-sec", kind: alike},
}

const (
	mostCauses = 3
	mostPlaces = 3
	leastShare = 0.05 // of a change; less is no cause
	leastMove  = 0.1  // of the logarithm of its ratio, where units do not compare
)

// Places returns the functions that changed from the baseline to a setting in a
// profile of dyno.ProfileNames, the greatest change first. Those that noise
// alone may have moved are not among them.
type Places func(s dyno.Setting, profile string) []Place

// why finds the causes of the changes of setting i.
func (t *Table) why(i int, where Places) []Why {
	places := func(profile string) []Place {
		if where == nil {
			return nil
		}
		return where(t.Settings[i].Setting, profile)
	}
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
			Lo: v.Lo, Hi: v.Hi, Share: math.NaN(), weight: leastShare,
		}
		if !math.IsNaN(v.Ratio) {
			c.weight *= min(math.Abs(math.Log(v.Ratio)), 1)
		}
		if l.profile != "" {
			c.Places = toward(places(l.profile), v.Diff)
		}
		share := v.Diff / moved.Diff
		if m.Name == "req/s" { // what a request takes longer is what lowers it
			share = v.Diff / s.Versus["mean-sec"].Diff
		}
		if l.metric == m.Name { // it is no cause of itself; its places are
			share = 0
			for _, p := range c.Places {
				share += p.Change / moved.Diff
			}
		}
		if l.kind != other {
			if share < leastShare {
				continue
			}
			c.weight = share
		} else if math.Abs(math.Log(v.Ratio)) < leastMove*math.Abs(math.Log(moved.Ratio)) {
			continue
		}
		if l.kind == part {
			c.Share = share
		}
		if !slices.ContainsFunc(found, func(have Cause) bool { return have.Class == c.Class }) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Cause) int { return cmp.Compare(b.weight, a.weight) })
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
