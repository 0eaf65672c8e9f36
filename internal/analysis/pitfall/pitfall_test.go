package pitfall

import (
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

const ns = 1e-9

// clean is the survey of a benchmark that has no pitfall.
func clean(sec float64) dyno.Survey {
	n := int64(0.1 / sec)
	return dyno.Survey{N: n, Sec: sec, FewN: n / 8, FewSec: sec, Source: dyno.BenchSource{File: "p_test.go", Loop: "b.N"}}
}

// twice is a benchmark with the same survey in two settings.
func twice(s dyno.Survey) Benchmark {
	return Benchmark{Package: "p", Name: "X", Settings: []Setting{{Survey: &s, Go: 26}, {Survey: &s, Go: 26}}}
}

func kinds(found []Found) string {
	var parts []string
	for _, f := range found {
		parts = append(parts, string(f.Kind))
	}
	return strings.Join(parts, "; ")
}

// TestFindInSurveys has each pitfall beside what is just not one.
func TestFindInSurveys(t *testing.T) {
	with := func(sec float64, change func(s *dyno.Survey)) dyno.Survey {
		s := clean(sec)
		change(&s)
		return s
	}
	for _, c := range []struct {
		name string
		s    dyno.Survey
		want Kind
		is   Found // its figures, rounded
	}{
		{"clean", clean(100 * ns), "", Found{}},
		{"nothing known", dyno.Survey{}, "", Found{}},
		{"failed", with(0.1*ns, func(s *dyno.Survey) { s.Err = "panic" }), "", Found{}},

		{"empty", clean(0.3 * ns), Empty, Found{Sec: 0.3 * ns}},
		{"empty, on a busy machine", with(1.2*ns, func(s *dyno.Survey) { s.FewSec = 0.4 * ns }), Empty, Found{Sec: 0.4 * ns}},
		{"empty, and so without other pitfalls", with(0.3*ns, func(s *dyno.Survey) { s.Source.Timed, s.FewSec, s.Goroutines = "load()", 0.6*ns, 50 }), Empty, Found{Sec: 0.3 * ns}},
		{"the loop itself is removed", with(1e-7*ns, func(s *dyno.Survey) { s.N, s.FewN = 1e9, 125e6 }), Empty, Found{Sec: 1e-7 * ns}},
		{"short", clean(1.1 * ns), "", Found{}},
		{"parallel on many CPUs", with(0.5*ns, func(s *dyno.Survey) { s.Source.Loop = "RunParallel" }), Empty, Found{Sec: 0.5 * ns}}, // here on one

		{"no loop", with(1e-7*ns, func(s *dyno.Survey) { s.Source.Loop = dyno.NoLoop }), Constant, Found{}},
		{"no loop that is seen", with(10e-6, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 11e-6 }), "", Found{}},

		{"state grows", with(100*ns, func(s *dyno.Survey) { s.FewSec = 20 * ns }), Grows, Found{Sec: 100 * ns, N: 1e6, FewSec: 20 * ns, FewN: 125e3}},
		{"a noisy long sample", with(100*ns, func(s *dyno.Survey) { s.FewSec = 35 * ns }), "", Found{}},
		{"only the long sample collects", with(100*ns, func(s *dyno.Survey) { s.FewSec, s.GCFrac, s.Collections = 20*ns, 0.5, 90 }), "", Found{}},

		{"timed set-up", with(100*ns, func(s *dyno.Survey) {
			s.Source.Timed, s.FewSec = "load()", 170*ns // (170-100) ns / (8/1e6 - 1/1e6) = 10 ms
		}), SetUp, Found{Call: "load()", Once: 10e-3, FewN: 125e3}},
		{"slower at first, and the source says that nothing is timed", with(100*ns, func(s *dyno.Survey) { s.FewSec = 300 * ns }), "", Found{}},
		{"a call that takes no time", with(100*ns, func(s *dyno.Survey) { s.Source.Timed, s.FewSec = "load()", 105*ns }), "", Found{}},
		{"set-up that the source does not show", with(100*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 240*ns }), SetUp, Found{Once: 20e-3, FewN: 125e3}},
		{"noise, where the source is not known", with(100*ns, func(s *dyno.Survey) { s.Source.Loop, s.FewSec = "", 175*ns }), "", Found{}},

		{"starts work", with(1e-4, func(s *dyno.Survey) { s.Goroutines = 30000 }), Goroutines, Found{Count: 30000, N: 1000}},
		{"one goroutine", with(1e-4, func(s *dyno.Survey) { s.Goroutines = 1 }), "", Found{}},
		{"parallel", with(1e-6, func(s *dyno.Survey) { s.Source.Loop = "RunParallel" }), Parallel, Found{}},
	} {
		found := Find([]Benchmark{twice(c.s)}, 1)
		if got := kinds(found); got != string(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for _, f := range found {
			c.is.Kind, c.is.Package, c.is.Name, c.is.Setting, c.is.Share = c.want, "p", "X", -1, f.Share
			if off := f.Once - c.is.Once; off < 1e-3 && off > -1e-3 {
				f.Once = c.is.Once
			}
			if f != c.is {
				t.Errorf("%s:\n got %+v\nwant %+v", c.name, f, c.is)
			}
		}
	}
	parallel := clean(0.5 * ns)
	parallel.Source.Loop = "RunParallel"
	if got := kinds(Find([]Benchmark{twice(parallel)}, 2)); got != "" {
		t.Errorf("parallel on two CPUs: %q", got)
	}
}

// TestFindInSettings: what one noisy sample may show has to be so in all settings, and
// what is so in some only says in which.
func TestFindInSettings(t *testing.T) {
	fast, slow, odd, failed := clean(5*ns), clean(0.3*ns), clean(5*ns), clean(5*ns)
	odd.FewSec, failed.Err = 1*ns, "boom"
	for _, c := range []struct {
		name string
		in   []*dyno.Survey
		want string
		at   int
	}{
		{"empty in one", []*dyno.Survey{&fast, &slow}, "optimised away", 1},
		{"empty where it did not fail", []*dyno.Survey{&failed, &slow}, "optimised away", -1},
		{"not surveyed", []*dyno.Survey{nil, nil}, "", 0},
		{"grows in one", []*dyno.Survey{&odd, &fast}, "", 0},
		{"grows in both", []*dyno.Survey{&odd, &odd}, "work depends on b.N", -1},
	} {
		b := Benchmark{}
		for _, s := range c.in {
			b.Settings = append(b.Settings, Setting{Survey: s})
		}
		found := Find([]Benchmark{b}, 1)
		if got := kinds(found); got != c.want || got != "" && found[0].Setting != c.at {
			t.Errorf("%s: %+v, want %q in %d", c.name, found, c.want, c.at)
		}
	}
	for _, c := range []struct {
		base, now int
		loop      string
		want      string
	}{
		{25, 26, "b.Loop", "b.Loop before and after Go 1.26"},
		{26, 24, "b.Loop", "b.Loop before and after Go 1.26"},
		{26, 27, "b.Loop", ""},
		{0, 26, "b.Loop", ""},
		{25, 26, "b.N", ""},
	} {
		s := clean(1e-6)
		s.Source.Loop = c.loop
		found := Find([]Benchmark{{Settings: []Setting{{Survey: &s, Go: c.base}, {Survey: &s, Go: c.now}}}}, 1)
		if got := kinds(found); got != c.want || got != "" && (found[0].Setting != 1 || found[0].Go != c.now || found[0].BaseGo != c.base) {
			t.Errorf("%+v: %+v", c, found)
		}
	}
}

// TestFindInTurns has what turns tell beside the survey.
func TestFindInTurns(t *testing.T) {
	timed := func(s *dyno.Survey) { s.Source.Timed = "load()" }
	for _, c := range []struct {
		name    string
		n       int64
		turn    float64
		fastest float64
		survey  float64
		change  func(s *dyno.Survey)
		others  float64 // time of an iteration of three more benchmarks, whose survey has 1 µs; 0 for none
		want    string
	}{
		{"clean", 2000, 1e-6, 1e-6, 1e-6, timed, 0, ""},
		{"an empty loop, in all blocks but one of a busy machine", 1e6, 1.4e-9, 0.3e-9, 1.5e-9, nil, 0, "optimised away"},
		{"not removed", 2e6, 1.2e-9, 1.2e-9, 1.5e-9, nil, 0, ""},
		{"too few iterations for that", 2, 0.3e-9, 0.3e-9, 1.5e-9, nil, 0, ""},
		{"no collection in most samples", 100, 1e-4, 1e-4, 1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.1, 5 }, 0, "GC left out"},
		{"lengthened until there is", 300, 1e-4, 1e-4, 1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.1, 5 }, 0, ""},
		{"collecting is nothing", 100, 1e-4, 1e-4, 1e-4, func(s *dyno.Survey) { s.GCFrac, s.Collections = 0.001, 2 }, 0, ""},
		{"grows", 100, 1e-6, 1e-6, 20e-6, nil, 1e-6, "work depends on b.N"},
		{"grows, with nothing to hold it against", 100, 1e-6, 1e-6, 20e-6, nil, 0, ""},
		{"a shared CPU", 100, 1e-6, 1e-6, 20e-6, nil, 0.07e-6, ""},
		{"a noisy sample", 100, 1e-6, 1e-6, 4e-6, nil, 1e-6, ""},
		{"slower than its survey", 2000, 1.4e-6, 1.4e-6, 1e-6, timed, 0, ""},
		{"a set-up that only turns show", 2000, 2e-6, 2e-6, 1e-6, timed, 0, "set-up inside the timer"},
		{"the same, and others are not slower", 2000, 1.4e-6, 1.4e-6, 1e-6, timed, 1e-6, "set-up inside the timer"},
		{"all are slower", 2000, 2e-6, 2e-6, 1e-6, timed, 2e-6, ""},
		{"nothing is timed", 2000, 2e-6, 2e-6, 1e-6, nil, 0, ""},
		{"a set-up that noise makes, as turns do not have it", 2000, 1e-6, 1e-6, 1e-6, func(s *dyno.Survey) { timed(s); s.FewSec = 1.5e-6 }, 0, ""},
		{"a set-up that turns have too", 2000, 5e-6, 5e-6, 1e-6, func(s *dyno.Survey) { timed(s); s.FewSec = 1.6e-6 }, 0, "set-up inside the timer"},
	} {
		s, other := clean(c.survey), clean(1e-6)
		if c.change != nil {
			c.change(&s)
		}
		all := []Benchmark{twice(s)}
		if c.others > 0 {
			all = append(all, twice(other), twice(other), twice(other))
		}
		for i := range all {
			all[i].N = c.n
			for k := range all[i].Settings {
				of := &all[i].Settings[k]
				of.Turn, of.Fastest = c.others, c.others
				if i == 0 {
					of.Turn, of.Fastest = c.turn, c.fastest
				}
			}
		}
		if got := kinds(Find(all, 1)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestKinds: each rule has a kind of its own that reports know.
func TestKinds(t *testing.T) {
	for _, r := range rules {
		if !slices.Contains(Kinds, r.kind) {
			t.Errorf("%q is not in Kinds", r.kind)
		}
	}
	if len(rules) != len(Kinds) {
		t.Errorf("%d rules, %d kinds", len(rules), len(Kinds))
	}
}
