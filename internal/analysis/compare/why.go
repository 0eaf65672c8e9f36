package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// A Why holds what was measured beside a change of a primary metric that can account for
// it: at most three causes, the greatest first. Effect and cause have both a verdict, better or
// worse, of the table.
type Why struct {
	Metric string  `json:"metric"`
	Causes []Cause `json:"causes"`
}

// A Cause is another measured change by which a primary metric moves. That it is the cause
// is inferred from how services work.
type Cause struct {
	Class  Class       `json:"class"`
	Metric string      `json:"metric"` // that tells it
	Base   dyno.Number `json:"base"`   // median of the baseline, in the metric's base unit
	Now    dyno.Number `json:"now"`    // median of the setting
	Lo     dyno.Number `json:"lo"`
	Hi     dyno.Number `json:"hi"`               // 95 % interval of the ratio; NaN where a zero allows none
	Share  dyno.Number `json:"share"`            // of the primary metric's change, at most 1; NaN where the units do not allow to say
	Least  dyno.Number `json:"share-lo"`         // 95 % interval of Share; NaN if it is not known
	Most   dyno.Number `json:"share-hi"`         // at most 1
	Offset bool        `json:"offset,omitempty"` // surely more than all of the change: something else went the other way
	Places []Place     `json:"places,omitempty"` // where in the program, as profiles tell, the greatest change first

	weight float64 // orders causes
}

// A Class is a kind of cause.
type Class string

const (
	ClassGC         Class = "garbage collection"
	ClassAllocation Class = "allocation"
	ClassCPU        Class = "CPU time"
	ClassLock       Class = "lock contention"
	ClassScheduling Class = "waiting for a CPU"
	ClassFaults     Class = "fresh memory" // that the kernel has to clear and to map
	ClassHeap       Class = "heap"
	ClassStacks     Class = "goroutines and threads"
	ClassFiles      Class = "mapped files"    // whose pages the kernel can take back
	ClassStatements Class = "statements"      // that a need was asked
	ClassServer     Class = "server time"     // that the service needs, in its statements
	ClassConnecting Class = "new connections" // to a need
	ClassThrottling Class = "the CPU limit"   // whose quota was used up, so that threads had to wait for the next period
)

// ClassSlow is of a percentile's change that execution traces explain: on which lines the requests near it wait or run
// longer, or shorter. The caller of Tabulate fills it.
const ClassSlow Class = "slow requests"

// A Place is a function whose share of a profile changed, with the line that
// changed most.
type Place struct {
	Func   string      `json:"func"`           // or a statement
	From   dyno.Number `json:"from,omitempty"` // of a statement: what the baseline has
	File   string      `json:"file,omitempty"`
	Line   int         `json:"line,omitempty"`
	Change dyno.Number `json:"change"` // per request, in the profile's base unit, or that of the metric
	Lo     dyno.Number `json:"lo"`
	Hi     dyno.Number `json:"hi"`    // 95 % interval of Change
	Share  dyno.Number `json:"share"` // of the change of the whole profile
}

// A lever is one way in which a metric moves a primary one.
type lever struct {
	class   Class
	metric  string
	profile string  // of dyno.ProfileNames, that tells where, or "calls" or "time" and a need; "" if none does
	of      string  // the metric that this one's change is divided by: it contains this metric, or has its unit after scale; "": units differ, ratios are compared
	scale   float64 // to the unit of of; 0 means 1
	part    bool    // of is the primary metric, and the share in it can be told
	inverse bool    // more of it is less of the primary metric
	all     bool    // every request under way waits for it, as all of the process does
	exact   bool    // it is a count that may have no noise, so that the table tests its signs alone
	far     float64 // how far it is from the primary metric: others come before it
}

var levers = map[string][]lever{
	"cpu-sec/req": {
		{class: ClassGC, metric: "gc-cpu-sec/req", of: "cpu-sec/req", part: true},
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", of: "cpu-sec/req", part: true},
		{class: ClassFaults, metric: "minflt/req", of: "cpu-sec/req", scale: faultCost},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs", of: "cpu-sec/req", scale: byteCost, far: 1},
		{class: ClassAllocation, metric: "allocs/req", profile: "allocs", of: "cpu-sec/req", scale: allocCost, far: 1},
	},
	"p50-sec": latencyLevers(false),
	"p99-sec": latencyLevers(false),
	"req/s":   latencyLevers(true), // of clients that wait for each answer
	"rss-peak-B": {
		{class: ClassHeap, metric: "heap-peak-B", profile: "heap", of: "rss-peak-B", part: true},
		{class: ClassHeap, metric: "heap-live-B", profile: "heap", of: "rss-peak-B", part: true},
		{class: ClassFiles, metric: "rss-file-B", of: "rss-peak-B", part: true},
		{class: ClassStacks, metric: "goroutines"},
		{class: ClassStacks, metric: "threads"},
	},
}

// leversOf are the levers of a primary metric for setting i, with those of what the service needs.
func (t *Table) leversOf(i int, metric string) []lever {
	all := levers[metric]
	s := &t.Settings[i]
	latency := metric == "p50-sec" || metric == "p99-sec" || metric == "req/s"
	for _, row := range t.Rows {
		need, what := dyno.NeedOf(row.Name)
		mine := metric == need+"-cpu-sec/req"
		if need == "" || !latency && !mine && metric != "cpu-sec/req" {
			continue
		}
		l := lever{metric: row.Name, inverse: metric == "req/s"}
		switch what {
		case "statements/req":
			l.class, l.profile, l.exact = ClassStatements, "calls "+need, true
			if !mine { // of its own CPU time nothing is known but the ratio
				l.of, l.scale = "cpu-sec/req", statementCost
			}
			if latency {
				l.of, l.scale = "mean-sec", statementCost+s.each(need)
			}
		case "new-connections/req": // what one costs depends on its kind and on passwords, so ratios are compared
			l.class, l.exact, l.far = ClassConnecting, true, 0.25
		case "server-sec/req":
			// It has waits in it, for a CPU or for who reads the answer: of these it is the effect.
			works, ok := s.Versus[need+"-cpu-sec/req"]
			if cause := s.Versus[row.Name]; metric == "cpu-sec/req" || !ok || !sure(works) || works.Diff > 0 != (cause.Diff > 0) {
				continue
			}
			if l.class, l.profile, l.far = ClassServer, "time "+need, 0.5; latency {
				l.of = "mean-sec"
			}
		default:
			continue
		}
		all = append([]lever{l}, all...) // what is asked comes before the CPU time that it takes
	}
	return all
}

// each is the time of one statement of a need in its server.
func (s *Setting) each(need string) float64 {
	calls, time := s.Values[need+"-statements/req"].Center, s.Values[need+"-server-sec/req"].Center
	if !(calls > 0) {
		return 0
	}
	return time / calls
}

// latencyLevers are those of response times. CPU time has no unit in common with requests
// that queue for CPUs; where they do not queue, it is part of the mean (see rests).
func latencyLevers(inverse bool) []lever {
	return []lever{
		{class: ClassThrottling, metric: "throttled-sec/req", of: "mean-sec", all: true, inverse: inverse},
		{class: ClassLock, metric: "mutex-wait-sec/req", profile: "mutex", of: "mean-sec", inverse: inverse},
		{class: ClassCPU, metric: "cpu-sec/req", profile: "cpu", inverse: inverse},
		{class: ClassGC, metric: "gc-cpu-sec/req", of: "cpu-sec/req", inverse: inverse},
		{class: ClassGC, metric: "gc-wall-frac", inverse: inverse, far: 1},
		{class: ClassFaults, metric: "minflt/req", of: "cpu-sec/req", scale: faultCost, inverse: inverse},
		{class: ClassAllocation, metric: "alloc-B/req", profile: "allocs", of: "cpu-sec/req", scale: byteCost, inverse: inverse, far: 1},
		{class: ClassScheduling, metric: "sched-p99-sec", of: "mean-sec", inverse: inverse, far: 2},
	}
}

// Rough costs in seconds, which only decide whether something can be a cause at
// all: of a page fault, the clearing of the page included, and of a byte and an
// object allocated, at the most, their collection included.
const (
	faultCost = 1e-6
	byteCost  = 5e-9
	allocCost = 5e-7

	statementCost = 2e-4 // of a statement outside of its server: CPU time of the service, or time on the way
)

const (
	mostCauses = 3
	mostPlaces = 3
	leastShare = 0.05 // of a change; less is no cause
	leastAsked = 0.25 // of a change, from which on statements come before the CPU time that they take
	surelyMore = 1.25 // times a change, which functions that are sampled exceed by chance
	mostShare  = 2    // a larger share is not reported: so much more than the whole is no part of it, such as heap that is not resident

	// A service that uses less has no queue for CPUs.
	leastCPUs = 0.25
	leastUse  = 0.5 // of what the other setting uses
)

// Places returns the functions that surely changed from the baseline to a setting in a
// profile of dyno.ProfileNames, the greatest change first.
type Places func(s dyno.Setting, profile string) []Place

func (t *Table) why(i int, where Places) []Why {
	places := func(profile string) []Place {
		if where == nil {
			return nil
		}
		return where(t.Settings[i].Setting, profile)
	}
	var whys []Why
	s := &t.Settings[i]
	for _, m := range t.Rows {
		if !m.Primary || len(t.leversOf(i, m.Name)) == 0 || !sure(s.Versus[m.Name]) {
			continue
		}
		whys = append(whys, Why{m.Name, t.causes(i, m.Metric, places)})
	}
	return whys
}

func (t *Table) causes(i int, m dyno.Metric, places func(string) []Place) []Cause {
	s := &t.Settings[i]
	moved := s.Versus[m.Name]
	found := []Cause{}
	for _, l := range t.leversOf(i, m.Name) {
		v, ok := s.Versus[l.metric]
		if !ok || !sure(v) && !(l.exact && t.counted(v)) || (v.Diff > 0) == ((moved.Diff > 0) == l.inverse) {
			continue
		}
		nan := dyno.Number(math.NaN())
		c := Cause{
			Class: l.class, Metric: l.metric, Lo: dyno.Number(v.Lo), Hi: dyno.Number(v.Hi), Share: nan, Least: nan, Most: nan,
			Base: dyno.Number(t.Settings[0].Values[l.metric].Center), Now: dyno.Number(s.Values[l.metric].Center),
		}
		if l.profile != "" {
			c.Places = toward(places(l.profile), v.Diff)
		}
		if (l.class == ClassStatements || l.class == ClassServer) && len(c.Places) == 0 {
			continue // what is asked by the clock, or cannot be named
		}
		weight := t.weigh(i, m, l, c.Places)
		if weight < leastShare {
			continue
		}
		switch {
		case l.metric == m.Name:
			c.Offset = len(c.Places) > 0 && weight > surelyMore
		case sumOf(c.Places)/v.Diff > mostShare: // others went the other way, so these say little of another metric
			c.Places = nil
		}
		if l.part && weight <= mostShare {
			c.Share = dyno.Number(min(weight, 1))
			if lo, hi := t.share(i, l.metric, m.Name, weight); l.metric != m.Name && lo <= hi {
				c.Least, c.Most = dyno.Number(max(0, min(lo, 1))), dyno.Number(min(hi, 1))
				c.Offset = lo > 1 && l.of == "cpu-sec/req" // of heap, what is more may just not be resident
			}
		}
		c.weight = min(weight, 1) - l.far
		if !slices.ContainsFunc(found, func(have Cause) bool { return have.Class == c.Class }) {
			found = append(found, c)
		}
	}
	// CPU time of the service does not come before the statements that take it.
	asked := slices.IndexFunc(found, func(c Cause) bool { return c.Class == ClassStatements && c.weight >= leastAsked })
	for i := range found {
		if asked >= 0 && found[i].Class == ClassCPU {
			found[i].weight = min(found[i].weight, found[asked].weight)
		}
	}
	slices.SortStableFunc(found, func(a, b Cause) int { return cmp.Compare(b.weight, a.weight) })
	return found[:min(len(found), mostCauses)]
}

// leastLikely is the share of a change that a likely cause has to account for.
const leastLikely = 0.5

// Likely returns a metric that may be the cause where no cause was found. Its own change is unclear; if it were sure, it would
// account for most of a change of setting i. more is the number of blocks that may make it sure. metric is "" if there is none.
func (t *Table) Likely(i int) (class Class, metric string, more int) {
	s := &t.Settings[i]
	most := leastLikely
	for _, w := range s.Why {
		if len(w.Causes) > 0 {
			continue
		}
		m, _ := dyno.MetricByName(w.Metric)
		for _, l := range t.leversOf(i, w.Metric) {
			v, ok := s.Versus[l.metric]
			if !ok || l.metric == w.Metric || v.Verdict != stats.Unclear || v.MoreBlocks == 0 || (v.Diff > 0) == ((s.Versus[w.Metric].Diff > 0) == l.inverse) {
				continue
			}
			if weight := min(t.weigh(i, m, l, nil), 1) - l.far; weight > most {
				most, class, metric, more = weight, l.class, l.metric, v.MoreBlocks
			}
		}
	}
	return class, metric, more
}

// sumOf is what the places changed together.
func sumOf(places []Place) (sum float64) {
	for _, p := range places {
		sum += float64(p.Change)
	}
	return sum
}

// weigh tells what fraction of a change of m a lever can account for; where units do not
// compare, by its own ratio.
func (t *Table) weigh(i int, m dyno.Metric, l lever, places []Place) float64 {
	s := &t.Settings[i]
	v, moved := s.Versus[l.metric], s.Versus[m.Name]
	if l.metric == m.Name { // it is no cause of itself; its places are
		return sumOf(places) / moved.Diff
	}
	if m.Name != "cpu-sec/req" && (l.of == "cpu-sec/req" || l.metric == "cpu-sec/req") && s.idleCPUs() {
		l.of = "mean-sec"
	}
	if l.of == "" {
		if math.IsNaN(v.Ratio) || math.IsNaN(moved.Ratio) { // from or to nothing
			return 1
		}
		return math.Abs(math.Log(v.Ratio) / math.Log(moved.Ratio))
	}
	whole, ok := s.Versus[l.of]
	if !ok {
		return 0
	}
	part := v.Diff * cmp.Or(l.scale, 1)
	if l.all {
		part = s.waits(l.metric) - t.Settings[0].waits(l.metric)
	}
	if l.of != m.Name && !sure(whole) {
		// Its change is noise, of which a part can be any multiple and have
		// either sign: what counts is how much it would have to change to
		// keep step with the primary metric.
		step := t.Negligible
		if !math.IsNaN(moved.Ratio) {
			step = max(step, math.Abs(math.Log(moved.Ratio)))
		}
		return math.Abs(part) / max(math.Abs(whole.Diff), step*math.Abs(t.Settings[0].Values[l.of].Center))
	}
	weight := part / whole.Diff
	if l.of == "cpu-sec/req" && m.Name != l.of && !math.IsNaN(whole.Ratio) && !math.IsNaN(moved.Ratio) {
		// A part of CPU time moves response times no more than CPU time does.
		weight *= min(1, math.Abs(math.Log(whole.Ratio)/math.Log(moved.Ratio)))
	}
	return weight
}

// waits estimates for how many seconds a request is held up while the whole process is
// stopped. The metric is seconds stopped per request; times req/s it is the fraction of
// time stopped, at most 1, as each CPU counts its own throttling; times the mean latency
// it is the wait.
func (s *Setting) waits(metric string) float64 {
	return min(1, s.Values[metric].Center*s.Values["req/s"].Center) * s.Values["mean-sec"].Center
}

// idleCPUs reports whether the slower one of setting and baseline uses fewer than leastCPUs
// CPUs, or less than leastUse of what the faster one uses. Then requests do not queue for
// CPUs, and the CPU time of one request delays no other.
func (s *Setting) idleCPUs() bool {
	cpu, rate := s.Versus["cpu-sec/req"], s.Versus["req/s"]
	slower := s.Values["cpu-sec/req"].Center * s.Values["req/s"].Center // CPUs in use: here, and in the baseline
	faster := slower / (cpu.Ratio * rate.Ratio)
	switch mean := s.Versus["mean-sec"].Diff; {
	case !(slower > 0 && faster > 0) || mean == 0: // not measured
		return false
	case mean < 0:
		slower, faster = faster, slower
	}
	return slower < leastCPUs || slower < leastUse*faster
}

// sure reports whether the table itself calls a metric changed. A cause is of no use if the row
// of it says unclear.
func sure(v Versus) bool { return v.Verdict == stats.Better || v.Verdict == stats.Worse }

// counted reports whether a number per request surely changed that has hardly any noise: without spread the table tests
// signs, which a few blocks never make sure.
func (t *Table) counted(v Versus) bool {
	const blocks, error = 3, 0.001
	away := math.Abs(math.Log(v.Ratio)) > math.Log1p(t.Negligible)
	return away && v.Comparison.N >= blocks && (v.Comparison.SD < 1e-9 || v.Comparison.P < error)
}

// share is the 95 % interval of a share, the ratio of two mean differences within blocks, by linearisation:
// part − share·whole has the mean 0. It is NaN where a block lacks a value.
func (t *Table) share(i int, part, whole string, share float64) (lo, hi float64) {
	var diffs [2][]float64
	for n, metric := range []string{part, whole} {
		base, now := t.Settings[0].Values[metric].Trials, t.Settings[i].Values[metric].Trials
		if len(base) != t.Blocks || len(now) != t.Blocks {
			return math.NaN(), math.NaN()
		}
		for b := range base {
			diffs[n] = append(diffs[n], now[b]-base[b])
		}
	}
	left := make([]float64, t.Blocks)
	for b := range left {
		left[b] = diffs[0][b] - share*diffs[1][b]
	}
	rest, all := stats.MeanOf(left), stats.MeanOf(diffs[1])
	half := (rest.Hi - rest.Lo) / 2 / math.Abs(all.Mean)
	return share - half, share + half
}

func toward(places []Place, sign float64) []Place {
	var same []Place
	for _, p := range places {
		if p.Change > 0 == (sign > 0) {
			same = append(same, p)
		}
	}
	return same[:min(len(same), mostPlaces)]
}
