package stats

import (
	"math"
	"testing"
)

// The interval of 1 … 5 by hand: 3 ± 2.776·√(2.5/5).
func TestMeanOf(t *testing.T) {
	nan := math.NaN()
	m := MeanOf([]float64{1, 2, nan, 3, 4, 5})
	if m.Mean != 3 || math.Abs(m.Hi-4.9632) > 1e-4 || math.Abs(m.Lo-1.0368) > 1e-4 {
		t.Errorf("%+v", m)
	}
	if m = MeanOf([]float64{7}); m.Mean != 7 || !math.IsNaN(m.Lo) || !math.IsNaN(m.Hi) {
		t.Errorf("one: %+v", m)
	}
	if m = MeanOf(nil); !math.IsNaN(m.Mean) {
		t.Errorf("none: %+v", m)
	}
}
