package leak

import (
	"encoding/json"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// A Leak is the verdict on what grows in a setting, over its trials.
type Leak struct {
	Memory  *Grown // nil if nothing tells of memory
	Reason  Reason // why Memory is nil
	Trials  []TrialGrown
	Outside *Grown       // memory that is not the Go runtime's; nil if nothing tells of it
	Others  []OtherGrown // goroutines, threads and fds, in this order, as far as they are known

	Sites  []LeakSite    // of a leak of memory: the lines that surely grow
	Needed time.Duration // window in which sites would probably be seen; 0 if some were, or there are no profiles
}

// A TrialGrown is the memory of one trial.
type TrialGrown struct {
	Trial int
	*Grown
}

// An OtherGrown is what is counted.
type OtherGrown struct {
	Name string // goroutines, threads or fds
	*Grown
	Sites []LeakSite // of goroutines that leak: where they wait
}

// Of puts what grew in the trials of a setting together; nil if nothing is known.
func Of(rs []*dyno.Result, of map[int]*Growth) *Leak {
	l := &Leak{}
	var growths []*Growth
	for _, r := range rs {
		g := of[r.Trial.N]
		if g == nil {
			continue
		}
		growths = append(growths, g)
		if g.Memory != nil {
			l.Trials = append(l.Trials, TrialGrown{g.Trial, g.Memory})
		}
	}
	if growths == nil {
		return nil
	}
	l.Memory = together(growths, func(g *Growth) *Grown { return g.Memory })
	switch {
	case l.Memory == nil:
		l.Reason.Kind = NoSeries
	case l.Memory.Verdict == Leaking:
		l.locate(growths)
	}
	l.Outside = together(growths, func(g *Growth) *Grown { return g.Outside })
	for _, name := range leakCounts {
		other := OtherGrown{Name: name, Grown: together(growths, func(g *Growth) *Grown { return g.Others[name] })}
		if other.Grown == nil {
			continue
		}
		if name == "goroutines" && other.Verdict == Leaking {
			of := func(g *Growth) (*Grown, []tally) { return g.Others[name], g.goroutines }
			ts, hours, requests, _ := evidence(growths, of)
			other.Sites = goroutineSites(ts, hours, requests)
		}
		l.Others = append(l.Others, other)
	}
	return l
}

func (l *Leak) locate(growths []*Growth) {
	ts, hours, requests, trials := evidence(growths, func(g *Growth) (*Grown, []tally) { return g.Memory, g.heap })
	if trials == 0 {
		return
	}
	bytes, enough := 0.0, 0.0
	for _, g := range growths {
		if g.Memory != nil && g.Memory.Verdict == Leaking && len(g.heap) > 0 {
			bytes += g.Memory.Forced * g.Window.Hours()
		}
	}
	if l.Sites, enough = heapSites(ts, hours, requests, bytes); len(l.Sites) == 0 {
		enough += 2 * math.Sqrt(enough) // not to miss them by bad luck
		l.Needed = time.Duration(enough * ts[0].period / l.Memory.Slope / float64(trials) * float64(time.Hour))
	}
}

// evidence adds up the tallies of the trials that leak and have some.
func evidence(growths []*Growth, of func(g *Growth) (*Grown, []tally)) (ts []tally, hours float64, requests int64, trials int) {
	var each [][]tally
	for _, g := range growths {
		if grown, tallies := of(g); grown != nil && grown.Verdict == Leaking && len(tallies) > 0 {
			each = append(each, tallies)
			hours += g.Window.Hours()
			requests += g.Requests
		}
	}
	return pooled(each), hours, requests, len(each)
}

// together is what the trials of a setting say of one quantity; nil if none does. It leaks
// if half of the trials with a verdict say so, and at least two if there are several:
// else many trials would make a false alarm likely.
func together(growths []*Growth, of func(g *Growth) *Grown) *Grown {
	var trials []*Grown
	by := map[Verdict][]*Grown{}
	for _, g := range growths {
		if one := of(g); one != nil {
			trials = append(trials, one)
			by[one.Verdict] = append(by[one.Verdict], one)
		}
	}
	leaking, level := len(by[Leaking]), len(by[NoLeak])
	verdict := Unclear
	switch {
	case len(trials) == 0:
		return nil
	case len(trials) == 1:
		one := *trials[0]
		return &one
	case leaking >= 2 && leaking >= level:
		verdict = Leaking
	case leaking == 0 && 2*level >= len(trials):
		verdict = NoLeak
	}
	said := by[verdict]
	if len(said) == 0 {
		said = trials
	}
	first := typical(said)
	median := func(of func(g *Grown) float64) float64 {
		var vs []float64
		for _, g := range trials {
			vs = append(vs, of(g))
		}
		return stats.Median(vs)
	}
	out := *first
	out.Verdict = verdict
	out.Slope, out.Detectable = median(func(g *Grown) float64 { return g.Slope }), median(func(g *Grown) float64 { return g.Detectable })
	out.Per, out.DetectablePer = median(func(g *Grown) float64 { return g.Per }), median(func(g *Grown) float64 { return g.DetectablePer })
	out.Forced = median(func(g *Grown) float64 { return g.Forced })
	out.Lo, out.Hi = bounds(trials)
	switch {
	case verdict != Unclear:
		out.Reason = Reason{}
	case leaking > 0:
		out.Reason = Reason{Kind: TrialsDiffer, N: leaking, Of: len(trials), Level: level}
	}
	return &out
}

// typical is the first trial of the shape that most have.
func typical(trials []*Grown) *Grown {
	n := map[stats.Shape]int{}
	for _, g := range trials {
		n[g.Shape]++
	}
	first := trials[0]
	for _, g := range trials {
		if n[g.Shape] > n[first.Shape] {
			first = g
		}
	}
	return first
}

// bounds of the slopes: by t from three trials on, and what both intervals cover
// of two.
func bounds(trials []*Grown) (lo, hi float64) {
	var slopes []float64
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, g := range trials {
		if !math.IsNaN(g.Slope) {
			slopes = append(slopes, g.Slope)
			lo, hi = min(lo, g.Lo), max(hi, g.Hi)
		}
	}
	switch {
	case len(slopes) == 0:
		return math.NaN(), math.NaN()
	case len(slopes) < 3:
		return lo, hi
	}
	m := stats.MeanOf(slopes)
	return m.Lo, m.Hi
}

// MarshalJSON implements json.Marshaler: the leak of summary.json.
func (l *Leak) MarshalJSON() ([]byte, error) {
	j := map[string]any{"verdict": Unclear}
	if l.Memory != nil {
		j = l.Memory.json("B")
	} else {
		l.Reason.json(j)
	}
	if len(l.Trials) > 0 {
		var trials []map[string]any
		for _, t := range l.Trials {
			one := t.json("B")
			one["trial"] = t.Trial
			trials = append(trials, one)
		}
		j["trials"] = trials
	}
	if sites := sitesJSON(l.Sites, "B"); sites != nil || j["verdict"] == Leaking {
		j["sites"] = append([]map[string]any{}, sites...)
	}
	if l.Needed > 0 {
		j["needed-sec"] = l.Needed.Seconds()
	}
	if l.Outside != nil {
		j["outside"] = l.Outside.json("B")
	}
	others := map[string]any{}
	for _, o := range l.Others {
		one := o.json("1")
		if sites := sitesJSON(o.Sites, "1"); sites != nil {
			one["sites"] = sites
		}
		others[o.Name] = one
	}
	if len(others) > 0 {
		j["others"] = others
	}
	return json.Marshal(j)
}

func (g *Grown) json(unit string) map[string]any {
	j := map[string]any{
		"verdict": g.Verdict, "by": g.By, "n": g.N, "shape": g.Shape,
		unit + "/h": dyno.Number(g.Slope), "lo": dyno.Number(g.Lo), "hi": dyno.Number(g.Hi), "detectable-" + unit + "/h": dyno.Number(g.Detectable),
		unit + "/1000req": dyno.Number(g.Per), "detectable-" + unit + "/1000req": dyno.Number(g.DetectablePer), "forced-" + unit + "/h": dyno.Number(g.Forced),
	}
	if g.Shape == stats.Stepped || g.Shape == stats.Flattening || g.Shape == stats.Sawtooth {
		j["shift-"+unit], j["at-sec"] = dyno.Number(g.Shift), dyno.Number(g.At)
	}
	g.Reason.json(j)
	return j
}

func (r Reason) json(j map[string]any) {
	if r.Kind == "" {
		return
	}
	j["reason"], j["reason-kind"] = r.Text, r.Kind
	if r.Kind == ByTrend {
		j["reason-kind"] = r.Trend.Kind
	}
}

func sitesJSON(sites []LeakSite, unit string) (js []map[string]any) {
	for _, s := range sites {
		j := map[string]any{"func": s.Func, "file": s.File, "line": s.Line, unit + "/h": dyno.Number(s.PerHour), unit + "/1000req": dyno.Number(s.Per)}
		if unit == "B" {
			j["lo"], j["hi"] = dyno.Number(s.Lo), dyno.Number(s.Hi)
		}
		if s.Stuck > 0 {
			j["stuck"] = dyno.Number(s.Stuck)
		}
		js = append(js, j)
	}
	return js
}
