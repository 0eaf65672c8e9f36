package stats

import (
	"math"
	"testing"
)

// The interval of 1 … 5 by hand: 3 ± 2.776·√(2.5/5).
func TestMean(t *testing.T) {
	nan := math.NaN()
	mean, lo, hi := Mean([]float64{1, 2, nan, 3, 4, 5})
	if mean != 3 || math.Abs(hi-4.9632) > 1e-4 || math.Abs(lo-1.0368) > 1e-4 {
		t.Errorf("%v [%v, %v]", mean, lo, hi)
	}
	if mean, lo, hi = Mean([]float64{7}); mean != 7 || !math.IsNaN(lo) || !math.IsNaN(hi) {
		t.Errorf("one: %v [%v, %v]", mean, lo, hi)
	}
	if mean, _, _ = Mean(nil); !math.IsNaN(mean) {
		t.Errorf("none: %v", mean)
	}
}
