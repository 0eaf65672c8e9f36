package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// simulateRanks gives n experiments of 88 blocks to f, from several goroutines,
// and returns the fraction of them for which it is true.
func simulateRanks(n int, seed uint64, fill func(r *rand.Rand, d []float64), f func(d []float64) bool) float64 {
	const parts = 4
	n /= parts
	var hits atomic.Int64
	done := make(chan bool)
	for p := range parts {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			d := make([]float64, BenchLooks[len(BenchLooks)-1])
			for range n {
				fill(r, d)
				if f(d) {
					hits.Add(1)
				}
			}
			done <- true
		}()
	}
	for range parts {
		<-done
	}
	return float64(hits.Load()) / float64(n*parts)
}

// rankNoises are what blocks of a quiet and of a shared machine may look like,
// about 0 and in units of their deviation, more or less.
var rankNoises = []rankNoise{
	{"normal", each(normal)},
	{"student 3 df", each(func(r *rand.Rand) float64 { return student3(r) / math.Sqrt(3) })},
	{"Cauchy", each(func(r *rand.Rand) float64 { return r.NormFloat64() / r.NormFloat64() })},
	{"skewed", each(func(r *rand.Rand) float64 { return r.ExpFloat64() - 0.1 })},
	{"two modes", each(func(r *rand.Rand) float64 {
		if r.IntN(5) == 0 {
			return 10 + 0.3*r.NormFloat64()
		}
		return 0.3 * r.NormFloat64()
	})},
	{"first is slower", each(func(r *rand.Rand) float64 { return 5 + r.NormFloat64() })},
	{"coarse", each(func(r *rand.Rand) float64 { return math.Round(0.7 * r.NormFloat64()) })},
	{"autocorrelated", func(r *rand.Rand, d []float64) {
		x := r.NormFloat64()
		for i := range d {
			x = 0.95*x + math.Sqrt(1-0.95*0.95)*r.NormFloat64()
			d[i] = x
		}
	}},
	{"bursts", func(r *rand.Rand, d []float64) {
		sd := 0.5
		for i := range d {
			if r.IntN(10) == 0 {
				sd = math.Exp(2 * r.NormFloat64())
			}
			d[i] = sd * r.NormFloat64()
		}
	}},
}

type rankNoise struct {
	name string
	fill func(r *rand.Rand, d []float64)
}

func each(x noise) func(*rand.Rand, []float64) {
	return func(r *rand.Rand, d []float64) {
		for i := range d {
			d[i] = x(r)
		}
	}
}

// drawn is a comparison of equals: who is the baseline is drawn by lot in each block.
func drawn(fill func(*rand.Rand, []float64)) func(*rand.Rand, []float64) {
	return func(r *rand.Rand, d []float64) {
		fill(r, d)
		for i := range d {
			if d[i] *= 0.02; r.IntN(2) == 0 {
				d[i] = -d[i]
			}
		}
	}
}

// However blocks deviate, equals are called different no more often than said,
// whenever the run ended.
func TestRanksFalseAlarms(t *testing.T) {
	experiments := often(4000, 160_000)
	for i, x := range rankNoises {
		var often atomic.Int64
		seldom := simulateRanks(experiments, 5000+uint64(i), drawn(x.fill), func(d []float64) bool {
			c := CompareRanks(d, true, BenchLooks)
			if c.Adjusted <= 0.05 {
				often.Add(1)
			}
			return c.Adjusted <= 0.001
		})
		of := float64(experiments)
		got := map[float64]float64{0.05: float64(often.Load()) / of, 0.001: seldom}
		t.Logf("%-15s %.2f %% of runs report a change at 0.05, %.4f %% at 0.001", x.name, 100*got[0.05], 100*seldom)
		for alpha, got := range got {
			if got > alpha+3*math.Sqrt(alpha/of) {
				t.Errorf("%s: %.5f of runs report a change, want at most %v", x.name, got, alpha)
			}
		}
	}
}

// rankRules tell when a benchmark needs no more blocks. That an interval is narrow
// is not enough: with 2 % of deviation that of 14 blocks is, and a change of 3 %
// would be left unclear in one run of seven.
var rankRules = []struct {
	name    string
	settled func(c Comparison, r Rule) bool
}{
	{"narrow", func(c Comparison, r Rule) bool {
		return c.Verdict(r) != Unclear || math.Log(c.Hi/c.Lo)/2 <= math.Log1p(0.01)
	}},
	{"narrow about 1", func(c Comparison, r Rule) bool {
		return c.Verdict(r) != Unclear || math.Log(c.Hi/c.Lo)/2 <= math.Log1p(0.01) && c.Lo <= 1 && 1 <= c.Hi
	}},
}

// ended is what a run finds that may end at a look.
func ended(d []float64, r Rule, settled func(Comparison, Rule) bool) (c Comparison) {
	for _, n := range BenchLooks {
		if c = CompareRanks(d[:n], true, BenchLooks); settled(c, r) {
			break
		}
	}
	return c
}

// shifted adds a true change to noise.
func shifted(fill func(*rand.Rand, []float64), change, sd float64) func(*rand.Rand, []float64) {
	return func(r *rand.Rand, d []float64) {
		fill(r, d)
		for i := range d {
			d[i] = math.Log1p(change) + sd*d[i]
		}
	}
}

// Runs end when they please, but the plain interval holds the truth nearly as
// often as it says, and Interval more often.
func TestRanksCoverage(t *testing.T) {
	experiments := often(200, 4000)
	seed := uint64(6000)
	for _, rule := range rankRules {
		for _, name := range []string{"normal", "student 3 df", "bursts"} {
			x := rankNoises[slices.IndexFunc(rankNoises, func(x rankNoise) bool { return x.name == name })]
			for _, change := range []float64{0, 0.005, 0.01, 0.02, 0.03, 0.05} {
				for _, sd := range []float64{0.01, 0.02, 0.035, 0.07} {
					seed++
					runs := endings{change: change, settled: rule.settled}
					simulateRanks(experiments, seed, shifted(x.fill, change, sd), runs.add)
					n, f := float64(runs.of.Load()), float64(runs.found.Load())
					plain, all := float64(runs.plain.Load())/n, float64(runs.all.Load())/n
					t.Logf("%-14s %-12s change %3.1f %% block SD %3.1f %%: plain %.1f %%, Interval(0.05) %.1f %%, %4.1f blocks; found %6.2f %%, then plain %5.1f %% and estimate %.2f %%",
						rule.name, name, 100*change, 100*sd, 100*plain, 100*all, float64(runs.blocks.Load())/n,
						100*f/n, 100*float64(runs.right.Load())/f, float64(runs.size.Load())/f/1e4)
					if plain < 0.87 || all < 0.95 {
						t.Errorf("%s, %s, change %v, SD %v: the plain interval covers %.4f, that for all looks %.4f", rule.name, name, change, sd, plain, all)
					}
					if rule.name == "narrow about 1" && name == "normal" && change >= 0.03 && sd <= 0.035 && f < 0.97*n {
						t.Errorf("a change of %v at SD %v is found in %.3f", change, sd, f/n)
					}
				}
			}
		}
	}
}

// endings counts what runs found that ended by a rule.
type endings struct {
	change  float64 // the truth
	settled func(Comparison, Rule) bool

	of, blocks   atomic.Int64
	plain, all   atomic.Int64 // the truth is in Lo..Hi, in Interval
	found, right atomic.Int64 // a change is reported, and it is in Lo..Hi then
	size         atomic.Int64 // sum of changes reported, in millionths
}

func (e *endings) add(d []float64) bool {
	rule := Rule{Alpha: 0.001}
	c := ended(d, rule, e.settled)
	e.of.Add(1)
	e.blocks.Add(int64(c.N))
	if lo, hi := c.Interval(0.05); lo <= 1+e.change && 1+e.change <= hi {
		e.all.Add(1)
	}
	in := c.Lo <= 1+e.change && 1+e.change <= c.Hi
	if in {
		e.plain.Add(1)
	}
	if v := c.Verdict(rule); v == Better || v == Worse {
		e.found.Add(1)
		e.size.Add(int64(1e6 * (c.Ratio - 1)))
		if in {
			e.right.Add(1)
		}
	}
	return in
}

// How many blocks it takes to find 3 % with an error of 0.001.
func TestRanksPower(t *testing.T) {
	experiments := often(400, 8000)
	for i, x := range rankNoises[:2] {
		for k, sd := range []float64{0.01, 0.02, 0.035, 0.05, 0.07} {
			var found [89]atomic.Int64 // by blocks
			got := simulateRanks(experiments, 7000+uint64(10*i+k), shifted(x.fill, 0.03, sd), func(d []float64) bool {
				for _, n := range BenchLooks {
					if CompareRanks(d[:n], true, BenchLooks).Adjusted <= 0.001 {
						found[n].Add(1)
						return true
					}
				}
				return false
			})
			line, sum, half, most := "", 0.0, 0, 0
			for _, n := range BenchLooks {
				sum += float64(found[n].Load()) / float64(experiments)
				line += fmt.Sprintf(" %5.1f", 100*sum)
				if half == 0 && sum >= 0.5 {
					half = n
				}
				if most == 0 && sum >= 0.9 {
					most = n
				}
			}
			t.Logf("%-12s block SD %3.1f %%: found after %v blocks%s %%; half by %d, nine of ten by %d", x.name, 100*sd, BenchLooks, line, half, most)
			if want := map[float64]float64{0.01: 0.999, 0.02: 0.98, 0.035: 0.8, 0.05: 0.5, 0.07: 0.2}[sd]; got < want {
				t.Errorf("%s, SD %v: found in %.3f, want %v at least", x.name, sd, got, want)
			}
		}
	}
}
