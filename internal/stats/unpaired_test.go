package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a ratio of 1.1 has it in 95 % of samples, also where the spreads differ.
func TestUnpaired(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	sample := func(n int, mean, sd float64) (xs []float64) {
		for range n {
			xs = append(xs, mean*math.Exp(sd*rng.NormFloat64()))
		}
		return xs
	}
	const tries = 4000
	covered := 0
	for range tries {
		_, lo, hi := Unpaired(sample(6, 1, 0.05), sample(5, 1.1, 0.15))
		if lo <= 1.1 && 1.1 <= hi {
			covered++
		}
	}
	if share := float64(covered) / tries; share < 0.94 || share > 0.965 {
		t.Errorf("intervals cover %.3f, want 0.95", share)
	}
	for _, c := range [][2][]float64{{{1}, {1, 2}}, {{0, 1}, {1, 2}}, {nil, nil}} {
		if r, lo, hi := Unpaired(c[0], c[1]); !math.IsNaN(r) || !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v: %v [%v, %v], want NaN", c, r, lo, hi)
		}
	}
	if r, lo, hi := Unpaired([]float64{2, 2}, []float64{3, 3}); math.Abs(r-1.5) > 1e-12 || lo != r || hi != r {
		t.Errorf("without spread: %v [%v, %v]", r, lo, hi)
	}
}
