package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Whoever looks after each block finds a change where none is as often as said, and hardly less.
func TestAnytime(t *testing.T) {
	const most = 120
	runs := often(20000, 1000000)
	alphas := []float64{0.05, 0.01, 0.005, 0.001, 0.0002}
	counts := inParts(runs, 4100, func(r *rand.Rand) []bool {
		best, sum, squares := 1.0, 0.0, 0.0
		for n := 1; n <= most; n++ {
			x := r.NormFloat64()
			sum, squares = sum+x, squares+x*x
			if n < FewestBlocks || n > 60 && n%3 > 0 {
				continue
			}
			mean := sum / float64(n)
			se := math.Sqrt((squares - mean*sum) / float64(n-1) / float64(n))
			best = min(best, anytime(tailT(mean/se, float64(n-1)), n))
		}
		return below(best, alphas)
	})
	for i, alpha := range alphas {
		got := float64(counts[i]) / float64(runs)
		t.Logf("alpha %.4f: %.5f", alpha, got)
		if slack := 4 * math.Sqrt(alpha/float64(runs)); got > alpha+slack || got < 0.8*alpha-slack {
			t.Errorf("at an error of %v %v of runs find a change", alpha, got)
		}
	}
}

// The same of signed ranks, at a gate's error.
func TestAnytimeRanks(t *testing.T) {
	const most = 60
	runs := often(20000, 1000000)
	alphas := []float64{0.05, 0.01, 0.001}
	counts := inParts(runs, 4200, func(r *rand.Rand) []bool {
		var xs []float64
		best, positive := 1.0, 0 // Walsh averages above 0, the statistic
		for n := 1; n <= most; n++ {
			x := r.NormFloat64()
			xs = append(xs, x)
			for _, y := range xs {
				if x+y > 0 {
					positive++
				}
			}
			if n >= FewestBlocks {
				least := min(positive, n*(n+1)/2-positive)
				best = min(best, anytimeRanks(min(1, 2*untied(n)[least]), n))
			}
		}
		return below(best, alphas)
	})
	for i, alpha := range alphas {
		got := float64(counts[i]) / float64(runs)
		t.Logf("alpha %.4f: %.5f", alpha, got)
		if got > alpha+4*math.Sqrt(alpha/float64(runs)) {
			t.Errorf("at an error of %v %v of runs find a change", alpha, got)
		}
	}
}

// inParts counts, over so many runs, which of the results of run are true.
func inParts(runs int, seed uint64, run func(r *rand.Rand) []bool) []int {
	const parts = 4
	found := make(chan []int)
	for p := range parts {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			var counts []int
			for range runs / parts {
				for i, is := range run(r) {
					if i == len(counts) {
						counts = append(counts, 0)
					}
					if is {
						counts[i]++
					}
				}
			}
			found <- counts
		}()
	}
	var all []int
	for range parts {
		for i, n := range <-found {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] += n
		}
	}
	return all
}

func below(p float64, alphas []float64) (is []bool) {
	for _, alpha := range alphas {
		is = append(is, p <= alpha)
	}
	return is
}

// What once inverts.
func TestOnce(t *testing.T) {
	for _, n := range []int{6, 7, 40, 41, 300} {
		for _, alpha := range []float64{0.05, 0.01, 1e-3, 1e-6, 1e-12} {
			if p := once(alpha, n); math.Abs(anytime(p, n)/alpha-1) > 1e-6 {
				t.Errorf("%d blocks at %v: %v has %v", n, alpha, p, anytime(p, n))
			}
		}
	}
	if once(0.05, 5) != 0 || anytime(1e-9, 5) != 1 || anytime(0, 9) != 0 || anytime(1, 9) != 1 {
		t.Error("the ends")
	}
	last := 0.0 // an interval never becomes wider by a block
	for n := FewestBlocks; n < 400; n++ {
		half := quantileT(once(0.05, n), float64(n-1)) / math.Sqrt(float64(n))
		if last > 0 && half > last {
			t.Errorf("wider with %d blocks: %v after %v", n, half, last)
		}
		last = half
	}
}
