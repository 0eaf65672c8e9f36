package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// The Monte-Carlo tests prove what doc/method/verdicts.md promises. Each part of a
// simulation has its own seed, so the figures are the same on every machine.
// Its figures are of -full; an ordinary test simulates a part of that.
var full = flag.Bool("full", false, "simulate as much as doc/method/verdicts.md's figures are of")

// often is how many times something is simulated.
func often(ordinary, inFull int) int {
	if *full {
		return inFull
	}
	return ordinary
}

// atMost allows a simulated rate three standard deviations above the true one.
func atMost(rate float64, experiments int) float64 {
	return rate + 3*math.Sqrt(rate*(1-rate)/float64(experiments))
}

type noise func(*rand.Rand) float64

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// student3 is Student's t with 3 degrees of freedom: outliers.
func student3(r *rand.Rand) float64 {
	x, y, z := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return r.NormFloat64() / math.Sqrt((x*x+y*y+z*z)/3)
}

// A world generates experiments: the logarithm of a trial is a multiple of sd.
type world struct {
	blocks, settings, metrics int
	noise                     noise
	sd                        float64 // of the log of a trial
	noisy                     int     // this setting's sd is times as large; -1 none
	times                     float64
	shared                    float64 // correlation of the metrics of a trial
	walk, slope               float64 // drift from trial to trial, in sd, along the shuffled order
	perBlock                  bool    // drift only from block to block
	missing                   float64 // share of trials that failed
	effect                    float64 // true log ratio of setting 1 in metric 0
}

func null(blocks int) world {
	return world{blocks: blocks, settings: 5, metrics: 5, noise: normal, sd: 0.02, noisy: -1, times: 1}
}

// matrices returns the memory of an experiment, metric by block by setting.
func (w world) matrices() [][][]float64 {
	m := make([][][]float64, w.metrics)
	for i := range m {
		m[i] = make([][]float64, w.blocks)
		for b := range m[i] {
			m[i][b] = make([]float64, w.settings)
		}
	}
	return m
}

// fill simulates one experiment.
func (w world) fill(r *rand.Rand, m [][][]float64) {
	drift := 0.0
	own, common := math.Sqrt(1-w.shared), math.Sqrt(w.shared)
	for b := range w.blocks {
		for n, j := range r.Perm(w.settings) {
			if n == 0 || !w.perBlock {
				drift += w.slope + w.walk*r.NormFloat64()
			}
			sd := w.sd
			if j == w.noisy {
				sd *= w.times
			}
			trial := common * w.noise(r)
			failed := w.missing > 0 && r.Float64() < w.missing
			for i := range m {
				x := w.sd*drift + sd*(trial+own*w.noise(r))
				if i == 0 && j == 1 {
					x += w.effect
				}
				m[i][b][j] = 100 * math.Exp(x)
				if failed {
					m[i][b][j] = math.NaN()
				}
			}
		}
	}
}

// simulate runs f on n experiments in parts, which run in parallel: f must be
// safe for concurrent use.
func (w world) simulate(n int, seed uint64, f func(m [][][]float64)) {
	const parts = 8
	done := make(chan bool)
	for p := range parts {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			m := w.matrices()
			for range n / parts {
				w.fill(r, m)
				f(m)
			}
			done <- true
		}()
	}
	for range parts {
		<-done
	}
}

// fixed is Compare of a number of blocks that was fixed beforehand, and is looked at once: the test itself,
// without what looks cost.
func fixed(blocks [][]float64) []Comparison { return compareBlocks(blocks, lastOnly) }

// compare is the whole analysis of an experiment: comparisons by metric and
// setting, adjusted as one family.
func compare(m [][][]float64) [][]Comparison {
	cs := make([][]Comparison, len(m))
	family := make([]*Comparison, 0, 20)
	for i := range m {
		cs[i] = fixed(m[i])
		for j := range cs[i] {
			family = append(family, &cs[i][j])
		}
	}
	Adjust(family)
	return cs
}

// strict calls every significant change one, however small.
var strict = Rule{Negligible: -1}

func changed(c Comparison) bool {
	v := c.Verdict(strict)
	return v == Better || v == Worse
}

// Under no difference, any change in a whole experiment is an error.
func TestFamilyError(t *testing.T) {
	experiments := often(2000, 20000)
	type row struct {
		name  string
		world world
		limit float64
	}
	var rows []row
	for _, n := range []int{6, 10, 20} {
		w := null(n)
		rows = append(rows, row{"no difference", w, 0.05})
	}
	for _, n := range []int{10, 20} {
		add := func(name string, change func(*world)) {
			w := null(n)
			change(&w)
			rows = append(rows, row{name, w, 0.08})
		}
		add("drift over blocks", func(w *world) { w.walk, w.slope, w.perBlock = 1, 0.5, true })
		add("drift within blocks", func(w *world) { w.walk, w.slope = 0.5, 0.1 })
		add("student 3 df", func(w *world) { w.noise = student3 })
		add("baseline x3", func(w *world) { w.noisy, w.times = 0, 3 })
		add("a setting x3", func(w *world) { w.noisy, w.times = 1, 3 })
		add("correlated metrics", func(w *world) { w.shared = 0.9 })
	}
	w := null(10)
	w.missing = 0.1
	rows = append(rows, row{"a tenth missing", w, 0.08})
	for i, x := range rows {
		t.Run(fmt.Sprintf("%s/%d", x.name, x.world.blocks), func(t *testing.T) {
			var wrong atomic.Int64
			x.world.simulate(experiments, 1000+uint64(i), func(m [][][]float64) {
				for _, cs := range compare(m) {
					if slices.ContainsFunc(cs, changed) {
						wrong.Add(1)
						return
					}
				}
			})
			got := float64(wrong.Load()) / float64(experiments)
			t.Logf("%5.2f %% of experiments report a change", 100*got)
			if got > atMost(x.limit, experiments) {
				t.Errorf("%.4f of experiments report a change, want at most %v", got, x.limit)
			}
		})
	}
}

// A true change in one metric of one setting, the rest unchanged.
func TestPower(t *testing.T) {
	experiments := often(4000, 20000)
	for i, x := range []struct {
		effect, sd       float64
		blocks, settings int
		want             float64
	}{
		{0.05, 0.02, 10, 5, 0.90},
		{0.05, 0.03, 15, 5, 0.80},
		{0.10, 0.02, 6, 5, 0.90},
		{0.05, 0.02, 10, 2, 0}, // for the table in doc/method/verdicts.md
		{0.05, 0.02, 10, 3, 0},
		{0.05, 0.02, 10, 10, 0},
	} {
		t.Run(fmt.Sprintf("%v at %v/%d blocks/%d settings", x.effect, x.sd, x.blocks, x.settings), func(t *testing.T) {
			w := null(x.blocks)
			w.settings, w.sd, w.effect = x.settings, x.sd, math.Log1p(x.effect)
			var found atomic.Int64
			w.simulate(experiments, 2000+uint64(i), func(m [][][]float64) {
				if c := compare(m)[0][0]; changed(c) && c.Ratio > 1 {
					found.Add(1)
				}
			})
			got := float64(found.Load()) / float64(experiments)
			t.Logf("found in %.1f %%", 100*got)
			if 1-got > atMost(1-x.want, experiments) {
				t.Errorf("found in %.4f, want at least %v", got, x.want)
			}
		})
	}
}

// covered counts how often the intervals of ratios hold the true one.
type covered struct{ in, of [16]atomic.Int64 }

func (c *covered) add(j int, in bool) {
	c.of[j].Add(1)
	if in {
		c.in[j].Add(1)
	}
}

func (c *covered) check(t *testing.T, what string) {
	t.Helper()
	for j := range c.of {
		of := c.of[j].Load()
		if of == 0 {
			continue
		}
		got := float64(c.in[j].Load()) / float64(of)
		t.Logf("%s %d: covers %.2f %%", what, j, 100*got)
		if got > atMost(0.98, int(of)) || 1-got > atMost(0.07, int(of)) {
			t.Errorf("%s %d covers %.4f, want 0.93 to 0.98", what, j, got)
		}
	}
}

// trial is a kind of trial value: a positive number and the median of such numbers.
type trial struct {
	name   string
	value  func(*rand.Rand) float64
	median float64
}

var trials = []trial{
	{"normal", func(r *rand.Rand) float64 { return 100 + 5*r.NormFloat64() }, 100},
	{"log-normal", func(r *rand.Rand) float64 { return 100 * math.Exp(0.3*r.NormFloat64()) }, 100},
	{"student 3 df", func(r *rand.Rand) float64 { return 100 * math.Exp(0.02*student3(r)) }, 100},
}
