package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// clean is the survey of a benchmark that has no pitfall.
func clean(name string, sec float64) dyno.Survey {
	n := int64(0.1 / sec)
	return dyno.Survey{Package: "p", Name: name, N: n, Sec: sec, FewN: n / 8, FewSec: sec, Source: dyno.BenchSource{File: "p_test.go", Loop: "b.N"}}
}

// surveyedResults makes the results of surveys, the same in both settings.
func surveyedResults(e *dyno.Experiment, subject string, ss ...dyno.Survey) (rs []*dyno.Result) {
	for i, s := range e.Levels() {
		rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: -i, For: dyno.ForSurvey, Setting: s}, Subject: subject, Surveys: slices.Clone(ss)})
	}
	return rs
}

// kindsOf are the kinds and benchmarks of a table's pitfalls.
func kindsOf(t *Table) string {
	var parts []string
	for _, n := range t.Pitfalls {
		parts = append(parts, n.Kind+": "+strings.Join(n.Benchmarks, " "))
	}
	return strings.Join(parts, "; ")
}

// TestPitfallsOfSurveys has each pitfall with what is just not one.
func TestPitfallsOfSurveys(t *testing.T) {
	const ns = 1e-9
	with := func(sec float64, change func(s *dyno.Survey)) []dyno.Survey {
		s := clean("X", sec)
		change(&s)
		return []dyno.Survey{s}
	}
	sizes := func(loop string, secs ...float64) (ss []dyno.Survey) {
		for i, sec := range secs {
			s := clean(fmt.Sprintf("X/size=%d", []int{10, 100, 1000}[i]), sec)
			s.Source.Loop = loop
			ss = append(ss, s)
		}
		return ss
	}
	for _, c := range []struct {
		name string
		ss   []dyno.Survey
		want string
		text string // of the first note
	}{
		{"clean", with(100*ns, func(*dyno.Survey) {}), "", ""},
		{"nothing known", []dyno.Survey{{Package: "p", Name: "X"}}, "", ""},
		{"failed", with(0.1*ns, func(s *dyno.Survey) { s.Err = "panic" }), "", ""},

		{"empty", with(0.3*ns, func(*dyno.Survey) {}), "optimised away: p.X", "0.3 ns an iteration. A loop with nothing in it"},
		{"empty, on a busy machine", with(1.2*ns, func(s *dyno.Survey) { s.FewSec = 0.4 * ns }), "optimised away: p.X", "0.4 ns an iteration"},
		{"empty, and so without other pitfalls", with(0.3*ns, func(s *dyno.Survey) { s.Source.Timed, s.FewSec, s.Outside = "load()", 0.6*ns, 0.5 }), "optimised away: p.X", ""},
		{"the loop itself is removed", with(1e-7*ns, func(s *dyno.Survey) { s.N, s.FewN = 1e9, 125e6 }), "optimised away: p.X", "less than 0.08 ns an iteration. "},
		{"no loop to be removed", with(1e-7*ns, func(s *dyno.Survey) { s.N, s.FewN, s.FewSec, s.Source.Loop = 1e9, 125e6, 15e-7*ns, "" }), "b.N is not the number of iterations: p.X", "less than 0.08 ns an iteration, as no loop takes. "},
		{"short", with(1.1*ns, func(*dyno.Survey) {}), "", ""},

		{"invariant", sizes("b.N", 4*ns, 4.1*ns, 4.2*ns), "invariant to input: p.X/size=10 p.X/size=100 p.X/size=1000", "4 ns with 10 and 4.2 ns with 1000"},
		{"it varies", sizes("b.N", 4*ns, 4.1*ns, 5*ns), "", ""},
		{"long enough to be done", sizes("b.N", 40*ns, 40*ns, 40*ns), "", ""},
		{"kept by b.Loop", sizes("b.Loop", 4*ns, 4*ns, 4*ns), "", ""},
		{"a number that is no size", []dyno.Survey{clean("A/32", 4*ns), clean("A/64", 4*ns)}, "", ""},
		{"several numbers", []dyno.Survey{clean("A/1/x8", 4*ns), clean("A/8/x1", 4*ns)}, "", ""},

		{"dropped", with(5*ns, func(s *dyno.Survey) { s.Source.Dropped = "f(x)" }), "no b.Loop: p.X", "nobody uses the result of f(x), of 5 ns an iteration"},
		{"dropped, but too long to have been removed", with(500*ns, func(s *dyno.Survey) { s.Source.Dropped = "f(x)" }), "", ""},

		{"timed set-up", with(100*ns, func(s *dyno.Survey) {
			s.Source.Timed, s.FewSec = "load()", 200*ns // (200-100) ns / (8/1e6 - 1/1e6)
		}), "set-up inside the timer: p.X", "load() takes some 14 ms once, 57 % of the time of 125000 iterations"},
		{"slower at first, and the source says that nothing is timed", with(100*ns, func(s *dyno.Survey) { s.FewSec = 300 * ns }), "", ""},
		{"a call that takes no time", with(100*ns, func(s *dyno.Survey) { s.Source.Timed, s.FewSec = "load()", 105*ns }), "", ""},
		{"a helper's set-up", with(100*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 300*ns }), "set-up inside the timer: p.X", "something takes"},
		{"noise, where the source is not known", with(100*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 175*ns }), "", ""},

		{"state grows", with(100*ns, func(s *dyno.Survey) { s.FewSec = 20 * ns }), "work depends on b.N: p.X", "20 ns an iteration with b.N of 125000, 100 ns with 1000000"},
		{"b.N is a size", with(100*ns, func(s *dyno.Survey) { s.FewSec, s.Source.NAsSize = 60*ns, "rand.Perm(b.N)" }), "work depends on b.N: p.X", "100 ns with 1000000: rand.Perm(b.N)"},
		{"b.N is a size, and it does not matter", with(100*ns, func(s *dyno.Survey) { s.Source.NAsSize = "make([]int, b.N)" }), "", ""},
		{"a noisy long sample", with(100*ns, func(s *dyno.Survey) { s.FewSec = 35 * ns }), "", ""},
		{"only the long sample collects", with(100*ns, func(s *dyno.Survey) { s.FewSec, s.GCFrac, s.Collections = 45*ns, 0.5, 90 }), "", ""},
		{"no loop", with(0.01*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 0.08*ns }), "b.N is not the number of iterations: p.X", "100 ms with b.N of 1250000000, 100 ms with 10000000000"},

		{"less than any loop", with(0.04*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 0.35*ns }), "b.N is not the number of iterations: p.X", ""},
		{"no loop, and one iteration", with(0.07, func(s *dyno.Survey) { s.N, s.FewN, s.FewSec = 3, 0, 0 }), "", ""},

		{"collected seldom", with(1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.06, 2 }), "GC noise: p.X", "2 collections in 1000 iterations, 6 % of the time"},
		{"collected seldom, and not for long", with(1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.04, 2 }), "", ""},
		{"collected often", with(1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.2, 40 }), "", ""},
		{"collecting is nothing", with(1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.001, 2 }), "", ""},

		{"starts work", with(1e-4, func(s *dyno.Survey) { s.Goroutines = 30000 }), "goroutines left running: p.X", "30000 more after 1000 iterations than before"},
		{"a server is left", with(1e-4, func(s *dyno.Survey) { s.Goroutines = 5 }), "goroutines left running: p.X", "5 more after than before"},
		{"one goroutine", with(1e-4, func(s *dyno.Survey) { s.Goroutines = 1 }), "", ""},

		{"parallel", with(1e-6, func(s *dyno.Survey) { s.Source.Loop = "RunParallel" }), "parallel on one CPU: p.X", "pinned to one CPU"},
		{"slow set-up", with(1e-6, func(s *dyno.Survey) { s.Outside = 0.5 }), "slow set-up: p.X", "500 ms before each sample"},
		{"set-up", with(1e-6, func(s *dyno.Survey) { s.Outside = 0.1 }), "", ""},
	} {
		e := benchExperiment()
		bt := TabulateBenchmarks(e, surveyedResults(e, "go1.26.1", c.ss...))
		if got := kindsOf(bt); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		} else if c.want != "" && !strings.Contains(bt.Pitfalls[0].Text, c.text) {
			t.Errorf("%s: %q, want %q in it", c.name, bt.Pitfalls[0].Text, c.text)
		}
	}
}

func TestPitfallsOfSettings(t *testing.T) {
	e := benchExperiment()
	s := clean("X", 0.3e-9)
	rs := surveyedResults(e, "go1.26.1", s)
	rs[0].Surveys[0] = clean("X", 5e-9)
	if bt := TabulateBenchmarks(e, rs); kindsOf(bt) != "optimised away: p.X" || !strings.Contains(bt.Pitfalls[0].Text, "0.3 ns an iteration in rev=HEAD") {
		t.Errorf("in one setting: %+v", bt.Pitfalls)
	}
	// What a single noisy sample may say must be so in all settings.
	rs[1].Surveys[0] = clean("X", 5e-9)
	rs[1].Surveys[0].FewSec = 1e-9
	if bt := TabulateBenchmarks(e, rs); kindsOf(bt) != "" {
		t.Errorf("grows in one setting: %+v", bt.Pitfalls)
	}
	dropped := clean("X", 5e-9)
	dropped.Source.Dropped = "f()"
	if bt := TabulateBenchmarks(e, surveyedResults(e, "go1.23.4", dropped)); kindsOf(bt) != "" {
		t.Errorf("Go 1.23 has no b.Loop: %+v", bt.Pitfalls)
	}
	e.Bench.CPUs = 2
	parallel := clean("X", 0.5e-9)
	parallel.Source.Loop = "RunParallel"
	if bt := TabulateBenchmarks(e, surveyedResults(e, "", parallel)); kindsOf(bt) != "" {
		t.Errorf("parallel on two CPUs: %+v", bt.Pitfalls)
	}
	for _, c := range []struct {
		levels []string
		loop   string
		want   string
	}{
		{[]string{"1.25.7", "1.26.1"}, "b.Loop", "b.Loop before and after Go 1.26: p.X"},
		{[]string{"go1.26.0", "go1.24.1"}, "b.Loop", "b.Loop before and after Go 1.26: p.X"},
		{[]string{"1.25.7", "1.27rc1"}, "b.Loop", "b.Loop before and after Go 1.26: p.X"},
		{[]string{"1.26.1", "1.27.0"}, "b.Loop", ""},
		{[]string{"1.25.7", "1.26.1"}, "b.N", ""},
	} {
		e := benchExperiment()
		e.Factors = dyno.Factors{{Name: "go", Levels: c.levels}}
		s := clean("X", 1e-6)
		s.Source.Loop = c.loop
		if got := kindsOf(TabulateBenchmarks(e, surveyedResults(e, "", s))); got != c.want {
			t.Errorf("%v, %s: %q, want %q", c.levels, c.loop, got, c.want)
		}
	}
}

// TestPitfallsEmptyOnce: a busy machine makes an empty loop slow, in most blocks or all
// but one.
func TestPitfallsEmptyOnce(t *testing.T) {
	e := benchExperiment()
	rs := benchResults(e, 14, map[string]aMetric{"sec/op": func(block, _ int) float64 {
		if block == 3 {
			return 0.3e-9
		}
		return 1.4e-9
	}})
	for _, r := range rs {
		r.Benchmarks[0].N = 1e6
	}
	bt := TabulateBenchmarks(e, append(surveyedResults(e, "", clean("X", 1.5e-9)), rs...))
	if kindsOf(bt) != "optimised away: p.X" || !strings.HasPrefix(bt.Pitfalls[0].Text, "0.3 ns an iteration. ") {
		t.Errorf("%+v", bt.Pitfalls)
	}
}

func TestPitfallsFold(t *testing.T) {
	e := benchExperiment()
	var ss []dyno.Survey
	for i := range 9 {
		ss = append(ss, clean(string(rune('A'+i)), (0.30+0.01*float64(i))*1e-9))
	}
	bt := TabulateBenchmarks(e, surveyedResults(e, "", ss...))
	if len(bt.Pitfalls) != 1 || len(bt.Pitfalls[0].Benchmarks) != 9 {
		t.Fatalf("%+v", bt.Pitfalls)
	}
	want := "A: 0.3 ns an iteration; B: 0.31 ns an iteration; C: 0.32 ns an iteration; D: 0.33 ns an iteration; E: 0.34 ns an iteration; F: 0.35 ns an iteration; and 3 more. "
	if text := bt.Pitfalls[0].Text; !strings.HasPrefix(text, want) || !strings.Contains(text, "(consider: ") {
		t.Errorf("%q", text)
	}
	for i := range ss { // the last is not as the others
		ss[i].Sec, ss[i].FewSec = 0.3e-9, 0.3e-9
	}
	ss[8].Package, ss[8].Sec = "example.com/q", 0.4e-9
	ss[8].FewSec = ss[8].Sec
	want = "p.A, p.B, p.C, p.D, 4 more: 0.3 ns an iteration; q.I: 0.4 ns an iteration. "
	if text := TabulateBenchmarks(e, surveyedResults(e, "", ss...)).Pitfalls[0].Text; !strings.HasPrefix(text, want) {
		t.Errorf("alike: %q", text)
	}
	want = "0.3 ns an iteration. "
	if text := TabulateBenchmarks(e, surveyedResults(e, "", ss[:8]...)).Pitfalls[0].Text; !strings.HasPrefix(text, want) {
		t.Errorf("all alike: %q", text)
	}
}

// noisyBlocks are blocks of two launches whose log ratios deviate by so much between
// launches, and by so much between samples.
func noisyBlocks(e *dyno.Experiment, blocks int, n int64, sec, launches, samples float64, each int) []*dyno.Result {
	rng := rand.New(rand.NewPCG(1, 2))
	rs := benchResults(e, blocks, map[string]aMetric{"sec/op": fixed(sec, sec)})
	for _, r := range rs {
		b := &r.Benchmarks[0]
		b.N = n
		for l := range b.Launches {
			at := 0.0
			if r.Trial.Setting[0].Value == "HEAD" {
				at = launches * rng.NormFloat64()
			}
			var xs []float64
			for range each {
				xs = append(xs, sec*(1+at)*(1+samples*rng.NormFloat64()))
			}
			b.Launches[l] = launch(xs...)
		}
	}
	return rs
}

func TestPitfallsOfSamples(t *testing.T) {
	for _, c := range []struct {
		name              string
		n                 int64
		sec               float64
		launches, samples float64
		each              int
		change            func(s *dyno.Survey)
		want              string
	}{
		{"clean", 2000, 1e-6, 0.005, 0.02, 12, nil, ""},
		{"launches differ", 2000, 1e-6, 0.06, 0.02, 12, nil, "memory-bound or layout noise: p.X"},
		{"launches differ as their samples explain", 2000, 1e-6, 0, 0.06, 12, nil, ""},
		{"launches differ little", 2000, 1e-6, 0.015, 0.001, 12, nil, ""},
		{"a noisy machine", 2000, 1e-6, 0, 0.2, 12, nil, "noisy machine: p.X"},
		{"samples of 2 µs", 2, 1e-6, 0, 0.01, 12, nil, "samples too short: p.X"},
		{"single iterations", 1, 0.2, 0, 0.01, 5, nil, "too few iterations: p.X"},
		{"single iterations, many of them", 1, 0.003, 0, 0.01, 12, nil, ""},
		{"no collection in most samples", 100, 1e-4, 0, 0.01, 12, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.1, 5 }, "GC left out: p.X"},
		{"lengthened until there is", 300, 1e-4, 0, 0.01, 12, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.1, 5 }, ""},
		{"slower than its survey, and all of them are", 2000, 1.4e-6, 0, 0.01, 12, func(s *dyno.Survey) {
			*s = clean("X", 1e-6)
			s.Source.Timed = "load()"
		}, ""},
		{"a set-up that noise makes, as turns do not have it", 2000, 1e-6, 0, 0.01, 12, func(s *dyno.Survey) {
			s.Source.Timed, s.FewSec = "load()", 1.5e-6
		}, ""},
		{"a set-up that turns have too", 2000, 5e-6, 0, 0.01, 12, func(s *dyno.Survey) {
			*s = clean("X", 1e-6)
			s.Source.Timed, s.FewSec = "load()", 1.6e-6
		}, "set-up inside the timer: p.X"},
		{"a turn of an empty loop", 2000000, 0.4e-9, 0, 0.01, 12, func(s *dyno.Survey) { *s = clean("X", 1.5e-9) }, "optimised away: p.X"},
		{"not removed, as its blocks tell", 2000000, 1.2e-9, 0, 0.001, 12, func(s *dyno.Survey) { *s = clean("X", 1.5e-9) }, ""},
		{"a result that nobody uses, of a call that a busy machine made slow", 200000, 5e-9, 0, 0.01, 12, func(s *dyno.Survey) {
			*s = clean("X", 60e-9)
			s.Source.Dropped = "f(x)"
		}, "no b.Loop: p.X"},
		{"no loop, as turns tell", 2000, 1e-6, 0, 0.01, 12, func(s *dyno.Survey) {
			*s = clean("X", 35e-9)
			s.N, s.FewN, s.FewSec, s.Source.Loop = 100_000, 0, 0, ""
		}, "b.N is not the number of iterations: p.X"},
		{"a loop that is not seen", 2000, 1e-6, 0, 0.01, 12, func(s *dyno.Survey) { s.Source.Loop = "" }, ""},
		{"set-up that only short samples show", 2000, 2e-6, 0, 0.01, 12, func(s *dyno.Survey) {
			*s = clean("X", 1e-6)
			s.Source.Timed = "load()"
		}, "set-up inside the timer: p.X"},
	} {
		e := benchExperiment()
		s := clean("X", c.sec)
		if c.change != nil {
			c.change(&s)
		}
		rs := append(surveyedResults(e, "", s), noisyBlocks(e, 14, c.n, c.sec, c.launches, c.samples, c.each)...)
		bt := TabulateBenchmarks(e, rs)
		if got := kindsOf(bt); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, n := range bt.Pitfalls {
			t.Logf("%s: %s: %s", c.name, n.Kind, n.Text)
		}
	}
}

// TestPitfallsGrowthOfTurns: where long samples take longer for an iteration than turns
// do, the machine may be shared. It is not the machine where other benchmarks do not.
func TestPitfallsGrowthOfTurns(t *testing.T) {
	for _, c := range []struct {
		name   string
		others float64 // time of a long sample's iteration over that of a turn's
		grows  float64
		want   string
	}{
		{"one grows", 1, 20, "work depends on b.N: p.X"},
		{"a shared CPU", 15, 20, ""},
		{"a noisy sample", 1, 4, ""},
	} {
		e := benchExperiment()
		blocks := noisyBlocks(e, 4, 1000, 1e-6, 0, 0.01, 12)
		x := clean("X", c.grows*1e-6)
		x.N, x.FewN, x.FewSec = 100_000, 12_500, x.Sec/3
		ss := []dyno.Survey{x}
		for _, name := range []string{"A", "B", "C"} {
			ss = append(ss, clean(name, c.others*1e-6))
			for _, r := range blocks {
				b := r.Benchmarks[0]
				b.Name = name
				r.Benchmarks = append(r.Benchmarks, b)
			}
		}
		if got := kindsOf(TabulateBenchmarks(e, append(surveyedResults(e, "", ss...), blocks...))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
