package lab

import (
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

func leaf(sec float64) *benchLeaf { return &benchLeaf{Survey: dyno.Survey{N: 1000, Sec: sec}} }

func TestPaceOf(t *testing.T) {
	collects := func(sec, cycles, frac float64) *benchLeaf {
		l := leaf(sec)
		l.Collections, l.GCFrac = cycles, frac
		return l
	}
	setsUp := func(sec, outside, grows float64) *benchLeaf {
		l := leaf(sec)
		l.Outside, l.grows = outside, grows
		return l
	}
	timed := func(sec, fixed float64) *benchLeaf {
		l := leaf(sec + fixed/1000)
		l.fixed = fixed
		return l
	}
	allocs := func(l *benchLeaf, bytes float64) *benchLeaf {
		l.Bytes = bytes
		return l
	}
	for _, c := range []struct {
		name            string
		in              []*benchLeaf
		sample          time.Duration
		n               int64
		pairs, launches int
		runtime         bool // the settings differ in more than their source
	}{
		{"quick", []*benchLeaf{leaf(1e-6), leaf(1e-6)}, 0, 2000, 12, 2, false},
		{"settings that differ: 2 ms for the mean of logarithms", []*benchLeaf{leaf(1e-6), leaf(4e-6)}, 0, 1000, 12, 2, false},
		{"nothing at all", []*benchLeaf{leaf(0), leaf(0)}, 0, 1e9, 12, 2, false},
		{"asked for", []*benchLeaf{leaf(1e-6), setsUp(1e-6, 1, 0)}, 10 * time.Millisecond, 10000, 3, 2, false},
		{"asked for, and longer than dyno would", []*benchLeaf{leaf(1e-3)}, 500 * time.Millisecond, 500, 3, 2, false},
		{"an iteration is a sample", []*benchLeaf{leaf(0.03), leaf(0.03)}, 0, 1, 8, 2, false},
		{"an iteration is a launch", []*benchLeaf{leaf(0.5), leaf(0.5)}, 0, 1, 3, 2, false},
		{"slower still", []*benchLeaf{leaf(0.5), leaf(1.2)}, 0, 1, 1, 1, false},
		{"collects, of which nobody would see more", []*benchLeaf{collects(1e-6, 10, 0.004), collects(1e-6, 10, 0.004)}, 0, 2000, 12, 2, true},
		{"collects in one setting", []*benchLeaf{collects(1e-6, 0, 0), collects(1e-6, 0.1, 0.02)}, 0, 2000, 12, 2, true},
		{"collects more in one setting", []*benchLeaf{collects(1e-4, 10, 0.02), collects(1e-4, 3, 0)}, 0, 500, 4, 2, true},
		{"collects too seldom for a sample", []*benchLeaf{collects(1e-3, 2, 0.02)}, 0, 250, 3, 2, true},
		{"collects alike", []*benchLeaf{collects(1e-6, 1, 0.02), collects(1e-6, 1, 0.02)}, 0, 2000, 12, 2, false},
		{"collects alike, and much", []*benchLeaf{collects(1e-4, 5, 0.08), collects(1e-4, 5, 0.08)}, 0, 300, 8, 2, false},
		{"allocates three times as much", []*benchLeaf{allocs(collects(1e-4, 3, 0.02), 1000), allocs(collects(1e-4, 9, 0.06), 3000)}, 0, 500, 4, 2, false},
		{"set-up of 5 ms, twice", []*benchLeaf{leaf(1e-4), setsUp(1e-4, 0.005, 0)}, 0, 100, 12, 2, false},
		{"set-up of 1 s", []*benchLeaf{setsUp(1e-3, 1, 0)}, 0, 250, 3, 2, false},
		{"set-up of 5 ms, timed", []*benchLeaf{timed(1e-4, 0.005)}, 0, 100, 12, 2, false},
		{"99 % is not timed", []*benchLeaf{setsUp(1e-6, 0, 99e-6)}, 0, 200, 12, 2, false},
	} {
		p := paceOf(c.in, c.sample, c.runtime)
		if p.n != c.n || p.pairs != c.pairs || p.launches != c.launches {
			t.Errorf("%s: %d iterations, %d pairs, %d launches; want %d, %d, %d", c.name, p.n, p.pairs, p.launches, c.n, c.pairs, c.launches)
		}
	}
	if p := paceOf([]*benchLeaf{leaf(1e-3), leaf(1e-3)}, 0, false); p.launch != 150*time.Millisecond {
		t.Errorf("12 turns of 2 samples in 2 settings, and a first sample of each, all of 1 and 2 ms: %v", p.launch)
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
		{name: "SetUp", n: 2352, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "SetUpLoop", n: 2352, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "Stops", n: 16000, sec: 1e-6, fewSec: 1e-6},
		{name: "Allocs", n: 1000, sec: 1e-4, fewSec: 1e-4, cycles: 250, frac: 2.5},
		{name: "Sub/Allocs", n: 1000, sec: 1e-4, fewSec: 1e-4, cycles: 250, frac: 2.5},
		{name: "Sub/Plain", n: 1000, sec: 1e-4, fewSec: 1e-4},
		{name: "Quarter", n: 4, sec: 0.025, cycles: 5, frac: 0.037}, // forced ones are taken to be as long as others,
		{name: "Leaks", n: 10000, sec: 1e-5, fewSec: 1e-5, leaves: 6},
		{name: "Cold", n: 10000, sec: 1e-5, fewSec: 1e-5},
		{name: "Slow", n: 1, sec: 0.3},
		{name: "Slowest", n: 1, sec: 3},
	} {
		s := surveyOf(t, rs, c.name)
		t.Logf("%+v", s)
		near(c.name, "N", float64(s.N), c.n, 0.35*c.n)
		near(c.name, "time", s.Sec, c.sec, 0.4*c.sec)
		near(c.name, "time with few iterations", s.FewSec, c.fewSec, 0.4*c.fewSec)
		near(c.name, "collections", s.Collections, c.cycles, 0.05*c.cycles)
		near(c.name, "share of collecting", s.GCFrac, c.frac, 0.05*c.frac)
		near(c.name, "what is outside of the timer", s.Outside, c.outside, 1e-3)
		near(c.name, "goroutines", s.Goroutines, c.leaves, 0)
	}
	for _, b := range rs[2].Benchmarks {
		switch want := map[string]int64{"Plain": 2000, "SetUp": 2000, "SetUpLoop": 1000, "Once": 100000, "Stops": 900, "Cold": 200, "Slowest": 1}[b.Name]; {
		case want != 0 && math.Abs(float64(b.N-want)) > 0.1*float64(want):
			t.Errorf("%s has %d iterations a sample, want %d", b.Name, b.N, want)
		case b.Name == "Slowest" && (len(b.Launches) != 1 || len(b.Launches[0]) != 1):
			t.Errorf("%s has %d launches", b.Name, len(b.Launches))
		}
	}
}

// The survey of a quick benchmark is short.
func TestSurveyTime(t *testing.T) {
	var begun, ended time.Time
	f := &fakeBinaries{benches: []fakeBench{{name: "Plain", sec: 1e-6}}}
	e := benchAB()
	e.Factors[0].Levels = []string{"a"}
	_, err := runBench(t, f, e, func(b *Bencher) {
		b.Watch = func(s BenchStep) {
			switch s.Phase {
			case "survey":
				begun = time.Now() // the last time when the first benchmark is measured
			case "link":
				if ended.IsZero() {
					ended = time.Now()
				}
			}
		}
	})
	if took := ended.Sub(begun); err != nil || took > 400*time.Millisecond {
		t.Errorf("%v, %v", took, err)
	}
}

// That a binary is slow is no hang, as long as it prints something now and then.
func TestSurveyPatience(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 40}, {name: "B", sec: 40}, {name: "C", sec: 70}}}
	rs, _ := runBench(t, f, benchAB()) // whose duration the survey takes
	for name, want := range map[string]string{"A": "", "B": "", "C": "it printed nothing for 1m0s and was ended"} {
		if s := surveyOf(t, rs, name); s.Err != want {
			t.Errorf("%s: %q", name, s.Err)
		}
	}
}
