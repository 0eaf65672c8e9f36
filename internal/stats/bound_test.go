package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	blocks := make([][]float64, 8)
	for i := range blocks {
		blocks[i] = []float64{100 * math.Exp(0.05*rng.NormFloat64()), 110 * math.Exp(0.05*rng.NormFloat64())}
	}
	c := Compare(blocks)[0]
	lo, hi := c.Interval(0.05)
	if math.Abs(lo-c.Lo) > 1e-9 || math.Abs(hi-c.Hi) > 1e-9 {
		t.Errorf("[%v, %v], want [%v, %v]", lo, hi, c.Lo, c.Hi)
	}
	if wide, far := c.Interval(0.001); !(wide < lo && far > hi) {
		t.Errorf("[%v, %v] is no wider than [%v, %v]", wide, far, lo, hi)
	}
	// As many blocks as are said to be needed do, and one less does not.
	for _, alpha := range []float64{0.05, 0.002} {
		lo, hi := c.Interval(alpha)
		limit := math.Sqrt(lo * c.Ratio)
		more := c.MoreBeside(limit, alpha)
		if more == 0 {
			t.Fatalf("nothing is said of %v in [%v, %v]", limit, lo, hi)
		}
		for n, out := range map[int]bool{c.N + more: true, c.N + more - 1: false} {
			d := c
			d.DF, d.N = c.DF*float64(n-1)/float64(c.N-1), n
			if lo, _ := d.Interval(alpha); (limit < lo) != out {
				t.Errorf("alpha %v, %d blocks: %v and from %v", alpha, n, limit, lo)
			}
		}
		if c.MoreBeside(lo/2, alpha) != 0 || c.MoreBeside(c.Ratio, alpha) != 0 {
			t.Error("blocks are said to settle what is settled or never will be")
		}
	}
}

// Without any spread a few blocks are no proof.
func TestIntervalStill(t *testing.T) {
	constant := func(n int) Comparison {
		blocks := make([][]float64, n)
		for i := range blocks {
			blocks[i] = []float64{2, 3}
		}
		return Compare(blocks)[0]
	}
	if lo, hi := constant(5).Interval(0.05); !math.IsNaN(lo) || !math.IsNaN(hi) {
		t.Errorf("five blocks: [%v, %v]", lo, hi)
	}
	if lo, hi := constant(6).Interval(0.05); lo != hi || math.Abs(lo-1.5) > 1e-12 {
		t.Errorf("six blocks: [%v, %v]", lo, hi)
	}
	if lo, _ := Compare([][]float64{{0, 3}, {1, 2}})[0].Interval(0.05); !math.IsNaN(lo) {
		t.Errorf("a zero has the interval from %v", lo)
	}
	if lo, _ := constant(1).Interval(0.05); !math.IsNaN(lo) {
		t.Errorf("one block has the interval from %v", lo)
	}
}
