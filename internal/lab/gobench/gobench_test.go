package gobench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
)

// benchAB compares two levels of a variable.
func benchAB() *dyno.Experiment {
	return &dyno.Experiment{Seed: new(uint64(1)), Factors: dyno.Factors{{Name: "V", Levels: []string{"a", "b"}}}, Bench: &dyno.Bench{Blocks: 3}}
}

// runBench runs an experiment with simulated binaries.
func runBench(t *testing.T, f *fakeBinaries, e *dyno.Experiment, change ...func(*Bencher)) (rs []*dyno.Result, err error) {
	t.Helper()
	if err := check.Experiment(e); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := f.bencher()
		for _, c := range change {
			c(b)
		}
		_, err = b.Run(t.Context(), e, func(r *dyno.Result) error { rs = append(rs, r); return nil })
	})
	return rs, err
}

// samplesOf counts the samples of each launch.
func samplesOf(b dyno.Benchmark) (ns []int) {
	for _, l := range b.Launches {
		ns = append(ns, len(l))
	}
	return ns
}

func surveyOf(t *testing.T, rs []*dyno.Result, name string) dyno.Survey {
	t.Helper()
	for _, r := range rs {
		for _, s := range r.Surveys {
			if s.Printed == name {
				return s
			}
		}
	}
	t.Fatalf("no survey of %s", name)
	return dyno.Survey{}
}

func TestBencherRun(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{
		{name: "Fast", sec: 1e-6, slower: map[string]float64{"b": 0.5}},
		{name: "Sub/n-4", sec: 1e-4},
	}}
	rs, err := runBench(t, f, benchAB())
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 2+2*3 || rs[0].Trial.For != dyno.ForSurvey || rs[1].Trial.For != dyno.ForSurvey {
		t.Fatalf("%d results", len(rs))
	}
	for i, r := range rs {
		if r.Trial.N != i+1 || r.Err != "" || len(r.Warnings) > 0 || r.Subject != "go1.26 abc" {
			t.Errorf("result %d: it is trial %d, of %q: %q, %q", i, r.Trial.N, r.Subject, r.Err, r.Warnings)
		}
	}
	a, b := rs[6], rs[7] // of the last block
	if a.Trial.Block != 3 || a.Trial.Setting.String() != "V=a" || b.Trial.Setting.String() != "V=b" || a.Elapsed != b.Elapsed || a.Elapsed < time.Second {
		t.Errorf("block %d, %v and %v, %v and %v", a.Trial.Block, a.Trial.Setting, b.Trial.Setting, a.Elapsed, b.Elapsed)
	}
	// A block takes 1 s to link, two at a time. A launch has 36 pairs and a first sample:
	// 146 samples of 1 ms, and 36 ms to stop and go on. A launch of two
	// benchmarks is 0.4 s; another would be more than worthLinking as long as linking.
	const launches = 1
	for i, name := range []string{"Fast", "Sub/n-4"} {
		x, y := a.Benchmarks[i], b.Benchmarks[i]
		if x.Name != name || y.Name != name || x.N != y.N || !slices.Equal(samplesOf(x), slices.Repeat([]int{mostPairs}, launches)) || !slices.Equal(samplesOf(x), samplesOf(y)) {
			t.Fatalf("%s of %d iterations has samples %v, and %s of %d has %v", x.Name, x.N, samplesOf(x), y.Name, y.N, samplesOf(y))
		}
		for j := range x.Launches[0] { // pairs took their turns beside each other
			p, _ := x.Launches[0][j].Get("turns")
			q, _ := y.Launches[0][j].Get("turns")
			if p != q || int(p) != j+1 {
				t.Errorf("sample %d is of turns %v and %v", j, p, q)
			}
		}
	}
	p, _ := a.Benchmarks[0].Launches[0][0].Get("sec/op")
	q, _ := b.Benchmarks[0].Launches[0][0].Get("sec/op")
	if fmt.Sprintf("%.4g %.4g", p, q) != "1e-06 1.5e-06" {
		t.Errorf("%v and %v s", p, q)
	}
	if len(f.seeds) != 3 || slices.Contains(f.seeds, 0) {
		t.Errorf("layouts: %v", f.seeds)
	}
	if f.most != 1 || !slices.Equal(f.cpus, []int{1}) {
		t.Errorf("%d benchmarks at the same time, on CPUs %v", f.most, f.cpus)
	}
}

// Each setting begins as often as another, every other pair is mirrored, and the
// seed decides.
func TestBencherOrder(t *testing.T) {
	orders := map[uint64][]string{}
	for _, seed := range []uint64{1, 1, 2} {
		f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 1e-6}, {name: "B", sec: 1e-6}, {name: "C", sec: 1e-6}}}
		e := benchAB()
		e.Seed, e.Bench.Blocks = &seed, 5
		e.Factors[0].Levels = []string{"a", "b", "c"}
		if _, err := runBench(t, f, e); err != nil {
			t.Fatal(err)
		}
		if f.mostLinks != 2 {
			t.Errorf("%d links of 3 at the same time", f.mostLinks)
		}
		if before, ok := orders[seed]; ok && !slices.Equal(before, f.log) {
			t.Errorf("seed %d has two orders", seed)
		}
		orders[seed] = f.log
	}
	if slices.Equal(orders[1], orders[2]) {
		t.Error("two seeds have one order")
	}
	begins := map[string]int{}
	benches := map[string]int{} // by which benchmark was first in a block
	couples := slices.Collect(slices.Chunk(orders[1], 6))
	for i, couple := range couples {
		back := slices.Clone(couple[3:])
		slices.Reverse(back)
		if !slices.Equal(couple[:3], back) {
			t.Fatalf("turns %v are not mirrored", couple)
		}
		begins[couple[0][:1]]++
		if i%(len(couples)/5) == 0 { // blocks are equally long
			benches[couple[0][2:]]++
		}
	}
	// 3 benchmarks, 5 blocks, 2 launches, 16 couples in 0.25 s: 480 draws of 3, whose counts have a
	// standard deviation of √(480·⅓·⅔) < 11.
	const draws = 3 * 5 * 2 * 16
	if len(couples) != draws || len(begins) != 3 || min(begins["a"], begins["b"], begins["c"]) < draws/3-4*11 {
		t.Errorf("%d couples begin: %v", len(couples), begins)
	}
	if len(benches) < 2 {
		t.Errorf("first of a block: %v", benches)
	}
}

// A launch that takes longer than was expected ends early, in all settings alike.
func TestBencherSlowLaunch(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{
		{name: "Expected", sec: 1e-3},
		{name: "Slow", sec: 1e-3, drags: map[string]float64{"b": 0.05}},
		{name: "Slower", sec: 1e-3, drags: map[string]float64{"a": 0.1, "b": 1}},
	}}
	rs, err := runBench(t, f, benchAB())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"Expected": mostPairs,   // 4 ms each
		"Slow":     3,           // 2 samples of 1 ms and two of 51 ms: after 2 pairs there are 0.21 s
		"Slower":   fewestPairs, // 2.2 s each
	}
	for _, r := range rs[2:] {
		for _, b := range r.Benchmarks {
			for _, n := range samplesOf(b) {
				if n != want[b.Name] {
					t.Errorf("%s has %d pairs in %s, want %d", b.Name, n, r.Trial.Setting, want[b.Name])
				}
			}
		}
	}
}

func TestBencherFailures(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{
		{name: "Good", sec: 1e-6},
		{name: "Fails", sec: 1e-6, fails: "want 1, got 2", in: "b"},
		{name: "Skips", skips: true},
		{name: "Panics", sec: 1e-6, panics: true},
		{name: "Hangs", sec: 1e-6, hangs: true},
		{name: "Late", sec: 1e-6, fails: "too many", fromN: 500, in: "a"},
		{name: "Dies", sec: 1e-6, dies: map[string]int{"b": 2}},
		{name: "Stuck", sec: 1e-6, stuck: map[string]int{"a": 1}},
		{name: "Talks", sec: 1e-6, noValues: true},
		{name: "Last/x.y|(z", sec: 1e-6},
	}}
	var asked []string
	e := benchAB()
	e.Bench.Blocks = 0
	rs, err := runBench(t, f, e, func(b *Bencher) {
		b.Open = func(block int) func(pkg, name string) (bool, int) {
			return func(pkg, name string) (bool, int) { asked = append(asked, name); return block < 4, 0 }
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Fails": "x_test.go:7: want 1, got 2", "Skips": "skipped: x_test.go:5: not here",
		"Panics": "benchmark ended: exit status 2; its last lines:\npanic: Panics",
		"Hangs":  "it printed nothing for 1m0s and was stopped", "Late": "benchmark failed:\n--- FAIL: BenchmarkLate\n    x_test.go:7: too many\n",
	} {
		s := surveyOf(t, rs, name)
		if name == "Fails" { // in the other setting only
			s = surveyOf(t, rs[1:], name)
		}
		if s.Err != want {
			t.Errorf("%s: %q, want %q", name, s.Err, want)
		}
	}
	var got []string
	for _, r := range rs[2:] {
		var has []string
		for _, b := range r.Benchmarks {
			text := fmt.Sprintf("%s %d", b.Name, len(b.Launches))
			if b.Err != "" {
				text += " " + b.Err
			}
			has = append(has, text)
		}
		got = append(got, strings.Join(has, "; "))
	}
	want := []string{
		`Good 1; Dies 1; Stuck 0 it was stopped after 13.643s, but should take 182ms by its survey; Talks 0; Last/x.y|(z 1`,
		`Good 1; Dies 1; Stuck 0; Talks 0; Last/x.y|(z 1`,
		`Good 1; Dies 0; Last/x.y|(z 1`, `Good 1; Dies 0 benchmark ended: signal: killed; Last/x.y|(z 1`,
		`Good 2; Last/x.y|(z 2`, `Good 2; Last/x.y|(z 2`, `Good 2; Last/x.y|(z 2`, `Good 2; Last/x.y|(z 2`,
	}
	for i := range want {
		g := strings.ReplaceAll(got[i], " read the result of a benchmark: it has no values", "")
		if g != want[i] {
			t.Errorf("result %d:\n%s\nwant:\n%s", i, g, want[i])
		}
	}
	if len(got) != len(want) || len(f.running) != 0 || slices.Contains(asked, "Stuck") {
		t.Errorf("%d results, still running: %v", len(got), f.running)
	}
}

func TestBencherAllFail(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "Bad", fails: "no"}}}
	rs, err := runBench(t, f, benchAB())
	if err == nil || !strings.Contains(err.Error(), "Bad under V=a: x_test.go:7: no") || len(rs) != 2 {
		t.Errorf("%d results, %v", len(rs), err)
	}
}

// What is not in every setting is left out, and said.
func TestBencherOneSided(t *testing.T) {
	f := &fakeBinaries{
		packages: map[string][]string{"a": {"x", "old"}, "b": {"x", "new"}},
		benches:  []fakeBench{{name: "Both", sec: 1e-6}, {name: "Old", sec: 1e-6, only: "a"}, {name: "New", sec: 1e-6, only: "b"}},
	}
	rs, err := runBench(t, f, benchAB())
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, r := range rs {
		notes = append(notes, r.Warnings.Texts()...)
	}
	want := []string{
		"package old is left out: it has tests in 1 of 2 settings", "left out, because not every setting has them: Old",
		"package new is left out: it has tests in 1 of 2 settings", "left out, because not every setting has them: New",
	}
	if !slices.Equal(notes, want) || len(rs[2].Benchmarks) != 1 || len(rs[0].Surveys) != 1 {
		t.Errorf("%q, %d benchmarks, %d surveys", notes, len(rs[2].Benchmarks), len(rs[0].Surveys))
	}

	f.broken = map[string]string{"x": "build the tests of x: x_test.go:1: syntax error"} // as subject says it
	_, err = runBench(t, f, benchAB())
	if err == nil || err.Error() != "under V=b: build the tests of x: x_test.go:1: syntax error" {
		t.Error(err)
	}
}

func TestBencherPairs(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{
		{name: "Pipeline1", sec: 1e-6}, {name: "Pipeline2", sec: 2e-6}, {name: "Sort/variant=a/n=1", sec: 1e-6}, {name: "Pipeline1/more", sec: 1e-6},
	}}
	e := &dyno.Experiment{Factors: dyno.Factors{{Name: dyno.BenchFactor, Levels: []string{"BenchmarkPipeline1", "Pipeline2"}}}, Bench: &dyno.Bench{Blocks: 1}}
	f.benches = f.benches[:3]
	rs, err := runBench(t, f, e)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Pipeline1", "Pipeline2"} {
		if s := rs[i].Surveys; len(s) != 1 || s[0].Printed != want || s[0].Name != "*" || rs[2+i].Benchmarks[0].Name != "*" {
			t.Errorf("setting %d has %d surveys, not one of %s that is *", i, len(s), want)
		}
	}
	if rs[2].Benchmarks[0].N != rs[3].Benchmarks[0].N {
		t.Error("settings have different numbers of iterations")
	}
	e.Factors[0].Levels[1] = "Pipeline3"
	_, err = runBench(t, f, e)
	var mistake *dyno.PlanError
	if !errors.As(err, &mistake) || mistake.Error() != `no benchmark has "Pipeline3" as an element of its name (there are Pipeline1, Pipeline2, Sort/variant=a/n=1)` {
		t.Error(err)
	}
	for _, c := range []struct{ name, level, want string }{
		{"Sort/variant=slow/n=1", "variant=slow", "Sort/*/n=1"}, {"Sort/variant=slower", "variant=slow", ""},
		{"Pipeline1/x", "BenchmarkPipeline1", "*/x"}, {"A/b/c", "b/c", "A/*"}, {"A", "b/c", ""},
	} {
		if got, ok := starred(c.name, c.level); got != c.want || ok != (c.want != "") {
			t.Errorf("%s with %s: %q", c.name, c.level, got)
		}
	}
}

// What is said where nothing can be compared, and who is to blame.
func TestBencherNothing(t *testing.T) {
	one := []fakeBench{{name: "Old", sec: 1e-6, only: "a"}, {name: "New", sec: 1e-6, only: "b"}}
	for _, c := range []struct {
		name, match string
		f           *fakeBinaries
		want        string
		mistake     bool
	}{
		{"no benchmarks", "", &fakeBinaries{}, "there is no benchmark in .", true},
		{"none that match", "Encode", &fakeBinaries{benches: one}, `there is no benchmark that matches "Encode" in .`, true},
		{"none in both", "", &fakeBinaries{benches: one}, "no benchmark is in every setting (there are New, Old)", true},
		{"none that match in both", "Old|New", &fakeBinaries{benches: one}, `no benchmark that matches "Old|New" is in every setting (there are New, Old)`, true},
		{"one cannot tell", "", &fakeBinaries{benches: one, exits: map[string]string{"b": "no database"}}, "under V=b: survey x: benchmarks may be missing, as its test binary ended early: no database", false},
	} {
		e := benchAB()
		e.Bench.Match = c.match
		_, err := runBench(t, c.f, e)
		var mistake *dyno.PlanError
		if err == nil || err.Error() != c.want || errors.As(err, &mistake) != c.mistake {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	e := &dyno.Experiment{Factors: dyno.Factors{{Name: dyno.BenchFactor, Levels: []string{"A", "B"}}}, Bench: &dyno.Bench{}}
	if _, err := runBench(t, &fakeBinaries{}, e); err == nil || err.Error() != "there is no benchmark in ." {
		t.Errorf("no benchmarks to pair: %v", err)
	}
}

// A test binary that ends again and again is given up, and that is said.
func TestBencherDeaths(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "First", sec: 1e-6}}}
	for i := range surveyDeaths {
		f.benches = append(f.benches, fakeBench{name: fmt.Sprintf("Panics%d", i), panics: true})
	}
	f.benches = append(f.benches, fakeBench{name: "Last", sec: 1e-6})
	rs, err := runBench(t, f, benchAB())
	want := "survey x: benchmarks may be missing, as its test binary ended early: benchmark ended: exit status 2; its last lines:\npanic: Panics49"
	if err != nil || !slices.Equal(rs[0].Warnings.Texts(), []string{want}) || len(rs[2].Benchmarks) != 1 {
		t.Errorf("%v, %q", err, rs[0].Warnings)
	}
}

func TestBencherDuration(t *testing.T) {
	// A block has 1 s of links, and 0.8 s of benchmarks: 2 pairs of 0.2 s each.
	f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 0.1}, {name: "B", sec: 0.1}}}
	e := benchAB()
	e.Bench.Blocks, e.Bench.Duration = 0, dyno.Duration(22*time.Second)
	start := time.Now()
	rs, err := runBench(t, f, e)
	if err != nil {
		t.Fatal(err)
	}
	last := rs[len(rs)-1]
	if len(last.Benchmarks) != 1 || last.Trial.Block < 3 {
		t.Errorf("block %d has %d benchmarks after %v", last.Trial.Block, len(last.Benchmarks), time.Since(start))
	}
	e.Bench.Duration = 0
	least := func(n int) func(*Bencher) { return func(b *Bencher) { b.Least = n } }
	if rs, err = runBench(t, f, e, least(14)); err != nil || rs[len(rs)-1].Trial.Block < 150 || rs[len(rs)-1].Trial.Block > 180 { // of 1.8 s in 5 min
		t.Errorf("%d results, %v", len(rs), err)
	}
	if rs, err = runBench(t, f, e, least(220)); err != nil || rs[len(rs)-1].Trial.Block != 220 || len(rs[len(rs)-1].Benchmarks) != 2 {
		t.Errorf("%d results, %v", len(rs), err)
	}
	for d, c := range map[time.Duration]struct {
		err     string
		surveys int
	}{
		time.Second:     {"find benchmarks: 1s ran out before each had run once (", 0},
		2 * time.Second: {"builds and the survey took all of the 2s (consider: about 27s, enough for 14 blocks", 2},
	} {
		e.Bench.Duration = dyno.Duration(d)
		if rs, err = runBench(t, f, e, least(14)); err == nil || !strings.Contains(err.Error(), c.err) || len(rs) != c.surveys {
			t.Errorf("%v: %d results, %v", d, len(rs), err)
		}
	}
}

func TestBencherInterrupted(t *testing.T) {
	stop := errors.New("interrupted")
	for _, when := range []string{"survey", "link", "block"} {
		f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 1e-6}}}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			b := f.bencher()
			b.Watch = func(s Step) {
				if s.Phase == when && (when == "survey" || s.Block == 2) {
					cancel(stop)
				}
			}
			var rs []*dyno.Result
			_, err := b.Run(ctx, benchAB(), func(r *dyno.Result) error { rs = append(rs, r); return nil })
			want := 4 // surveys and the first block
			if when == "survey" {
				want = 0
			}
			if !errors.Is(err, stop) || len(rs) != want || len(f.running) > 0 {
				t.Errorf("%s: %v, %d results, running %v", when, err, len(rs), f.running)
			}
		})
	}
}

func TestBencherProfile(t *testing.T) {
	f := &fakeBinaries{benches: []fakeBench{{name: "A", sec: 1e-3}, {name: "B", sec: 1e-3, loop: true}, {name: "C", sec: 1e-6}}}
	synctest.Test(t, func(t *testing.T) {
		e, b := benchAB(), f.bencher()
		b.Dir = func(n int) (string, error) { return fmt.Sprintf("/trials/%d", n), nil }
		run, err := b.Run(t.Context(), e, func(*dyno.Result) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		f.args = nil
		var steps []Step
		b.Watch = func(s Step) { steps = append(steps, s) }
		var got []*dyno.Result
		err = run.Profile(t.Context(), []dyno.Benchmark{{Package: "x", Name: "A"}, {Package: "x", Name: "B"}}, func(r *dyno.Result) error { got = append(got, r); return nil })
		if err != nil || len(got) != 3*2*2 || len(f.args) != 2*len(got) {
			t.Fatalf("%d results of %d processes: %v", len(got), len(f.args), err)
		}
		// Of each repeat, links come first; a block is nothing that profiles have.
		for i, s := range steps {
			if want := (Step{Phase: "profile", Block: 1 + i/5, Benchmarks: 12, Done: i - i/5 - min(1, i%5)}); s != want || len(steps) != 3*5 {
				t.Errorf("step %d of %d: %+v, want %+v", i, len(steps), s, want)
			}
		}
		for i, r := range got {
			want := map[string]int64{"A": 1001, "B": 1000}[r.Benchmarks[0].Name] // testing begins with one more, but for b.Loop
			if r.Trial.For != dyno.ForProfile || r.Trial.N != 9+i || r.Trial.Block != 1+i/4 || r.Benchmarks[0].N != want || r.Err != "" {
				t.Errorf("result %d: trial %d of block %d for %q, %d iterations: %q", i, r.Trial.N, r.Trial.Block, r.Trial.For, r.Benchmarks[0].N, r.Err)
			}
			cpu := fmt.Sprintf("-test.benchtime=1000x -test.cpuprofile=/trials/%d/cpu.pb.gz", r.Trial.N)
			mem := fmt.Sprintf("-test.benchtime=1000x -test.memprofile=/trials/%d/allocs.pb.gz -test.memprofilerate=4096", r.Trial.N)
			if !strings.HasSuffix(f.args[2*i], cpu) || !strings.HasSuffix(f.args[2*i+1], mem) {
				t.Errorf("%q", f.args[2*i:2*i+2])
			}
		}
	})
}
