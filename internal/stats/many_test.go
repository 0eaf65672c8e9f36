package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// A sampled world is a program of many functions that a sampling profiler
// looks at: samples are Poisson, and each trial is slower or faster as a whole
// and in each function.
type sampled struct {
	functions, blocks int
	samples           float64 // of a trial
	block, whole, own float64 // relative deviations: of a block, of a trial, of a function in a trial
	unlike            float64 // deviations of functions differ by exp of a normal of this deviation
	effect            float64 // relative change of function 3 (its share is some 7 %)
}

// shares are those of functions, as in real profiles: the k-th has 1/k.
func (w sampled) shares() []float64 {
	shares := make([]float64, w.functions)
	sum := 0.0
	for i := range shares {
		shares[i] = 1 / float64(i+1)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// poisson is near enough a normal number where there are many.
func poisson(mean float64, r *rand.Rand) float64 {
	if mean > 200 {
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	return distuv.Poisson{Lambda: mean, Src: r}.Rand()
}

func (w sampled) experiment(r *rand.Rand, shares []float64) ([]Pair, []float64, []float64) {
	pairs := make([]Pair, w.functions)
	totals := [2][]float64{make([]float64, w.blocks), make([]float64, w.blocks)}
	dev := make([]float64, w.functions)
	for i := range pairs {
		pairs[i] = Pair{make([]float64, w.blocks), make([]float64, w.blocks), make([]float64, w.blocks), false}
		dev[i] = w.own * math.Exp(w.unlike*r.NormFloat64())
	}
	for b := range w.blocks {
		block := math.Exp(w.block * r.NormFloat64())
		for side := range 2 {
			whole := block * math.Exp(w.whole*r.NormFloat64())
			for i := range pairs {
				mean := w.samples * shares[i] * whole * math.Exp(dev[i]*r.NormFloat64())
				if side == 1 && i == 2 {
					mean *= 1 + w.effect
				}
				x := poisson(mean, r)
				[2][]float64{pairs[i].Base, pairs[i].Other}[side][b] = x
				pairs[i].Sampling[b] += x + 0.5
				totals[side][b] += x
			}
		}
	}
	whole, _ := meanVar(append(totals[0], totals[1]...))
	for i := range pairs {
		a, _ := meanVar(pairs[i].Base)
		b, _ := meanVar(pairs[i].Other)
		pairs[i].Tested = (a+b)/2 >= whole*0.005
	}
	return pairs, totals[0], totals[1]
}

// found reports which functions an experiment would name: p at most 0.25 % and
// more than 1 % of the whole.
func found(pairs []Pair, base, other []float64) (any, third bool) {
	whole, _ := meanVar(append(base[:len(base):len(base)], other...))
	for i, s := range Many(pairs, base, other) {
		if s.Adjusted <= 0.0025 && math.Abs(s.Diff) >= 0.01*whole {
			any = true
			third = third || i == 2
		}
	}
	return any, third
}

func TestManyHoldsItsError(t *testing.T) {
	experiments := often(40, 4000)
	for _, w := range []sampled{
		{samples: 2000, whole: 0.03, own: 0.02},
		{samples: 2000, whole: 0.10, own: 0.05},
		{samples: 2000, whole: 0.03, own: 0.05, unlike: 1},
		{samples: 300, whole: 0.03, own: 0.02},
		{samples: 1e6, whole: 0.03, own: 0.02},
		{samples: 1e6, whole: 0.003, own: 0.001, unlike: 1},
		{samples: 1e6, block: 0.1, whole: 0.03, own: 0.02, unlike: 0.5},
	} {
		for _, w.functions = range []int{8, 200} {
			for _, w.blocks = range []int{3, 6} {
				t.Run(fmt.Sprintf("%+v", w), func(t *testing.T) {
					r := rand.New(rand.NewPCG(7, uint64(w.blocks)))
					shares := w.shares()
					false_, covered, intervals := 0, 0, 0
					for range experiments {
						pairs, a, b := w.experiment(r, shares)
						if any, _ := found(pairs, a, b); any {
							false_++
						}
						for i, s := range Many(pairs, a, b) {
							if pairs[i].Tested {
								intervals++
								if s.Lo <= 0 && 0 <= s.Hi {
									covered++
								}
							}
						}
					}
					rate, cover := float64(false_)/float64(experiments), float64(covered)/float64(intervals)
					if limit := 0.01 + 3*math.Sqrt(0.01/float64(experiments)); rate > limit {
						t.Errorf("false reports in %.2f %% of A/A pairs", 100*rate)
					}
					if cover < 0.93 {
						t.Errorf("intervals cover in %.1f %%", 100*cover)
					}
					t.Logf("false reports in %.2f %% of A/A pairs; coverage %.1f %%", 100*rate, 100*cover)
				})
			}
		}
	}
}

func TestManyFinds(t *testing.T) {
	experiments := often(40, 1000)
	for _, x := range []struct {
		sampled
		least [3]float64 // found with 3, 6 and 10 blocks
	}{
		{sampled{samples: 2000, whole: 0.03, own: 0.02, effect: -0.2}, [3]float64{0, 0.05, 0.35}},
		{sampled{samples: 2000, whole: 0.03, own: 0.02, effect: -0.5}, [3]float64{0.45, 0.95, 0.95}},
		{sampled{samples: 10000, whole: 0.01, own: 0.01, effect: -0.2}, [3]float64{0.3, 0.6, 0.7}},
		{sampled{samples: 1e6, whole: 0.003, own: 0.003, effect: -0.2}, [3]float64{0.95, 0.95, 0.95}},
		{sampled{samples: 1e6, whole: 0.003, own: 0.003, effect: -0.5}, [3]float64{0.95, 0.95, 0.95}},
	} {
		w := x.sampled
		w.functions = 200
		for i, blocks := range []int{3, 6, 10} {
			w.blocks = blocks
			t.Run(fmt.Sprintf("%+v", w), func(t *testing.T) {
				r := rand.New(rand.NewPCG(8, uint64(w.blocks)))
				shares := w.shares()
				n := 0
				for range experiments {
					pairs, a, b := w.experiment(r, shares)
					if _, third := found(pairs, a, b); third {
						n++
					}
				}
				rate := float64(n) / float64(experiments)
				if rate < x.least[i] {
					t.Errorf("found in %.1f %%", 100*rate)
				}
				t.Logf("found in %.1f %%", 100*rate)
			})
		}
	}
}

// A part is told apart by its own deviations, however much others vary; and never by less than counting allows.
func TestEach(t *testing.T) {
	zero := make([]float64, 6)
	pairs := []Pair{
		{Base: []float64{5, 5.1, 4.9, 5, 5.1, 4.9}, Other: []float64{7, 7.1, 6.9, 7.1, 7, 6.9}, Sampling: zero, Tested: true},
		{Base: []float64{.01, .09, .02, .05, .01, .03}, Other: []float64{.05, .01, .07, .02, .08, .01}, Sampling: zero, Tested: true},
		{Base: []float64{1, 1, 1, 1, 1, 1}, Other: []float64{2, 2, 2, 2, 2, 2}, Sampling: []float64{9, 9, 9, 9, 9, 9}, Tested: true},
		{Base: zero, Other: zero, Sampling: zero, Tested: true},
	}
	got := Each(pairs)
	if s := got[0]; s.Diff != 2 || !(s.Lo > 1.9) || !(s.Hi < 2.1) || !(s.Adjusted < 1e-5) {
		t.Errorf("a change of 2: %+v", s)
	}
	if s := got[1]; !(s.Adjusted > 0.05) {
		t.Errorf("of noise: %+v", s)
	}
	if s := got[2]; !(s.Lo < 0) || !(s.Adjusted > 0.05) {
		t.Errorf("of few requests: %+v", s)
	}
	if s := got[3]; s.Diff != 0 || !math.IsNaN(s.P) || !math.IsNaN(s.Adjusted) {
		t.Errorf("of nothing: %+v", s)
	}
}
