package gobench

import (
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
		name            string
		in              []*benchmark
		sample          time.Duration
		n               int64
		pairs, launches int  // pairs that the time of a launch is expected to allow
		runtime         bool // the settings differ in more than their source
	}{
		{"quick", []*benchmark{leaf(1e-6), leaf(1e-6)}, 0, 1000, 36, 3, false},
		{"settings that differ: 1 ms for the mean of logarithms", []*benchmark{leaf(1e-6), leaf(4e-6)}, 0, 500, 36, 3, false},
		{"nothing at all", []*benchmark{leaf(0), leaf(0)}, 0, 1e9, 36, 3, false},
		{"asked for", []*benchmark{leaf(1e-6), setsUp(1e-6, 1, 0)}, 10 * time.Millisecond, 10000, 3, 2, false},
		{"asked for, and longer than dyno would", []*benchmark{leaf(1e-3)}, 500 * time.Millisecond, 500, 3, 2, false},
		{"an iteration is a sample", []*benchmark{leaf(0.03), leaf(0.03)}, 0, 1, 4, 2, false},
		{"an iteration is a launch", []*benchmark{leaf(0.5), leaf(0.5)}, 0, 1, 3, 2, false},
		{"slower still", []*benchmark{leaf(0.5), leaf(1.2)}, 0, 1, 1, 1, false},
		{"collects, of which nobody would see more", []*benchmark{collects(1e-6, 10, 0.004), collects(1e-6, 10, 0.004)}, 0, 1000, 36, 3, true},
		{"collects in one setting", []*benchmark{collects(1e-6, 0, 0), collects(1e-6, 0.1, 0.02)}, 0, 1000, 36, 3, true},
		{"collects more in one setting", []*benchmark{collects(1e-4, 10, 0.02), collects(1e-4, 3, 0)}, 0, 500, 3, 2, true},
		{"collects too seldom for a sample", []*benchmark{collects(1e-3, 2, 0.02)}, 0, 250, 3, 2, true},
		{"collects alike", []*benchmark{collects(1e-6, 1, 0.02), collects(1e-6, 1, 0.02)}, 0, 1000, 36, 3, false},
		{"collects alike, and much", []*benchmark{collects(1e-4, 5, 0.12), collects(1e-4, 5, 0.12)}, 0, 300, 4, 2, false},
		{"allocates three times as much", []*benchmark{allocs(collects(1e-4, 3, 0.02), 1000), allocs(collects(1e-4, 9, 0.06), 3000)}, 0, 500, 3, 2, false},
		{"set-up of 5 ms, twice", []*benchmark{leaf(1e-4), setsUp(1e-4, 0.005, 0)}, 0, 100, 8, 2, false},
		{"set-up of 3 ms, beside which one iteration is much", []*benchmark{setsUp(4e-3, 0.003, 0)}, 0, 1, 35, 2, false},
		{"set-up of 1 s", []*benchmark{setsUp(1e-3, 1, 0)}, 0, 250, 3, 2, false},
		{"set-up of 5 ms, timed", []*benchmark{timed(1e-4, 0.005)}, 0, 100, 12, 2, false},
		{"99 % is not timed", []*benchmark{setsUp(1e-6, 0, 99e-6)}, 0, 200, 12, 2, false},
	} {
		p := paceOf(c.in, c.sample, c.runtime)
		turn := 0.0 // of all settings
		for _, l := range c.in {
			turn += 2 * l.wall(p.n)
		}
		pairs := int(p.launch.Seconds()/turn - 0.5 + 1e-4) // but for the first samples
		if p.n != c.n || pairs != c.pairs || p.launches != c.launches {
			t.Errorf("%s: %d iterations, %d pairs, %d launches; want %d, %d, %d", c.name, p.n, pairs, p.launches, c.n, c.pairs, c.launches)
		}
		if most := min(mostPairs, c.pairs*mostPairs); c.launches == 1 && p.pairs != 1 || c.launches > 1 && p.pairs != most {
			t.Errorf("%s: at most %d pairs", c.name, p.pairs)
		}
	}
	if p := paceOf([]*benchmark{leaf(1e-3), leaf(1e-3)}, 0, false); p.launch != 146*time.Millisecond {
		t.Errorf("36 turns of 2 samples in 2 settings, and a first sample of each, all of 1 ms: %v", p.launch)
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
		{name: "SetUp", n: 2352, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "SetUpLoop", n: 2352, sec: 1e-5, fewSec: 1e-5, outside: 0.01},
		{name: "Stops", n: 16000, sec: 1e-6, fewSec: 1e-6},
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

// Linking that takes long is worth more launches, up to a limit.
func TestMoreLaunches(t *testing.T) {
	// 2 launches that take 0.11 s, and 20 ms more for each of 2 processes: 0.3 s.
	one := func() *pairing {
		return &pairing{in: []*benchmark{{}, {}}, pace: pace{launches: 2, launch: 110 * time.Millisecond}}
	}
	for _, c := range []struct {
		linked time.Duration
		open   int
		want   int
	}{
		{0, 1, 1}, {290 * time.Millisecond, 1, 1}, {310 * time.Millisecond, 1, 2}, {460 * time.Millisecond, 1, 3},
		{460 * time.Millisecond, 3, 1}, {910 * time.Millisecond, 3, 2}, {time.Hour, 3, mostMoreLaunches}, {time.Second, 0, mostMoreLaunches},
	} {
		var open []*pairing
		for range c.open {
			open = append(open, one())
		}
		if got := moreLaunches(c.linked, open); got != c.want {
			t.Errorf("%v of linking for %d benchmarks: times %d, want %d", c.linked, c.open, got, c.want)
		}
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

// The survey of a quick benchmark is short.
func TestSurveyTime(t *testing.T) {
	var begun, ended time.Time
	f := &fakeBinaries{benches: []fakeBench{{name: "Plain", sec: 1e-6}}}
	e := benchAB()
	e.Factors[0].Levels = []string{"a"}
	_, err := runBench(t, f, e, func(b *Bencher) {
		b.Watch = func(s Step) {
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
	for name, want := range map[string]string{"A": "", "B": "", "C": "it printed nothing for 1m0s and was stopped"} {
		if s := surveyOf(t, rs, name); s.Err != want {
			t.Errorf("%s: %q", name, s.Err)
		}
	}
}

// On a busy machine a process takes longer to start, which the survey has seen.
func TestMeasuring(t *testing.T) {
	open := []*pairing{{pace: pace{launches: 3, launch: time.Second}, in: []*benchmark{{start: time.Second}, {start: time.Millisecond}}}}
	if got, want := measuring(open), 3*(2*time.Second+processStart); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
