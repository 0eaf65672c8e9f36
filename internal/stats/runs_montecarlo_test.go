package stats

import (
	"cmp"
	"flag"
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
	{"launches in two modes, all metrics alike", func(r *rand.Rand, _ []int, block [][]float64) {
		for j := range block[0] {
			mode := 5 * float64(r.IntN(2))
			for i := range block {
				block[i][j] = mode + 0.1*r.NormFloat64()
			}
		}
	}},
	{"first is slower", firstSlower(10)},
	{"first is slower, a little", firstSlower(1)},
	{"first is faster, much", firstSlower(-30)},
	{"coarse", cells(func(r *rand.Rand) float64 { return math.Round(0.7 * r.NormFloat64()) })},
	{"a baseline x3", func(r *rand.Rand, lots []int, block [][]float64) {
		cells(normal)(r, lots, block)
		for i := range block {
			block[i][0] *= 3
		}
	}},
}

// firstSlower is a launch that costs so much more if it is the first of its block.
func firstSlower(by float64) func(*rand.Rand, []int, [][]float64) {
	return func(r *rand.Rand, lots []int, block [][]float64) {
		for i := range block {
			for j := range block[i] {
				block[i][j] = r.NormFloat64()
				if lots[j] == 0 {
					block[i][j] += by
				}
			}
		}
	}
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
	along             float64 // autocorrelation from one trial to the next launched
	effect            float64 // true log ratio of all settings to the baseline, in all metrics
}

// mostBlocks is dyno.MostBlocks.
const mostBlocks = 40

// simulate gives each run's values, metric by block by setting, to f, in parallel.
func (w runWorld) simulate(n int, seed uint64, f func(m [][][]float64)) {
	const parts = 4
	done := make(chan bool)
	for p := range parts {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			for range n / parts {
				f(w.run(r))
			}
			done <- true
		}()
	}
	for range parts {
		<-done
	}
}

func (w runWorld) run(r *rand.Rand) [][][]float64 {
	m := make([][][]float64, w.metrics)
	last := make([]float64, w.metrics)
	var square [][]int
	for b := range mostBlocks {
		if b%(2*w.settings) == 0 {
			square = append(latin(r, w.settings), latin(r, w.settings)...)
			r.Shuffle(len(square), func(i, j int) { square[i], square[j] = square[j], square[i] })
		}
		lots := square[b%len(square)]
		block := make([][]float64, w.metrics)
		for i := range block {
			block[i] = make([]float64, w.settings)
		}
		w.noise.fill(r, lots, block)
		if w.along > 0 {
			autocorrelate(block, lots, last, w.along)
		}
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
	return m
}

// latin is a group of blocks in which each setting has each place in the order once: row by block, the place of each
// setting. Two of them, shuffled, are what dyno.Experiment.Trials has.
func latin(r *rand.Rand, n int) [][]int {
	rows, places := r.Perm(n), r.Perm(n)
	square := make([][]int, n)
	for i := range square {
		square[i] = make([]int, n)
		for j := range n {
			square[i][j] = (rows[i] + places[j]) % n
		}
	}
	return square
}

// autocorrelate makes each trial resemble the one that was launched before it.
func autocorrelate(block [][]float64, lots []int, last []float64, along float64) {
	order := make([]int, len(lots))
	for j, place := range lots {
		order[place] = j
	}
	for i := range block {
		for _, j := range order {
			block[i][j] = along*last[i] + math.Sqrt(1-along*along)*block[i][j]
			last[i] = block[i][j]
		}
	}
}

// looked is the analysis of a run after so many blocks.
func looked(m [][][]float64, blocks int) []*Comparison {
	var family []*Comparison
	for i := range m {
		cs := Compare(m[i][:blocks])
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
	return GateRanks(d, true)
}

// runWorlds are those without any difference.
func runWorlds() (worlds []runWorld) {
	for _, settings := range []int{2, 3, 5} {
		for _, x := range runNoises {
			worlds = append(worlds, runWorld{noise: x, settings: settings, metrics: 5, sd: 0.02})
		}
		for _, along := range []float64{0.5, 0.9} {
			x := runNoises[0]
			x.name = fmt.Sprintf("autocorrelated %v", along)
			worlds = append(worlds, runWorld{noise: x, settings: settings, metrics: 5, sd: 0.02, along: along})
		}
	}
	drifting := runNoises[0]
	drifting.name = "normal, linear drift between blocks"
	return append(worlds, runWorld{noise: drifting, settings: 2, metrics: 5, sd: 0.02, drift: 0.5})
}

var simulated = flag.Int("runs", 0, "runs of services that are simulated of each noise; 0 is 40, or 2000 with -full")

// A runFault is what is wrong with a run without any difference, at some number of blocks from 2 on:
// the worst moment to end it.
type runFault struct{ changed, torn, missed, gate, stopped bool }

func faultOf(m [][][]float64) (f runFault) {
	hints := make([]hint, len(m))
	gate := FewestGateBlocks(0.001)
	for n := 2; n <= mostBlocks; n++ {
		worth := false
		for i := range m {
			hints[i].add(m[i][n-1])
			worth = worth || hints[i].t(n) > 2
		}
		if worth || n < FewestBlocks || len(m[0][0]) > 3 { // of more settings others' deviations count
			f.look(m, n)
		}
		for i := range m {
			if n < gate || hints[i].ranks(n) > 0.01 {
				continue
			}
			c := gated(m[i][:n])
			f.gate = f.gate || i == 0 && c.Single() <= 0.001
			f.stopped = f.stopped || c.Single() <= 0.001 && c.Ratio > 1
		}
	}
	return f
}

// runAlpha is compare.PrimaryAlpha.
const runAlpha = 0.035

func (f *runFault) look(m [][][]float64, n int) {
	for i, c := range looked(m, n) {
		v := c.Verdict(Rule{Alpha: runAlpha, Negligible: -1})
		changed := v == Better || v == Worse
		contains := !(c.Lo > 1 || c.Hi < 1)
		f.changed = f.changed || changed
		f.torn = f.torn || changed && (contains || (c.Lo > 1) != (v == Worse))
		f.missed = f.missed || i == 0 && !contains
	}
}

// A hint tells in no time whether there may be anything to find, so that the simulation looks only then.
type hint struct {
	d        [][]float64 // log ratios of each setting
	sum, sq  []float64
	positive int // Walsh averages of setting 1
}

func (h *hint) add(row []float64) {
	if h.d == nil {
		h.d, h.sum, h.sq = make([][]float64, len(row)-1), make([]float64, len(row)-1), make([]float64, len(row)-1)
	}
	for j := range h.d {
		x := math.Log(row[j+1] / row[0])
		h.d[j] = append(h.d[j], x)
		h.sum[j], h.sq[j] = h.sum[j]+x, h.sq[j]+x*x
	}
	last := h.d[0][len(h.d[0])-1]
	for _, x := range h.d[0] {
		if x+last > 0 {
			h.positive++
		}
	}
}

func (h *hint) t(blocks int) (most float64) {
	n := float64(blocks)
	for j := range h.d {
		mean := h.sum[j] / n
		most = max(most, math.Abs(mean)/math.Sqrt((h.sq[j]-mean*h.sum[j])/(n-1)/n))
	}
	return most
}

func (h *hint) ranks(n int) float64 { return untied(n)[min(h.positive, n*(n+1)/2-h.positive)] }

// Whatever ends a run, and whoever looks at it meanwhile: it has an error in its family no
// more often than said, its intervals miss the truth no more often, and no verdict contradicts its interval.
func TestRunsError(t *testing.T) {
	runs := cmp.Or(*simulated, often(40, 2000))
	for i, w := range runWorlds() {
		var changed, torn, missed, gate, stopped atomic.Int64
		count := func(n *atomic.Int64, is bool) {
			if is {
				n.Add(1)
			}
		}
		w.simulate(runs, 9000+uint64(i), func(m [][][]float64) {
			f := faultOf(m)
			count(&changed, f.changed)
			count(&torn, f.torn)
			count(&missed, f.missed)
			count(&gate, f.gate)
			count(&stopped, f.stopped)
		})
		share := func(n *atomic.Int64) float64 { return float64(n.Load()) / float64(runs) }
		t.Logf("%-40s %d settings: %.2f %% of runs report a change, an interval misses in %.2f %%; a gate errs in %.3f %% of comparisons, and stops %.2f %% of runs",
			w.noise.name, w.settings, 100*share(&changed), 100*share(&missed), 100*share(&gate), 100*share(&stopped))
		if got := share(&changed); got > atMost(0.045, runs) { // 0.5 % are left for all else that a report calls changed
			t.Errorf("%s, %d settings: %.4f of runs report a change", w.noise.name, w.settings, got)
		}
		if got := share(&missed); got > atMost(0.06, runs) {
			t.Errorf("%s, %d settings: the interval misses in %.4f of runs", w.noise.name, w.settings, got)
		}
		if got := share(&gate); got > atMost(0.001, runs) {
			t.Errorf("%s, %d settings: a gate fails for %.5f of comparisons", w.noise.name, w.settings, got)
		}
		if torn.Load() > 0 {
			t.Errorf("%s, %d settings: %d verdicts contradict their interval", w.noise.name, w.settings, torn.Load())
		}
	}
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
func TestRunsCoverage(t *testing.T) {
	for metrics, noises := range map[int][]runNoise{5: runNoises[:3], 1: runNoises[:1]} {
		t.Run(fmt.Sprintf("%d metrics", metrics), func(t *testing.T) {
			seed := 10000 + 1000*uint64(metrics)
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
	runs := often(40, 8000)
	var blocks, covers, found, same, passed, of atomic.Int64
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
			count(&covers, c.Lo <= 1+change && 1+change <= c.Hi)
			count(&found, c.Verdict(Rule{}) == Worse)
			count(&same, c.Verdict(Rule{}) == Same)
		}
		pass := false // a limit as great as the change, in a run that may end as soon as it is kept
		for n := FewestBlocks; n <= mostBlocks; n++ {
			pass = pass || Compare(m[0][:n])[0].Hi < 1+change
		}
		count(&passed, pass)
	})
	share := func(n *atomic.Int64) float64 { return 100 * float64(n.Load()) / float64(of.Load()) }
	t.Logf("%-24s %+5.1f %% at %.1f %%: %4.1f blocks; worse %5.1f %%, same %5.1f %%; the interval covers %.1f %%; %.1f %% would pass at the limit",
		w.noise.name, 100*change, 100*w.sd, float64(blocks.Load())/float64(runs), share(&found), share(&same),
		share(&covers), 100*float64(passed.Load())/float64(runs))
	if got := share(&covers) / 100; got < 0.95-3*math.Sqrt(0.05*0.95/float64(runs)) {
		t.Errorf("%s, %v at %v: the interval covers %.4f", w.noise.name, change, w.sd, got)
	}
}

// endedAt is the number of blocks after which all is known of a run, and what is.
func endedAt(m [][][]float64) (blocks int, family []*Comparison) {
	for blocks = FewestBlocks; ; blocks++ {
		family = looked(m, blocks)
		if blocks == mostBlocks || !slices.ContainsFunc(family, func(c *Comparison) bool { return !known(*c, Rule{}) }) {
			return blocks, family
		}
	}
}
