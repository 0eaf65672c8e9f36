package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A world is versions with known levels, and the noise of a machine.
type world struct {
	rand    *rand.Rand
	level   []float64 // logarithm, by version
	noise   float64   // of a trial
	broken  map[int]bool
	modes   bool        // half of the trials take four times the noise more
	starts  bool        // what is broken compiles, and does not start
	program map[int]int // versions with the program of another
	plain   bool        // levels are values, without noise
	real    [][]float64 // blocks that were really measured: logarithms of one version, which ran as several; nil for noise of the computer's
	runs    int
	blocks  int
}

const metric = "cpu-sec/req"

func (w *world) search(most int) *Search {
	s := &Search{Problem: Problem{Plan: &dyno.Experiment{Name: "x"}, Metric: metric, Most: most, Error: 0.05}}
	for v := range w.level {
		s.Versions = append(s.Versions, dyno.Level{Factor: "rev", Value: "v" + strconv.Itoa(v)})
	}
	s.Build = func(_ context.Context, v int) (string, error) {
		if w.broken[v] && !w.starts {
			return "", errors.New("does not compile")
		}
		if same, ok := w.program[v]; ok {
			v = same
		}
		return strconv.Itoa(v), nil
	}
	return s
}

// measure is a run: blocks with a level of their own, heavy-tailed noise, and as many of them as dyno run would take.
func (w *world) measure(_ context.Context, _ string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
	w.runs++
	var rs []*dyno.Result
	for block := 1; block <= 40; block++ {
		w.blocks++
		level := 0.2 * w.rand.NormFloat64()
		drawn := w.block()
		for i, setting := range plan.Settings {
			v, _ := strconv.Atoi(setting[0].Value[1:])
			x := level + w.level[v] + w.noise*w.rand.NormFloat64()
			if w.modes && w.rand.IntN(2) == 0 {
				x += 4 * w.noise
			}
			if w.rand.IntN(20) == 0 {
				x += 5 * w.noise * math.Abs(w.rand.NormFloat64())
			}
			if w.real != nil {
				x = drawn[i] + w.level[v]
			}
			r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block, Setting: setting}}
			if w.broken[v] {
				r.Err = "it does not start"
				rs = append(rs, r)
				continue
			}
			r.Values = dyno.Values{{Metric: metric, Value: math.Exp(x)}}
			if w.plain {
				r.Values[0].Value = w.level[v]
			}
			rs = append(rs, r)
		}
		table := compare.Tabulate(rs, compare.Options{Settings: plan.Settings, Primary: []string{metric}, Sequential: true})
		if enough != nil && enough(table, rs) || enough == nil && block >= 6 && table.Settings[1].Versus[metric].Verdict != stats.Unclear {
			return table, rs, nil
		}
	}
	return compare.Tabulate(rs, compare.Options{Settings: plan.Settings, Primary: []string{metric}, Sequential: true}), rs, nil
}

// block draws one that was measured, in another order of its trials.
func (w *world) block() []float64 {
	if w.real == nil {
		return nil
	}
	b := slices.Clone(w.real[w.rand.IntN(len(w.real))])
	w.rand.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return b
}

// gitBisect is what people do: each step compares one trial with one of the good end. Nothing is known better than how great the change is.
func (w *world) gitBisect(size float64) (at int) {
	good := w.block()[0]
	lo, hi := 0, len(w.level)-1
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if value := w.block()[0] + w.level[mid]; value-good > size/2 {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

func step(n, at int, size float64) []float64 {
	level := make([]float64, n)
	for v := at; v < n; v++ {
		level[v] = math.Log1p(size)
	}
	return level
}

var full = flag.Bool("full", false, "search 400 times, not 10")

// The search finds one change, and few of its answers are wrong, whatever the noise. It gives no answer where nothing changed.
func TestSearch(t *testing.T) {
	times := 10
	if *full {
		times = 400
	}
	for _, test := range []struct {
		name        string
		versions    int
		size, noise float64
		least       int     // of times that it has to be found
		broken      float64 // share of the versions, but for the change, that one before, and the ends
		starts      bool    // they compile
		modes       bool    // a trial is fast or slow by chance
	}{
		{name: "5 % among 64", versions: 64, size: 0.05, noise: 0.02, least: 18},
		{name: "5 % among 1000", versions: 1000, size: 0.05, noise: 0.02, least: 18},
		{name: "3 % among 64", versions: 64, size: 0.03, noise: 0.015, least: 18},
		{name: "10 % in much noise", versions: 64, size: 0.10, noise: 0.06, least: 13},
		{name: "a tenth less", versions: 64, size: -0.10, noise: 0.03, least: 18},
		{name: "none", versions: 64, noise: 0.03},
		{name: "none, in two modes", versions: 64, noise: 0.03, modes: true},
		{name: "in two modes", versions: 64, size: 0.05, noise: 0.02, modes: true},
		{name: "a seventh does not compile", versions: 300, size: 0.05, noise: 0.02, least: 18, broken: 0.15},
		{name: "a seventh does not start", versions: 300, size: 0.05, noise: 0.02, least: 18, broken: 0.15, starts: true},
	} {
		found, wrong, runs, blocks := 0, 0, 0, 0
		for i := range times {
			w := &world{rand: rand.New(rand.NewPCG(1, uint64(i))), noise: test.noise, starts: test.starts, modes: test.modes, broken: map[int]bool{}}
			at := 1 + w.rand.IntN(test.versions-1)
			w.level = step(test.versions, at, test.size)
			for v := 1; v < test.versions-1; v++ {
				w.broken[v] = w.rand.Float64() < test.broken && v != at && v != at-1
			}
			s := w.search(4)
			if err := s.Ask(t.Context(), w.measure); err != nil {
				t.Fatal(err)
			}
			switch a := s.Answer; {
			case a.Kind == Found && a.Hi == at && a.Lo == at-1 && test.size != 0:
				found++
			case a.Kind == Found:
				wrong++
			}
			runs, blocks = runs+w.runs, blocks+w.blocks
		}
		t.Logf("%s: found %d of %d, wrong %d; %.1f runs, %.0f blocks", test.name, found, times, wrong, float64(runs)/float64(times), float64(blocks)/float64(times))
		if found*20 < test.least*times || wrong > times/20 {
			t.Errorf("%s: found %d of %d, wrong %d", test.name, found, times, wrong)
		}
	}
}

var recorded = flag.String("blocks", "", "simulate with the blocks in this `file`: a JSON array of logarithms a line")

// The same with the noise of a machine as it was. eval/bisect records it.
func TestSearchRecorded(t *testing.T) {
	if *recorded == "" {
		t.Log("for want of -blocks nothing was simulated")
		return
	}
	var blocks [][]float64
	file, err := os.Open(*recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := json.NewDecoder(file); d.More(); {
		var b []float64
		if err := d.Decode(&b); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	const times = 400
	for _, versions := range []int{64, 1000} {
		for _, size := range []float64{0, 0.03, 0.05, 0.10} {
			found, wrong, runs, built, git := 0, 0, 0, 0, 0
			var took []float64
			for i := range times {
				w := &world{rand: rand.New(rand.NewPCG(5, uint64(i))), real: blocks}
				at := 1 + w.rand.IntN(versions-1)
				w.level = step(versions, at, size)
				s := w.search(4)
				if err := s.Ask(t.Context(), w.measure); err != nil {
					t.Fatal(err)
				}
				switch a := s.Answer; {
				case a.Kind == Found && a.Hi == at && a.Lo == at-1 && size != 0:
					found++
				case a.Kind == Found:
					wrong++
				}
				runs, built, took = runs+w.runs, built+s.Answer.Built, append(took, float64(w.blocks))
				if w.gitBisect(math.Log1p(size)) == at {
					git++
				}
			}
			t.Logf("%.0f %% among %d: found %d of %d, wrong %d; %.1f runs, %.1f built, %.0f blocks (median); git bisect with one trial each: right %d",
				100*size, versions, found, times, wrong, float64(runs)/times, float64(built)/times, median(took), git)
			if wrong > times/20 {
				t.Errorf("%.0f %% among %d: wrong %d", 100*size, versions, wrong)
			}
		}
	}
}

// What is no single step is not called one, versions that cannot be built are left out, and equal programs are not measured.
func TestSearchOther(t *testing.T) {
	const n = 41
	drift := make([]float64, n)
	for v := range drift {
		drift[v] = 0.08 * float64(v) / (n - 1)
	}
	two := step(n, 10, 0.06)
	for v := 30; v < n; v++ {
		two[v] += math.Log1p(0.05)
	}
	back := step(n, 10, 0.06)
	for v := 30; v < n; v++ {
		back[v] = 0
	}
	broken := map[int]bool{}
	for v := 15; v < 25; v++ {
		broken[v] = true
	}
	same := map[int]int{}
	for v := range n {
		same[v] = 0
		if v >= 20 {
			same[v] = 20
		}
	}
	kinds := func(w world) (all map[string]int, runs int) {
		all = map[string]int{}
		for i := range 20 {
			w := w
			w.rand, w.noise = rand.New(rand.NewPCG(2, uint64(i))), 0.01
			s := w.search(4)
			if err := s.Ask(t.Context(), w.measure); err != nil {
				t.Fatal(err)
			}
			a := s.Answer
			what := string(a.Kind)
			if a.Kind == Found || a.Kind == Range {
				what = fmt.Sprintf("%s %d-%d %t", a.Kind, a.Lo, a.Hi, a.Partly)
			}
			all[what]++
			runs = max(runs, w.runs)
		}
		return all, runs
	}
	for _, test := range []struct {
		name  string
		world world
		want  []string // at least 18 of 20 are one of these
	}{
		{"drift", world{level: drift}, []string{"undecided"}},
		{"two steps", world{level: two}, []string{"found 9-10 true", "found 9-10 false", "found 29-30 true", "found 29-30 false"}},
		{"there and back", world{level: back}, []string{"no-change"}},
		{"the change is where nothing builds", world{level: step(n, 20, 0.06), broken: broken}, []string{"range 14-25 false"}},
		{"two programs", world{level: step(n, 20, 0.06), program: same}, []string{"found 19-20 false"}},
	} {
		got, runs := kinds(test.world)
		sum := 0
		for _, want := range test.want {
			sum += got[want]
		}
		t.Logf("%s: %v, at most %d runs", test.name, got, runs)
		if sum < 18 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if test.name == "two programs" && runs > 2 {
			t.Errorf("equal programs were measured: %d runs", runs)
		}
	}
}

// With All, each of two changes is found, and that there is no third one is said.
func TestSearchAll(t *testing.T) {
	both := 0
	for i := range 10 {
		level := step(41, 10, 0.06)
		for v := 30; v < len(level); v++ {
			level[v] += math.Log1p(0.08)
		}
		w := &world{rand: rand.New(rand.NewPCG(3, uint64(i))), noise: 0.01, level: level}
		s := w.search(4)
		s.All = true
		if err := s.Ask(t.Context(), w.measure); err != nil {
			t.Fatal(err)
		}
		var at []int
		for _, a := range append(s.Answer.More, s.Answer) {
			if a.Kind == Found {
				at = append(at, a.Hi)
			}
		}
		slices.Sort(at)
		if slices.Equal(at, []int{10, 30}) {
			both++
		}
		if slices.Contains(at, 0) || !slices.IsSortedFunc(s.Answer.Measured, func(a, b Measured) int { return a.Version - b.Version }) {
			t.Errorf("found %v, measured %v", at, s.Answer.Measured)
		}
		if last := s.Answer.Measured[len(s.Answer.Measured)-1]; math.Abs(last.Change/(1.06*1.08)-1) > 0.03 {
			t.Errorf("the bad end is %v against the good one", last.Change)
		}
	}
	if both < 8 {
		t.Errorf("both changes were found in %d of 10 searches", both)
	}
}

// A merge that is the answer is opened, also where --all looks on, and a search inside of it names its own versions.
func TestSearchInside(t *testing.T) {
	w := &world{rand: rand.New(rand.NewPCG(3, 2)), noise: 0.005, level: step(41, 10, 0.06)}
	for v := 30; v < len(w.level); v++ {
		w.level[v] += math.Log1p(0.08)
	}
	branch := &world{rand: w.rand, noise: 0.005, level: step(9, 4, 0.08)}
	s := w.search(4)
	s.All = true
	var opened []int
	inner := branch.search(4)
	s.Branch = func(_ context.Context, v int) (*Search, error) {
		opened = append(opened, v)
		if v != 30 { // no merge
			return nil, nil
		}
		return inner, nil
	}
	names := map[string]bool{}
	err := s.Ask(t.Context(), func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
		if names[name] {
			t.Errorf("two runs are called %s", name)
		}
		names[name] = true
		if slices.Contains(opened, 30) && inner.Answer.Kind != Found {
			return branch.measure(ctx, name, plan, enough)
		}
		return w.measure(ctx, name, plan, enough)
	})
	slices.Sort(opened)
	if a := &inner.Answer; err != nil || !slices.Equal(opened, []int{10, 30}) || a.Kind != Found || a.Hi != 4 || a.Metric != metric {
		t.Errorf("%v; opened %v; %s at %d in %s", err, opened, a.Kind, a.Hi, a.Metric)
	}
}

// A search inside of a merge that cannot begin, or whose commits changed the other way, leaves the answer as it is.
func TestSearchInsideFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		branch world
	}{
		{"its first commit does not compile", world{level: step(9, 4, 0.08), broken: map[int]bool{0: true}}},
		{"its first commit does not start", world{level: step(9, 4, 0.08), broken: map[int]bool{0: true, 8: true}, starts: true}},
		{"the other way", world{level: step(9, 4, -0.08)}},
	} {
		w := &world{rand: rand.New(rand.NewPCG(3, 2)), noise: 0.005, level: step(41, 10, 0.06)}
		test.branch.rand, test.branch.noise = w.rand, 0.005
		s, inner := w.search(4), test.branch.search(4)
		found := false
		s.Branch = func(context.Context, int) (*Search, error) { found = true; return inner, nil }
		err := s.Ask(t.Context(), func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
			switch {
			case !found:
				return w.measure(ctx, name, plan, enough)
			case test.branch.starts:
				return nil, nil, errors.New("the first trials failed")
			}
			return test.branch.measure(ctx, name, plan, enough)
		})
		if a := &s.Answer; err != nil || a.Kind != Found || a.Hi != 10 {
			t.Errorf("%s: %v, %s at %d", test.name, err, a.Kind, a.Hi)
		}
		if a := &inner.Answer; a.Kind != NoChange || a.Begun() == (a.Why != nil) || a.Begun() == (test.branch.broken != nil) {
			t.Errorf("%s: %s, begun %t, %v", test.name, a.Kind, a.Begun(), a.Why)
		}
	}
}

// A metric that is 0 at an end, as allocations of a benchmark may be, has no ratios, and its change is found all the same.
func TestSearchFromZero(t *testing.T) {
	level := make([]float64, 33)
	for v := 20; v < len(level); v++ {
		level[v] = 3
	}
	w := &world{rand: rand.New(rand.NewPCG(4, 4)), level: level, plain: true}
	s := w.search(4)
	if err := s.Ask(t.Context(), w.measure); err != nil {
		t.Fatal(err)
	}
	if a := s.Answer; a.Kind != Found || a.Hi != 20 || !a.Plain || a.Measured[len(a.Measured)-1].Change != 3 {
		t.Errorf("%s at %d, %v", a.Kind, a.Hi, a.Measured)
	}
}

// A value of 0 between the ends is a value: the search goes on by differences, and leaves nothing out.
func TestSearchThroughZero(t *testing.T) {
	level := make([]float64, 33)
	for v := range level {
		switch {
		case v < 4:
			level[v] = 1
		case v >= 20:
			level[v] = 3
		}
	}
	w := &world{rand: rand.New(rand.NewPCG(4, 4)), level: level, plain: true}
	s := w.search(4)
	if err := s.Ask(t.Context(), w.measure); err != nil {
		t.Fatal(err)
	}
	if a := s.Answer; a.Kind != Found || a.Hi != 20 || !a.Plain || len(a.Skipped) > 0 || math.Abs(a.Measured[len(a.Measured)-1].Change-2) > 1e-9 {
		t.Errorf("%s at %d, plain %t, left out %v, %v", a.Kind, a.Hi, a.Plain, a.Skipped, a.Measured)
	}
}

// A search of a part that is cut off before its first block says nothing.
func TestSearchAllCutOff(t *testing.T) {
	w := &world{rand: rand.New(rand.NewPCG(3, 1)), noise: 0.01, level: step(41, 10, 0.06)}
	s := w.search(4)
	s.All = true
	cut := errors.New("interrupted")
	found := false
	err := s.Ask(t.Context(), func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
		if found {
			return nil, nil, cut
		}
		found = strings.HasSuffix(name, "-pair")
		return w.measure(ctx, name, plan, enough)
	})
	if !errors.Is(err, cut) || s.Answer.Kind != Found || len(s.Answer.More) > 0 {
		t.Errorf("%v, %s, %v", err, s.Answer.Kind, s.Answer.More)
	}
}

func TestBetween(t *testing.T) {
	p := uniform(10)
	none := func(int) bool { return false }
	if got := Between(p, 0, 10, 2, none); !slices.Equal(got, []int{3, 6}) {
		t.Error(got)
	}
	if got := Between(p, 0, 10, 1, func(v int) bool { return v == 5 }); len(got) != 1 || got[0] == 5 {
		t.Error(got)
	}
	if got := Between(p, 3, 4, 2, none); len(got) != 0 {
		t.Error(got)
	}
	if got := Between(p, 3, 5, 4, none); !slices.Equal(got, []int{4}) {
		t.Error(got)
	}
}
