package leak

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

const mib = 1 << 20

// readings is what a trial's series are made of.
type readings map[string][2][]float64

func (rs readings) series(metric string) (at, value []float64) { return rs[metric][0], rs[metric][1] }

// course makes n readings over a window of so many seconds.
func course(n int, window float64, f func(sec float64) float64) [2][]float64 {
	var s [2][]float64
	for i := range n {
		at := (float64(i) + 0.5) * window / float64(n)
		s[0], s[1] = append(s[0], at), append(s[1], f(at))
	}
	return s
}

// around adds a deviation to a course.
func around(seed uint64, sd float64, f func(sec float64) float64) func(sec float64) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(sec float64) float64 { return f(sec) + sd*rng.NormFloat64() }
}

func flat(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func ramp(from, each float64) func(float64) float64 {
	return func(sec float64) float64 { return from + each*sec }
}

// lasting is a trial of so long, with 100 requests a second, and what was live
// before the window and after it unless both are 0.
func lasting(window time.Duration, before, after float64) *dyno.Result {
	r := &dyno.Result{Trial: dyno.Trial{N: 1, Block: 1}, Elapsed: window, Sent: dyno.Sent{Requests: int64(100 * window.Seconds())}}
	if before > 0 {
		r.Memory = []dyno.Snapshot{{Stage: dyno.StageReady, Live: mib}, {Stage: dyno.StageBefore, Live: before}, {Stage: dyno.StageAfter, Live: after}}
	}
	return r
}

// The evidence is the best that there is, and where that is not enough there is
// no verdict.
func TestGrowthEvidence(t *testing.T) {
	minute := time.Minute
	saw := func(period, tooth float64, base func(float64) float64) func(float64) float64 {
		return func(sec float64) float64 { return base(sec) + tooth*math.Mod(sec, period)/period }
	}
	few := lasting(minute, 0, 0)
	few.Values = dyno.Values{{Metric: "gc-cycles", Value: 3}}
	many := lasting(minute, 0, 0)
	many.Values = dyno.Values{{Metric: "gc-cycles", Value: 400}}
	for _, x := range []struct {
		name    string
		trial   *dyno.Result
		series  readings
		by      string
		verdict Verdict
		reason  ReasonKind
	}{
		{"live heap", lasting(minute, 10*mib, 40*mib), readings{
			"heap-live-B": course(60, 60, around(1, 1e4, ramp(10*mib, mib/2))), "heap-true-B": course(60, 60, around(2, 9e5, ramp(10*mib, mib/2))),
		}, "heap-live-B", Leaking, ""},
		{"true live heap", lasting(minute, 10*mib, 40*mib), readings{
			"heap-live-B": course(60, 60, around(1, 9e5, ramp(10*mib, mib/2))), "heap-true-B": course(60, 60, around(2, 1e4, ramp(10*mib, mib/2))),
		}, "heap-true-B", Leaking, ""},
		{"a queue", lasting(minute, 10*mib, 11*mib), readings{
			"heap-live-B": course(60, 60, around(1, 1e4, ramp(10*mib, mib/2))),
		}, "heap-live-B", Unclear, Queued},
		{"steady", lasting(minute, 10*mib, 10*mib), readings{"heap-live-B": course(60, 60, around(1, 1e4, flat(10*mib)))}, "heap-live-B", NoLeak, ""},
		{"level, and yet more after it", lasting(minute, 10*mib, 15*mib), readings{
			"heap-live-B": course(60, 60, around(1, 1e4, flat(10*mib))),
		}, "heap-live-B", Unclear, GrewAfter},
		{"noise", lasting(minute, 0, 0), readings{"heap-live-B": course(10, 60, around(1, 9e6, flat(10*mib)))}, "heap-live-B", Unclear, Noisy},
		{"few collections", few, readings{
			"heap-live-B": course(3, 60, ramp(10*mib, mib)), "rss-B": course(60, 60, ramp(10*mib, mib)),
		}, "heap-live-B", Unclear, FewCollections},
		{"lows", lasting(minute, 0, 0), readings{
			"heap-B": course(600, 60, around(1, 1e4, saw(2.3, 8*mib, ramp(10*mib, mib/2)))), "rss-B": course(60, 60, flat(99*mib)),
		}, "heap-B", Leaking, ""},
		{"few lows", lasting(minute, 0, 0), readings{"heap-B": course(600, 60, saw(30, 8*mib, flat(10*mib)))}, "heap-live-B", Unclear, FewCollections},
		{"collections that readings miss", many, readings{"heap-B": course(60, 60, saw(20, 8*mib, flat(10*mib)))}, "heap-live-B", Unclear, FewLows},
		{"no collection", lasting(minute, 0, 0), readings{"heap-B": course(600, 60, ramp(10*mib, mib)), "rss-B": course(60, 60, ramp(10*mib, mib))}, "heap-live-B", Unclear, FewCollections},
		{"resident, soon", lasting(minute, 0, 0), readings{"rss-B": course(60, 60, ramp(10*mib, mib))}, "rss-B", Unclear, ResidentOnly},
		{"resident", lasting(10*minute, 0, 0), readings{"rss-B": course(600, 600, around(1, 1e6, ramp(10*mib, mib)))}, "rss-B", Leaking, ""},
	} {
		g := NewGrowth(x.trial, nil, x.series.series, Profiles{})
		if g == nil || g.Memory == nil {
			t.Errorf("%s: nothing", x.name)
			continue
		}
		if m := g.Memory; m.By != x.by || m.Verdict != x.verdict || m.Reason.Kind != x.reason {
			t.Errorf("%s: %+v", x.name, *m)
		}
	}
	if g := NewGrowth(lasting(20*time.Second, 0, 0), nil, readings{"heap-live-B": course(60, 20, flat(1))}.series, Profiles{}); g != nil {
		t.Errorf("a short trial: %+v", g)
	}
	if g := NewGrowth(lasting(minute, 0, 0), nil, readings{}.series, Profiles{}); g != nil {
		t.Errorf("no series: %+v", g)
	}
}

// Growth of what a service keeps for each connection is none, where a rising rate opened
// more of them; and a heap is not level that grows once the load is over.
func TestGrowthBesideTheLoad(t *testing.T) {
	trend := stats.Trend{Shape: stats.Growing, Slope: mib, Lo: mib, Hi: mib, Detectable: 1}
	kept := ends{before: 10 * mib, after: 70 * mib, load: 65 * connectionSize}
	g := &Growth{Window: time.Minute, connections: 65}
	if v, _ := g.verdict(trend, mib, kept); v != Leaking {
		t.Errorf("at one rate: %s", v)
	}
	g.rose = rises(dyno.Rate{{From: 1, To: 120, Over: dyno.Duration(time.Minute)}})
	if v, reason := g.verdict(trend, mib, kept); v != Unclear || reason.Kind != RateConnected || reason.N != 65 {
		t.Errorf("at a rate that rises: %s, %+v", v, reason)
	}
	if v, reason := g.verdict(trend, mib, ends{}); v != Unclear || reason.Kind != RateRose {
		t.Errorf("at a rate that rises, and nobody looked: %s, %+v", v, reason)
	}
	if rises(dyno.PerSecond(100)) || rises(nil) {
		t.Error("a rate that stays rises")
	}
	r := lasting(time.Minute, 10*mib, 10*mib)
	series := readings{"heap-live-B": course(60, 60, around(1, 1e4, flat(10*mib)))}.series
	for live, want := range map[float64]Verdict{10.5 * mib: NoLeak, 40 * mib: Unclear} {
		r.Memory = append(r.Memory[:3], dyno.Snapshot{Stage: dyno.StageIdle, Live: live})
		if m := NewGrowth(r, nil, series, Profiles{}).Memory; m.Verdict != want {
			t.Errorf("after the rest %v: %+v", live, *m)
		}
	}
}

// Readings outside the window do not count, and rates are by the hour and by
// the request.
func TestGrowthFigures(t *testing.T) {
	live := course(60, 60, around(1, 1e4, ramp(10*mib, mib/2)))
	live[0], live[1] = append(live[0], -5, 70), append(live[1], 500*mib, 0)
	m := NewGrowth(lasting(time.Minute, 10*mib, 40*mib), nil, readings{"heap-live-B": live}.series, Profiles{}).Memory
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.02*want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("slope", m.Slope, 1800*mib)
	near("forced", m.Forced, 1800*mib)
	near("per 1,000 requests", m.Per, 5*mib)
	if m.N != 60 || !(m.Lo < m.Slope && m.Slope < m.Hi) || !(m.Detectable > 0 && m.Detectable < m.Slope) {
		t.Errorf("%+v", *m)
	}
}

// What is counted is judged as memory is; of a few, some more are no matter.
func TestGrowthOthers(t *testing.T) {
	r := lasting(time.Minute, 10*mib, 10*mib)
	r.Memory[1].Goroutines, r.Memory[2].Goroutines = 10, 610
	g := NewGrowth(r, nil, readings{
		"goroutines": course(60, 60, around(1, 1, ramp(10, 10))), "threads": course(60, 60, around(2, 0.05, flat(7))), "fds": course(60, 60, around(3, 100, flat(7))),
	}.series, Profiles{})
	for name, want := range map[string]Verdict{"goroutines": Leaking, "threads": NoLeak, "fds": Unclear} {
		if o := g.Others[name]; o == nil || o.Verdict != want {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if g.Memory != nil {
		t.Errorf("memory: %+v", g.Memory)
	}
	r.Memory[2].Goroutines = 12
	g = NewGrowth(r, nil, readings{"goroutines": course(60, 60, around(1, 1, ramp(10, 10)))}.series, Profiles{})
	if o := g.Others["goroutines"]; o.Verdict != Unclear {
		t.Errorf("goroutines of requests: %+v", o)
	}
}

// Every shape but growth is level, as long as a leak would have been seen.
func TestShapesAreNoLeaks(t *testing.T) {
	g := &Growth{Window: time.Minute}
	for _, shape := range []stats.Shape{stats.Level, stats.Stepped, stats.Flattening, stats.Sawtooth, stats.Falling} {
		trend := stats.Trend{Shape: shape, Slope: 10, Lo: 5, Hi: 15, Detectable: 1000, Shift: 1e5, At: 30}
		if v, reason := g.verdict(trend, mib, ends{}); v != NoLeak || reason.Kind != "" {
			t.Errorf("%s: %s, %+v", shape, v, reason)
		}
		trend.Detectable = math.NaN()
		if v, _ := g.verdict(trend, mib, ends{}); v != Unclear {
			t.Errorf("%s without power: %s", shape, v)
		}
	}
	// A thread or two more are none, whatever their course.
	few := course(60, 60, func(sec float64) float64 { return math.Round(8 + 2*math.Sin(sec/9)) })
	if o := g.judge("threads", few[0], few[1], ends{}); o.Verdict != NoLeak {
		t.Errorf("some threads that come and go: %+v", o)
	}
	// What falls at first and then leaks is none of those.
	down := course(60, 60, around(3, 0.2*mib, func(sec float64) float64 {
		return map[bool]float64{true: 40, false: 8}[sec < 20]*mib + max(0, sec-20)*0.2*mib
	}))
	if m := g.judge("heap-live-B", down[0], down[1], ends{}); m.Verdict == NoLeak {
		t.Errorf("a leak after a step down: %+v", m)
	}
	g.connections = 65
	if v, reason := g.verdict(stats.Trend{Shape: stats.Untold, Slope: 1000}, mib, ends{load: 65 * connectionSize}); v != Unclear || reason.Kind != LoadOpened || reason.N != 65 {
		t.Errorf("connections of the load: %s %+v", v, reason)
	}
	if v, reason := g.verdict(stats.Trend{Shape: stats.Untold, Reason: stats.Reason{Kind: stats.JumpsBack}}, mib, ends{}); v != Unclear || reason.Trend.Kind != stats.JumpsBack {
		t.Errorf("%s, %+v", v, reason)
	}
}

func TestLows(t *testing.T) {
	at, v := lows([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, []float64{5, 9, 2, 1, 8, 7, 9, 3, 9})
	if !slices.Equal(at, []float64{3, 7}) || !slices.Equal(v, []float64{1, 3}) {
		t.Errorf("%v %v", at, v)
	}
	many := course(10000, 100, func(sec float64) float64 { return 10 + 5*math.Mod(sec*7, 1) })
	if at, v = lows(many[0], many[1]); len(at) < 50 || len(at) > 61 || slices.Max(v) > 10.1 || !slices.IsSorted(at) {
		t.Errorf("%d lows up to %v", len(at), slices.Max(v))
	}
}

// trials have these verdicts, with slopes of 100 more for each.
func verdicts(vs ...Verdict) (gs []*Growth) {
	for i, v := range vs {
		slope := 100 * float64(i+1)
		gs = append(gs, &Growth{Memory: &Grown{Verdict: v, By: "heap-live-B", Slope: slope, Lo: slope - 10, Hi: slope + 10, Detectable: 50, Shape: stats.Level, Reason: map[Verdict]Reason{Unclear: {Kind: Noisy}}[v]}})
	}
	return gs
}

func TestLeakOfASetting(t *testing.T) {
	l, n, u := Leaking, NoLeak, Unclear
	memory := func(g *Growth) *Grown { return g.Memory }
	for _, x := range []struct {
		trials []Verdict
		want   Verdict
		reason ReasonKind
	}{
		{[]Verdict{l}, l, ""}, {[]Verdict{n}, n, ""}, {[]Verdict{u}, u, Noisy},
		{[]Verdict{l, l}, l, ""}, {[]Verdict{l, n}, u, TrialsDiffer}, {[]Verdict{l, u}, u, TrialsDiffer},
		{[]Verdict{n, u}, n, ""}, {[]Verdict{n, u, u}, u, Noisy}, {[]Verdict{l, l, n, n, u}, l, ""},
		{[]Verdict{l, l, n, n, n}, u, TrialsDiffer}, {[]Verdict{l, u, u, u, u}, u, TrialsDiffer},
	} {
		if got := together(verdicts(x.trials...), memory); got.Verdict != x.want || got.Reason.Kind != x.reason {
			t.Errorf("%v: %+v", x.trials, *got)
		}
	}
	if together(nil, memory) != nil {
		t.Error("of nothing there is a verdict")
	}
	if two := together(verdicts(l, l), memory); two.Slope != 150 || two.Lo != 90 || two.Hi != 210 {
		t.Errorf("two: %+v", *two)
	}
	if three := together(verdicts(l, l, l), memory); three.Slope != 200 || math.Abs(three.Lo+48.4) > 0.1 || math.Abs(three.Hi-448.4) > 0.1 {
		t.Errorf("three: %+v", *three)
	}
}

// A heap is what a heap profile samples.
type heap struct {
	b stackBuilder
}

const heapRate = 512 << 10

// line has so many sampled objects of a size alive, and so many were allocated.
func (h *heap) line(fn string, line_ int64, size, alive, born float64) {
	scale := 1 / -math.Expm1(-size/heapRate)
	h.b.add(0, stackLine("runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", 9), stackLine(fn, "/r/main.go", line_))
	objects := func(n float64) int64 { return int64(n * scale) }
	space := func(n float64) int64 { return int64(n * scale * size) }
	h.b.p.Sample[len(h.b.p.Sample)-1].Value = []int64{objects(born), space(born), objects(alive), space(alive)}
}

func (h *heap) profile() *profile.Profile {
	h.b.p.SampleType = []*profile.ValueType{{Type: "alloc_objects"}, {Type: "alloc_space"}, {Type: "inuse_objects"}, {Type: "inuse_space"}}
	h.b.p.Period = heapRate
	return &h.b.p
}

func poisson(rng *rand.Rand, mean float64) float64 {
	n, left := 0.0, math.Exp(-mean)
	for p := rng.Float64(); p > left; p *= rng.Float64() {
		n++
	}
	return n
}

// The line that leaks is named with what it leaks, beside one whose objects come
// and go.
func TestLeakSites(t *testing.T) {
	var before, after heap
	before.line("main.churn", 10, 4096, 300, 5000)
	before.line("main.leak", 20, 1024, 4, 4)
	after.line("main.churn", 10, 4096, 310, 9000)
	after.line("main.leak", 20, 1024, 24, 24)
	after.line("main.once", 30, 64<<20, 2, 2) // large objects are known, but two are no growth
	ts := heapTallies(before.profile(), after.profile())
	sites, enough := heapSites(ts, 0.5, 1_000_000, math.NaN())
	if len(sites) != 1 || enough != 13 {
		t.Fatalf("%+v, %v", sites, enough)
	}
	s := sites[0]
	if s.Func != "main.leak" || s.Line != 20 || s.File != "/r/main.go" || math.Abs(s.PerHour-20*mib) > 0.1*mib || math.Abs(s.Per-10*mib/1000) > 0.1*mib/1000 {
		t.Errorf("%+v", s)
	}
	if !(s.Lo > 10*mib && s.Lo < 12*mib && s.Hi > 28*mib && s.Hi < 30*mib) {
		t.Errorf("interval %+v", s)
	}
	// Too few to tell in one trial are enough in three.
	var small heap
	small.line("main.leak", 20, 1024, 9, 9)
	one := heapTallies(before.profile(), small.profile())
	if sites, _ = heapSites(one, 0.5, 0, math.NaN()); len(sites) != 0 {
		t.Errorf("five samples: %+v", sites)
	}
	if sites, _ = heapSites(pooled([][]tally{one, one, one}), 1.5, 0, math.NaN()); len(sites) != 1 || math.Abs(sites[0].PerHour-5*mib) > 0.1*mib || !math.IsNaN(sites[0].Per) {
		t.Errorf("15 samples: %+v", sites)
	}
	if ts := heapTallies(nil, after.profile()); ts != nil {
		t.Errorf("of one profile: %+v", ts)
	}
}

// What is known to have grown must be somewhere: where the profiles show growth at
// one line and none elsewhere, fewer samples tell. They do not if there is noise.
func TestLeakSitesOfKnownGrowth(t *testing.T) {
	few := func(noise float64) []tally {
		return []tally{
			{place: place{"main.leak", "/r/main.go", 20}, before: 1, after: 8, born: 7, grew: 7 * heapRate, squares: 9 * heapRate * heapRate, period: heapRate},
			{place: place{"main.churn", "/r/main.go", 10}, before: noise, after: noise, born: 9000, squares: 2 * noise * heapRate * heapRate, period: heapRate},
		}
	}
	for _, x := range []struct {
		bytes, noise float64
		want         int
	}{{math.NaN(), 1, 0}, {7 * heapRate, 0, 1}, {7 * heapRate, 200, 0}, {heapRate, 0, 0}} {
		sites, _ := heapSites(few(x.noise), 1, 0, x.bytes)
		if len(sites) != x.want || x.want == 1 && sites[0].Func != "main.leak" {
			t.Errorf("%+v: %+v", x, sites)
		}
	}
	if _, enough := heapSites(few(1), 1, 0, heapRate); enough < 5 || enough > 7 {
		t.Errorf("%v samples are enough", enough)
	}
}

// Of lines that do not grow hardly any is named, whatever of their objects come
// and go, and whether or not others leak.
func TestLeakSitesOfNoLeak(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	heaps := 500 * *curveTrials
	for _, leak := range []float64{0, 3, 8, 20} { // samples expected
		for _, churn := range []int{1, 8} { // lines
			named := 0
			for range heaps {
				sample := func(i int, stay, died, came, passed float64) tally {
					return tally{
						place: place{line: i}, before: stay + died, after: stay + came, born: came + passed,
						grew: (came - died) * heapRate, squares: (2*stay + died + came) * heapRate * heapRate, period: heapRate,
					}
				}
				ts := []tally{sample(0, 0, 0, poisson(rng, leak), 0)}
				for i := range churn {
					turn := 0.5 * float64(int(1)<<i)
					ts = append(ts, sample(i+1, poisson(rng, float64(i)), poisson(rng, turn), poisson(rng, turn), poisson(rng, 4*turn)))
				}
				sites, _ := heapSites(ts, 1, 0, leak*heapRate)
				if slices.ContainsFunc(sites, func(s LeakSite) bool { return s.Line > 0 }) {
					named++
				}
			}
			t.Logf("%v samples leaked, %d lines that do not: one of these named in %d of %d heaps", leak, churn, named, heaps)
			expected := float64(heaps) / 1000
			if float64(named) > expected+3*math.Sqrt(expected) {
				t.Errorf("%v samples leaked, %d lines that do not: %d of %d heaps had one of these named", leak, churn, named, heaps)
			}
		}
	}
}

// waiting makes a goroutine profile.
func waiting(kind string, at map[int64]int64) *profile.Profile {
	b := &stackBuilder{}
	for line_, n := range at {
		b.add(n, stackLine("runtime.gopark", "/usr/local/go/src/runtime/proc.go", 9), stackLine("main.wait", "/r/main.go", line_))
	}
	b.p.SampleType = []*profile.ValueType{{Type: kind, Unit: "count"}}
	return &b.p
}

func TestGoroutineSites(t *testing.T) {
	ts := goroutineTallies(waiting("goroutine", map[int64]int64{5: 10, 7: 2}), waiting("goroutine", map[int64]int64{5: 12, 7: 602}), waiting("goroutineleak", map[int64]int64{7: 600}))
	sites := goroutineSites(ts, 0.1, 60_000)
	if len(sites) != 1 || sites[0].Func != "main.wait" || sites[0].Line != 7 || sites[0].PerHour != 6000 || sites[0].Per != 10 || sites[0].Stuck != 600 {
		t.Errorf("%+v", sites)
	}
}

// What an open load's connections take is no leak of the service.
func TestConnectionsAreNoLeak(t *testing.T) {
	idle := func(n int64) *profile.Profile {
		b := &stackBuilder{}
		b.add(n, stackLine("runtime.gopark", "/usr/local/go/src/runtime/proc.go", 9), stackLine("net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", 2000))
		b.add(3, stackLine("runtime.gopark", "/usr/local/go/src/runtime/proc.go", 9), stackLine("main.main", "/r/main.go", 8))
		b.p.SampleType = []*profile.ValueType{{Type: "goroutine", Unit: "count"}}
		return &b.p
	}
	p := Profiles{GoroutineBefore: idle(20), GoroutineAfter: idle(220)}
	for _, x := range []struct {
		each float64 // goroutines a second
		want Verdict
	}{{200. / 60, Unclear}, {20, Leaking}} {
		r := lasting(time.Minute, 10*mib, 10*mib+60*x.each*8192)
		g := NewGrowth(r, nil, readings{
			"goroutines": course(60, 60, around(1, 1, ramp(10, x.each))), "fds": course(60, 60, around(1, 1, ramp(10, x.each))),
			"heap-live-B": course(60, 60, around(1, 1e4, ramp(10*mib, 8192*x.each))),
		}.series, p)
		for _, o := range []*Grown{g.Memory, g.Others["goroutines"], g.Others["fds"]} {
			if o.Verdict != x.want || x.want == Unclear && (o.Reason.Kind != LoadOpened && o.Reason.Kind != LoadAll || o.Reason.N != 200) {
				t.Errorf("%v a second: %+v", x.each, *o)
			}
		}
	}
}

// From the trials of a run to summary.json.
func TestLeakJSON(t *testing.T) {
	var before, after heap
	before.line("main.leak", 20, 1024, 4, 4)
	after.line("main.leak", 20, 1024, 64, 64)
	of := map[int]*Growth{}
	var rs []*dyno.Result
	for i := range 6 {
		rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: i + 1, Block: i/2 + 1, Setting: dyno.Setting{{Factor: "GOGC", Value: []string{"100", "200"}[i%2]}}}})
	}
	for i, r := range rs {
		each := map[string]float64{"100": mib / 2, "200": 0}[r.Trial.Setting[0].Value]
		r.Elapsed, r.Sent.Requests = time.Minute, 6000
		r.Memory = []dyno.Snapshot{{Stage: dyno.StageBefore, Live: 10 * mib}, {Stage: dyno.StageAfter, Live: 10*mib + 60*each}}
		p := Profiles{HeapBefore: before.profile(), HeapAfter: after.profile()}
		of[r.Trial.N] = NewGrowth(r, nil, readings{
			"heap-live-B": course(60, 60, around(uint64(i), 1e4, ramp(10*mib, each))), "threads": course(60, 60, around(uint64(i), 0.05, flat(7))),
		}.series, p)
	}
	type setting struct {
		Setting string
		Leak    *Leak
	}
	var settings []setting
	for i := range 2 {
		settings = append(settings, setting{rs[i].Trial.Setting.String(), Of([]*dyno.Result{rs[i], rs[i+2], rs[i+4]}, of)})
	}
	data, err := json.Marshal(map[string]any{"Settings": settings})
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Settings []struct {
			Setting string
			Leak    struct {
				Verdict, By, Shape string
				Rate               float64 `json:"B/h"`
				Lo, Hi             float64
				Detectable         float64 `json:"detectable-B/h"`
				Trials             []struct{ Trial int }
				Sites              []struct {
					Func string
					Line int
					Rate float64 `json:"B/h"`
				}
				Others map[string]struct {
					Verdict string
					Rate    *float64 `json:"1/h"`
				}
			}
		}
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Settings {
		l := s.Leak
		switch s.Setting {
		case "GOGC=100":
			if l.Verdict != "leaking" || l.By != "heap-live-B" || math.Abs(l.Rate-1800*mib) > 20*mib || !(l.Lo < l.Rate && l.Rate < l.Hi) ||
				len(l.Trials) != 3 || len(l.Sites) != 1 || l.Sites[0].Func != "main.leak" || l.Sites[0].Line != 20 || math.Abs(l.Sites[0].Rate-1800*mib) > 20*mib {
				t.Errorf("%+v", l)
			}
		case "GOGC=200":
			if l.Verdict != "level" || l.Sites != nil || !(l.Detectable > 0) || l.Others["threads"].Verdict != "level" || l.Others["threads"].Rate == nil {
				t.Errorf("%+v", l)
			}
		}
	}
}

// A stackBuilder makes a profile of stacks.
type stackBuilder struct{ p profile.Profile }

func stackLine(name, file string, line int64) profile.Line {
	return profile.Line{Function: &profile.Function{Name: name, Filename: file, StartLine: 1}, Line: line}
}

// add adds a stack, the leaf first, with one value.
func (b *stackBuilder) add(n int64, stack ...profile.Line) {
	s := &profile.Sample{Value: []int64{n}}
	for _, l := range stack {
		loc := &profile.Location{ID: uint64(len(b.p.Location) + 1), Line: []profile.Line{l}}
		b.p.Location, b.p.Function = append(b.p.Location, loc), append(b.p.Function, l.Function)
		s.Location = append(s.Location, loc)
	}
	b.p.Sample = append(b.p.Sample, s)
}

// dyno knows only the collections of a program without its probe. A fast leak leaves few. It is not
// called level or passed over: the report says that the heap grew.
func TestFastLeakOfAnExecutable(t *testing.T) {
	minute := time.Minute
	doubling := func(from, to float64) [2][]float64 {
		var s [2][]float64
		for i := range 7 {
			x := math.Exp2(float64(i - 6))
			s[0], s[1] = append(s[0], 43*x), append(s[1], from+(to-from)*x)
		}
		return s
	}
	for _, x := range []struct {
		name   string
		trial  *dyno.Result
		live   [2][]float64
		risen  bool
		reason ReasonKind
	}{
		{"fast", lasting(minute, 0, 0), doubling(2*mib, 132*mib), true, FewCollections},
		{"level", lasting(minute, 0, 0), doubling(2*mib, 2*mib), false, FewCollections},
		{"noise", lasting(minute, 0, 0), doubling(2*mib, 3*mib), false, FewCollections},
		{"known to the end", lasting(minute, 2*mib, 188*mib), doubling(2*mib, 132*mib), false, ""},
	} {
		x.trial.Values = dyno.Values{{Metric: "gc-cycles", Value: 7}}
		m := NewGrowth(x.trial, nil, readings{"heap-live-B": x.live}.series, Profiles{}).Memory
		if m.Reason.Kind != x.reason || m.Reason.Bytes > 0 != x.risen || (m.Verdict == Leaking) != (x.reason == "") {
			t.Errorf("%s: %+v", x.name, *m)
		}
	}
}
