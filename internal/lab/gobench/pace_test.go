package gobench

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

func leaf(sec float64) *benchmark { return &benchmark{Survey: dyno.Survey{N: 1000, Sec: sec}} }

func TestPaceOf(t *testing.T) {
	collects := func(sec, cycles, frac float64) *benchmark {
		l := leaf(sec)
		l.Collections, l.GCFrac = cycles, frac
		return l
	}
	setsUp := func(sec, outside, grows float64) *benchmark {
		l := leaf(sec)
		l.Outside, l.grows = outside, grows
		return l
	}
	timed := func(sec, fixed float64) *benchmark {
		l := leaf(sec + fixed/1000)
		l.fixed = fixed
		return l
	}
	allocs := func(l *benchmark, bytes float64) *benchmark {
		l.Bytes = bytes
		return l
	}
	for _, c := range []struct {
		name    string
		in      []*benchmark
		sample  time.Duration
		n       int64
		pairs   int
		alone   bool
		runtime bool // the settings differ in more than their source
	}{
		{"quick", []*benchmark{leaf(1e-6), leaf(1e-6)}, 0, 1000, 36, false, false},
		{"settings that differ: 1 ms for the mean of logarithms", []*benchmark{leaf(1e-6), leaf(4e-6)}, 0, 500, 36, false, false},
		{"nothing at all", []*benchmark{leaf(0), leaf(0)}, 0, 1e9, 36, false, false},
		{"asked for", []*benchmark{leaf(1e-6), setsUp(1e-6, 1, 0)}, 10 * time.Millisecond, 10000, 1, true, false},
		{"asked for, and longer than dyno would", []*benchmark{leaf(1e-3)}, 500 * time.Millisecond, 500, 2, true, false},
		{"an iteration is a sample", []*benchmark{leaf(0.03), leaf(0.03)}, 0, 1, 2, false, false},
		{"an iteration is a launch", []*benchmark{leaf(0.5), leaf(0.5)}, 0, 1, 2, true, false},
		{"slower still", []*benchmark{leaf(0.5), leaf(1.2)}, 0, 1, 1, true, false},
		{"collections take too little time to be seen", []*benchmark{collects(1e-6, 10, 0.004), collects(1e-6, 10, 0.004)}, 0, 1000, 36, false, true},
		{"collects in one setting", []*benchmark{collects(1e-6, 0, 0), collects(1e-6, 0.1, 0.02)}, 0, 1000, 36, false, true},
		{"collects more in one setting", []*benchmark{collects(1e-4, 10, 0.02), collects(1e-4, 3, 0)}, 0, 500, 2, true, true},
		{"collects too seldom for a sample", []*benchmark{collects(1e-3, 2, 0.02)}, 0, 250, 2, true, true},
		{"collects alike", []*benchmark{collects(1e-6, 1, 0.02), collects(1e-6, 1, 0.02)}, 0, 1000, 36, false, false},
		{"collects alike, and much", []*benchmark{collects(1e-4, 5, 0.12), collects(1e-4, 5, 0.12)}, 0, 300, 2, false, false},
		{"allocates three times as much", []*benchmark{allocs(collects(1e-4, 3, 0.02), 1000), allocs(collects(1e-4, 9, 0.06), 3000)}, 0, 500, 2, true, false},
		{"set-up of 5 ms, twice", []*benchmark{leaf(1e-4), setsUp(1e-4, 0.005, 0)}, 0, 100, 4, false, false},
		{"set-up of 3 ms, beside which one iteration is much", []*benchmark{setsUp(4e-3, 0.003, 0)}, 0, 1, 16, false, false},
		{"set-up of 1 s", []*benchmark{setsUp(1e-3, 1, 0)}, 0, 250, 1, true, false},
		{"set-up of 5 ms, timed", []*benchmark{timed(1e-4, 0.005)}, 0, 100, 6, false, false},
		{"99 % is not timed", []*benchmark{setsUp(1e-6, 0, 99e-6)}, 0, 200, 6, false, false},
	} {
		p := paceOf(c.in, c.sample, longestSec, c.runtime)
		if p.n != c.n || p.pairs != c.pairs || p.alone != c.alone {
			t.Errorf("%s: %d iterations, %d pairs, alone %v; want %d, %d, %v", c.name, p.n, p.pairs, p.alone, c.n, c.pairs, c.alone)
		}
	}
	// 36 turns of 2 samples in 2 settings, and a first sample of each, all of 1 ms; and half a millisecond for each turn.
	if p := paceOf([]*benchmark{leaf(1e-3), leaf(1e-3)}, 0, longestSec, false); p.launch != 182*time.Millisecond || p.least() != 12*time.Millisecond {
		t.Errorf("a launch takes %v, and at least %v", p.launch, p.least())
	}
	p := paceOf([]*benchmark{leaf(1e-3), leaf(1e-3)}, 0, longestSec, false)
	for d, want := range map[time.Duration]int{0: 2, 27 * time.Millisecond: 4, time.Hour: 36} {
		if got := p.pairsIn(d); got != want {
			t.Errorf("%d pairs in %v, want %d", got, d, want)
		}
	}
}

// The arithmetic of the survey finds what was simulated.
func TestSurvey(t *testing.T) {
	const mib = 1 << 20
	f := &fakeBinaries{benches: []fakeBench{
		{name: "Plain", sec: 1e-6},
		{name: "Once", sec: 1e-6, once: 0.05},
		{name: "OnceSlow", sec: 1e-6, once: 0.2, timed: "makeInput()"},
		{name: "SetUp", sec: 1e-5, setUp: 0.01},
		{name: "SetUpLoop", sec: 1e-5, setUp: 0.01, loop: true},
		{name: "Stops", sec: 1e-6, each: 20e-6},
		{name: "Allocs", sec: 1e-4, bytes: mib},
		{name: "Sub/Allocs", sec: 1e-4, bytes: mib},
		{name: "Sub/Plain", sec: 1e-4},
		{name: "Quarter", sec: 0.025, bytes: 4 * mib},
		{name: "Leaks", sec: 1e-5, leaves: 3},
		{name: "Cold", sec: 1e-5, cold: 0.5},
		{name: "Init", sec: 1e-3, init: 0.1},
		{name: "Slow", sec: 0.3},
		{name: "Slowest", sec: 3},
	}}
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 1, dyno.Duration(time.Hour)
	rs, err := runBench(t, f, e)
	if err != nil {
		t.Fatal(err)
	}
	near := func(name, what string, got, want, off float64) {
		t.Helper()
		if math.Abs(got-want) > off {
			t.Errorf("%s: %s is %v, want %v", name, what, got, want)
		}
	}
	for _, c := range []struct {
		name                                          string
		n, sec, fewSec, cycles, frac, outside, leaves float64
	}{
		{name: "Plain", n: 100000, sec: 1e-6, fewSec: 1e-6},
		{name: "Once", n: 100000, sec: 1.5e-6, fewSec: 5e-6},
		{name: "OnceSlow", n: 400000, sec: 1.5e-6, fewSec: 5e-6},
		{name: "SetUp", n: 7500, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "SetUpLoop", n: 7500, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "Stops", n: 50000, sec: 1e-6, fewSec: 1e-6},
		{name: "Allocs", n: 1000, sec: 1e-4, fewSec: 1e-4, cycles: 250, frac: 2.5},
		{name: "Sub/Allocs", n: 1000, sec: 1e-4, fewSec: 1e-4, cycles: 250, frac: 2.5},
		{name: "Sub/Plain", n: 1000, sec: 1e-4, fewSec: 1e-4},
		{name: "Quarter", n: 4, sec: 0.025, cycles: 5, frac: 0.037}, // forced ones are taken to be as long as others,
		{name: "Leaks", n: 10000, sec: 1e-5, fewSec: 1e-5, leaves: 6},
		{name: "Cold", n: 10000, sec: 1e-5, fewSec: 1e-5},
		{name: "Init", n: 100, sec: 1e-3, fewSec: 1e-3},
		{name: "Slow", n: 1, sec: 0.3},
		{name: "Slowest", n: 1, sec: 3},
	} {
		s := surveyOf(t, rs, c.name)
		near(c.name, "N", float64(s.N), c.n, 0.35*c.n)
		near(c.name, "time", s.Sec, c.sec, 0.4*c.sec)
		near(c.name, "time with few iterations", s.FewSec, c.fewSec, 0.4*c.fewSec)
		near(c.name, "collections", s.Collections, c.cycles, 0.05*c.cycles)
		near(c.name, "share of collecting", s.GCFrac, c.frac, 0.05*c.frac)
		near(c.name, "what is outside of the timer", s.Outside, c.outside, 1e-3)
		near(c.name, "goroutines", s.Goroutines, c.leaves, 0)
	}
	for _, b := range rs[2].Benchmarks {
		switch want := map[string]int64{"Plain": 1000, "SetUp": 2000, "SetUpLoop": 1000, "Once": 100000, "Stops": 900, "Cold": 100, "Slowest": 1}[b.Name]; {
		case want != 0 && math.Abs(float64(b.N-want)) > 0.1*float64(want):
			t.Errorf("%s has %d iterations a sample, want %d", b.Name, b.N, want)
		case b.Name == "Slowest" && (len(b.Launches) != 1 || len(b.Launches[0]) != 1):
			t.Errorf("%s has %d launches", b.Name, len(b.Launches))
		}
	}
}

// What a process does once, beside what is timed, is not taken for something that
// each iteration or each call does.
func TestTakeFew(t *testing.T) {
	const sec, long, few = 1e-3, 80, 10
	result := func(n int64, at float64) timedResult {
		r := timedResult{at: time.Unix(0, 0).Add(time.Duration(at * float64(time.Second)))}
		r.N, r.Values = n, dyno.Values{{Metric: "sec/op", Value: sec}}
		return r
	}
	for _, c := range []struct {
		name              string
		once, call, grows float64 // seconds that are not timed: of a process, of each call, of each iteration
	}{
		{"nothing", 0, 0, 0}, {"a process", 0.1, 0, 0}, {"a call", 0, 0.02, 0}, {"an iteration", 0, 0, 3e-3},
		{"a process and an iteration", 0.1, 0, 3e-3}, {"a process and a call", 0.1, 0.02, 0},
	} {
		// Testing calls with 1 iteration that it does not tell of, and then with all.
		untimed := func(n float64) float64 { return sec + 2*c.call + (n+1)*c.grows }
		first := c.once + untimed(few)
		var rs []timedResult
		at := first + few*sec
		for range surveyFews {
			rs = append(rs, result(few, at))
			at += untimed(few) + few*sec
		}
		l := leaf(sec)
		l.N = long
		l.takeFew(rs, first+few*sec, result(2, 0), c.once+untimed(long))
		// Up to surveyGrace is let off; that is shared by the iterations that are more.
		if off := surveyGrace / (long - few) * 1.2; math.Abs(l.grows-c.grows) > off || math.Abs(l.Outside-c.call) > few*off {
			t.Errorf("%s: %g s of each iteration and %g s of each call", c.name, l.grows, l.Outside)
		}
	}
}

// A block that takes long to link is worth more launches, as far as there is time.
func TestLaunches(t *testing.T) {
	for _, c := range []struct {
		linked, light time.Duration
		open, want    int
	}{
		{0, time.Hour, 1, 1}, {290 * time.Millisecond, time.Hour, 1, 1}, {810 * time.Millisecond, time.Hour, 1, 2}, {610 * time.Millisecond, time.Hour, 3, 1},
		{time.Hour, time.Hour, 3, mostLaunches}, {time.Hour, 4 * time.Second, 3, 4}, {10 * time.Second, 0, 0, 1},
	} {
		b := &blockRun{linked: c.linked, light: c.light}
		for range c.open {
			b.open = append(b.open, &pairing{pace: pace{launch: 300 * time.Millisecond}})
		}
		if got := b.launches(); got != c.want {
			t.Errorf("%v of linking and %v for %d benchmarks: %d launches, want %d", c.linked, c.light, c.open, got, c.want)
		}
	}
}

// Benchmarks within one that loads much for them run together: so it loads once in a launch.
func TestFamily(t *testing.T) {
	f := &fakeBinaries{}
	for i := range 20 {
		f.benches = append(f.benches, fakeBench{name: fmt.Sprintf("Data/set%d", i), sec: 1e-4 * float64(i+1), load: 0.1, slower: map[string]float64{"b": 0.1}})
	}
	f.benches[3].fails, f.benches[3].in = "not here", "b"
	f.benches[5].only = "a"
	f.benches = append(f.benches, fakeBench{name: "Plain", sec: 1e-4})
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(2*time.Minute)
	rs, err := runBench(t, f, e, func(b *Bencher) { b.Least = 14 })
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]int{}
	for _, r := range rs {
		for i, b := range r.Benchmarks {
			if len(b.Launches) < 1 || b.Err != "" {
				t.Errorf("%s has %d launches: %s", b.Name, len(b.Launches), b.Err)
			}
			if blocks[b.Name]++; r.Trial.Setting.String() == "V=b" && b.Name != "Plain" {
				sec, _ := b.Launches[0][0].Get("sec/op")
				var of int
				fmt.Sscanf(b.Name, "Data/set%d", &of)
				if want := 1.1e-4 * float64(of+1); math.Abs(sec-want) > 0.01*want {
					t.Errorf("%d. benchmark of a block, %s: %g s, want %g", i, b.Name, sec, want)
				}
			}
		}
	}
	for _, name := range []string{"Data/set0", "Data/set4", "Data/set6", "Data/set19", "Plain"} {
		if blocks[name] < 2*14 {
			t.Errorf("%s has %d results", name, blocks[name])
		}
	}
	if blocks["Data/set3"] > 0 || blocks["Data/set5"] > 0 || len(blocks) != 19 {
		t.Errorf("%v", blocks)
	}
}

// What cannot run with its family runs alone, and shows by itself what is wrong.
func TestFamilyLost(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     *fakeBinaries
		spoil func(bs []fakeBench)
		fails string
	}{
		{"another order", &fakeBinaries{reversed: "b"}, func([]fakeBench) {}, ""},
		{"the last fails in one setting", &fakeBinaries{}, func(bs []fakeBench) { bs[3].fails, bs[3].in, bs[3].fromN = "too many", "b", 2 }, "Data/set3"},
		{"one panics later", &fakeBinaries{}, func(bs []fakeBench) { bs[1].panics, bs[1].fromN = true, 2 }, "Data/set1"},
		{"the first panics", &fakeBinaries{}, func(bs []fakeBench) { bs[0].panics, bs[0].fromN = true, 2 }, "Data/set0"},
	} {
		for i := range 4 {
			c.f.benches = append(c.f.benches, fakeBench{name: fmt.Sprintf("Data/set%d", i), sec: 1e-4, load: 2})
		}
		c.spoil(c.f.benches)
		e := benchAB()
		e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(15*time.Minute)
		rs, err := runBench(t, c.f, e, func(b *Bencher) { b.Least = 14 })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		blocks, failed := map[string]int{}, ""
		for _, r := range rs {
			for _, b := range r.Benchmarks {
				if blocks[b.Name] += len(b.Launches); b.Err != "" {
					failed += b.Name
				}
			}
		}
		for i := range 4 {
			if name := fmt.Sprintf("Data/set%d", i); name != c.fails && blocks[name] < 20 {
				t.Errorf("%s: %s has %d results", c.name, name, blocks[name])
			}
		}
		if failed != c.fails {
			t.Errorf("%s: failed %q, want %q", c.name, failed, c.fails)
		}
	}
}

// Where there is no time for all, those that take long come in turns.
func TestHeavy(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "Slow1", sec: 1e-3, setUp: 0.4}, {name: "Slow2", sec: 1e-3, setUp: 0.4}}}
	for i := range 10 {
		f.benches = append(f.benches, fakeBench{name: fmt.Sprintf("Quick%d", i), sec: 1e-4})
	}
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(60*time.Second)
	rs, err := runBench(t, f, e, func(b *Bencher) { b.Least = 14 })
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]int{}
	for _, r := range rs {
		for _, b := range r.Benchmarks {
			blocks[b.Name]++
		}
	}
	if blocks["Quick3"] < 2*14 || blocks["Slow1"] < 2 || blocks["Slow1"]-blocks["Slow2"] > 2 || blocks["Slow2"]-blocks["Slow1"] > 2 || blocks["Slow1"] > blocks["Quick3"]/2 {
		t.Errorf("results of each: %v", blocks)
	}
}

func TestTurnsRuntime(t *testing.T) {
	for factor, want := range map[string]bool{
		"rev": false, dyno.BenchFactor: false, dyno.AAFactor: false,
		"go": true, "build": true, "GOGC": true, "GOMEMLIMIT": true, "V": true,
	} {
		e := &dyno.Experiment{Factors: dyno.Factors{{Name: factor, Levels: []string{"a", "b"}}}}
		if got := turnsRuntime(e); got != want {
			t.Errorf("%s: %v", factor, got)
		}
		e.Factors = append(dyno.Factors{{Name: "rev", Levels: []string{"HEAD", "main"}}}, e.Factors...)
		if got := turnsRuntime(e); got != want {
			t.Errorf("rev and %s: %v", factor, got)
		}
	}
	if turnsRuntime(&dyno.Experiment{}) {
		t.Error("nothing differs")
	}
}

// All surveys together take a tenth of the time, and those that cannot be short are left out.
func TestSurveyTime(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "SetUp", sec: 1e-6, setUp: 1}}}
	for i := range 20 {
		f.benches = append(f.benches, fakeBench{name: fmt.Sprintf("Quick%d", i), sec: 1e-6})
	}
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(40*time.Second)
	var first, second time.Time
	rs, err := runBench(t, f, e, func(b *Bencher) {
		b.Least = 14
		b.Watch = func(s Step) {
			if s.Phase == "link" && s.Block == 1 {
				first = time.Now()
			}
			if s.Phase == "link" && s.Block == 2 {
				second = time.Now()
			}
		}
	})
	if took := second.Sub(first); err != nil || took > 9*time.Second {
		t.Errorf("the first block took %v, %v", took, err)
	}
	if s := surveyOf(t, rs, "SetUp"); s.FewN != 0 || s.N != 1 || math.Abs(s.Outside-1) > 0.01 {
		t.Errorf("%+v", s)
	}
	if s := surveyOf(t, rs, "Quick1"); s.FewN == 0 || s.N < 10*s.FewN/2 {
		t.Errorf("%+v", s)
	}
}

// That a binary is slow is no hang, as long as it prints something now and then.
func TestSurveyPatience(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 40}, {name: "B", sec: 40}, {name: "C", sec: 70}}}
	rs, _ := runBench(t, f, benchAB())
	for name, want := range map[string]string{"A": "", "B": "", "C": "it printed nothing for 1m0s and was stopped"} {
		if s := surveyOf(t, rs, name); s.Err != want {
			t.Errorf("%s: %q", name, s.Err)
		}
	}
}
