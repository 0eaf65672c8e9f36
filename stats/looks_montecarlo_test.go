package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// A runNoise fills in logarithms about 0, in units of a trial's deviation, by metric,
// block and setting. lots are drawn anew in each block: the order of its settings.
type runNoise struct {
	name string
	fill func(r *rand.Rand, lots []int, block [][]float64)
}

// runNoises are what blocks of services may look like.
var runNoises = []runNoise{
	{"normal", cells(normal)},
	{"student 3 df", cells(student3)},
	{"bursts in single blocks", func(r *rand.Rand, lots []int, block [][]float64) {
		sd := 1.0
		if r.IntN(10) == 0 {
			sd = 10
		}
		cells(func(r *rand.Rand) float64 { return sd * r.NormFloat64() })(r, lots, block)
	}},
	{"bursts in one setting of a block", func(r *rand.Rand, lots []int, block [][]float64) {
		hit := r.IntN(5) == 0
		for i := range block {
			for j := range block[i] {
				block[i][j] = r.NormFloat64()
				if hit && lots[j] == 0 {
					block[i][j] += 5
				}
			}
		}
	}},
	{"launches in two modes", cells(func(r *rand.Rand) float64 { return 5*float64(r.IntN(2)) + 0.3*r.NormFloat64() })},
	{"one launch in five is slow", cells(func(r *rand.Rand) float64 {
		if r.IntN(5) == 0 {
			return 10 + 3*r.NormFloat64()
		}
		return r.NormFloat64()
	})},
	{"first is slower", func(r *rand.Rand, lots []int, block [][]float64) {
		for i := range block {
			for j := range block[i] {
				block[i][j] = r.NormFloat64()
				if lots[j] == 0 {
					block[i][j] += 10
				}
			}
		}
	}},
	{"coarse", cells(func(r *rand.Rand) float64 { return math.Round(0.7 * r.NormFloat64()) })},
	{"a baseline x3", func(r *rand.Rand, lots []int, block [][]float64) {
		cells(normal)(r, lots, block)
		for i := range block {
			block[i][0] *= 3
		}
	}},
}

// cells are those of a block, one like the other.
func cells(x noise) func(*rand.Rand, []int, [][]float64) {
	return func(r *rand.Rand, _ []int, block [][]float64) {
		for i := range block {
			for j := range block[i] {
				block[i][j] = x(r)
			}
		}
	}
}

// A runWorld simulates runs of as many blocks as they take at most.
type runWorld struct {
	noise             runNoise
	settings, metrics int
	sd, drift         float64 // of the log of a trial; and from block to block, in sd
	effect            float64 // true log ratio of all settings to the baseline, in all metrics
}

// simulate gives each run's values, metric by block by setting, to f, in parallel.
func (w runWorld) simulate(n int, seed uint64, f func(m [][][]float64)) {
	const parts = 4
	done := make(chan bool)
	for p := range parts {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			for range n / parts {
				m := make([][][]float64, w.metrics)
				for b := range RunLooks[len(RunLooks)-1] {
					block := make([][]float64, w.metrics)
					for i := range block {
						block[i] = make([]float64, w.settings)
					}
					w.noise.fill(r, r.Perm(w.settings), block)
					for i := range block {
						for j := range block[i] {
							x := w.sd * (block[i][j] + w.drift*float64(b))
							if j > 0 {
								x += w.effect
							}
							block[i][j] = 100 * math.Exp(x)
						}
						m[i] = append(m[i], block[i])
					}
				}
				f(m)
			}
			done <- true
		}()
	}
	for range parts {
		<-done
	}
}

// looked is the analysis of a run after so many blocks.
func looked(m [][][]float64, blocks int, looks []int) []*Comparison {
	var family []*Comparison
	for i := range m {
		cs := CompareLooks(m[i][:blocks], looks)
		for j := range cs {
			family = append(family, &cs[j])
		}
	}
	Adjust(family)
	return family
}

// gated is what a gate judges setting 1 by.
func gated(blocks [][]float64) Comparison {
	d := make([]float64, len(blocks))
	for i, row := range blocks {
		d[i] = math.Log(row[1]) - math.Log(row[0])
	}
	return CompareRanks(d, true, GateLooks)
}

// A run that ends when it pleases has an error in its family no more often than said: the
// p-values only fall from look to look, so the runs to the last look are the worst.
func TestLooksFamilyError(t *testing.T) {
	runs := often(200, 20000)
	worlds := []runWorld{}
	for _, x := range runNoises {
		for _, settings := range []int{2, 5} {
			worlds = append(worlds, runWorld{noise: x, settings: settings, metrics: 5, sd: 0.02})
		}
	}
	drifting := runNoises[0]
	drifting.name = "normal, linear drift between blocks"
	worlds = append(worlds, runWorld{noise: drifting, settings: 2, metrics: 5, sd: 0.02, drift: 0.5})
	for i, w := range worlds {
		var once, naive, gateT, gateRanks, gates atomic.Int64
		w.simulate(runs, 9000+uint64(i), func(m [][][]float64) {
			for _, c := range looked(m, len(m[0]), RunLooks) {
				if c.Adjusted <= 0.05 {
					once.Add(1)
					break
				}
			}
			for _, n := range RunLooks { // as if there were no looks
				if c := looked(m, n, nil); anyBelow(c, 0.05) {
					naive.Add(1)
					break
				}
			}
			if c := CompareLooks(m[0], RunLooks)[0]; c.Single() <= 0.001 {
				gateT.Add(1)
			}
			stopped := false
			for i := range m {
				c := gated(m[i])
				if i == 0 && c.Single() <= 0.001 {
					gateRanks.Add(1)
				}
				stopped = stopped || c.Single() <= 0.001 && c.Ratio > 1
			}
			if stopped {
				gates.Add(1)
			}
		})
		of := float64(runs)
		got := float64(once.Load()) / of
		t.Logf("%-36s %d settings: %.2f %% of runs report a change (%.1f %% without allowing for looks); a gate by t errs in %.3f %% of comparisons, by ranks in %.3f %%, and stops %.2f %% of runs",
			w.noise.name, w.settings, 100*got, 100*float64(naive.Load())/of, 100*float64(gateT.Load())/of, 100*float64(gateRanks.Load())/of, 100*float64(gates.Load())/of)
		if got > atMost(0.05, runs) {
			t.Errorf("%s, %d settings: %.4f of runs report a change", w.noise.name, w.settings, got)
		}
		if g := float64(gateRanks.Load()) / of; g > atMost(0.001, runs) {
			t.Errorf("%s, %d settings: a gate fails for %.5f of comparisons", w.noise.name, w.settings, g)
		}
	}
}

func anyBelow(family []*Comparison, alpha float64) bool {
	for _, c := range family {
		if c.Adjusted <= alpha {
			return true
		}
	}
	return false
}

// known reports whether more blocks would tell nothing that anybody cares about, as
// compare's Table.Decided does.
func known(c Comparison, r Rule) bool {
	return c.Verdict(r) != Unclear || math.Log(c.Hi/c.Lo)/2 <= r.margin() && c.Lo <= 1 && 1 <= c.Hi
}

// What the intervals of a run hold that ended when all its comparisons were decided, how
// often a change is found and after how many blocks, and how often one just as great as
// the negligible change is called the same or as a limit passes it. With one metric, it
// alone decides when the run ends.
func TestLooksCoverage(t *testing.T) {
	seed := uint64(10000)
	for metrics, noises := range map[int][]runNoise{5: runNoises[:3], 1: runNoises[:1]} {
		t.Run(fmt.Sprintf("%d metrics", metrics), func(t *testing.T) {
			seed := seed + 1000*uint64(metrics)
			for _, x := range noises {
				for _, change := range []float64{0, 0.01, 0.02, 0.03, 0.05, 0.10} {
					for _, sd := range []float64{0.005, 0.01, 0.02, 0.05} {
						seed++
						runWorld{noise: x, settings: 2, metrics: metrics, sd: sd, effect: math.Log1p(change)}.cover(t, seed, change)
					}
				}
			}
		})
	}
}

// cover runs until all is decided, and counts what is said of the true change.
func (w runWorld) cover(t *testing.T, seed uint64, change float64) {
	runs := often(100, 8000)
	var blocks, plain, all, found, same, passed, of atomic.Int64
	count := func(n *atomic.Int64, is bool) {
		if is {
			n.Add(1)
		}
	}
	w.simulate(runs, seed, func(m [][][]float64) {
		ended, family := endedAt(m)
		blocks.Add(int64(ended))
		for _, c := range family {
			of.Add(1)
			lo, hi := c.Interval(0.05)
			count(&plain, c.Lo <= 1+change && 1+change <= c.Hi)
			count(&all, lo <= 1+change && 1+change <= hi)
			count(&found, c.Verdict(Rule{}) == Worse)
			count(&same, c.Verdict(Rule{}) == Same)
		}
		// A limit as great as the change, in a run that may end as soon as it is kept.
		count(&passed, slices.ContainsFunc(RunLooks, func(n int) bool { return Compare(m[0][:n])[0].Hi < 1+change }))
	})
	share := func(n *atomic.Int64) float64 { return 100 * float64(n.Load()) / float64(of.Load()) }
	t.Logf("%-24s %+5.1f %% at %.1f %%: %4.1f blocks; worse %5.1f %%, same %5.1f %%; plain interval covers %.1f %%, that for looks %.1f %%; %.1f %% would pass at the limit",
		w.noise.name, 100*change, 100*w.sd, float64(blocks.Load())/float64(runs), share(&found), share(&same),
		share(&plain), share(&all), 100*float64(passed.Load())/float64(runs))
	if got := share(&all) / 100; got < 0.95-3*math.Sqrt(0.05*0.95/float64(runs)) {
		t.Errorf("%s, %v at %v: the interval for looks covers %.4f", w.noise.name, change, w.sd, got)
	}
}

// endedAt is the number of blocks after which all is known of a run, and what is.
func endedAt(m [][][]float64) (blocks int, family []*Comparison) {
	for _, blocks = range RunLooks {
		family = looked(m, blocks, RunLooks)
		if !slices.ContainsFunc(family, func(c *Comparison) bool { return !known(*c, Rule{}) }) {
			break
		}
	}
	return blocks, family
}
