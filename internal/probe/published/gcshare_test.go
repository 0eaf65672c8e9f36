package published

import (
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// The share since the program began becomes that of the window.
func TestGCShare(t *testing.T) {
	began := time.Unix(1000, 0)
	share := &gcShare{began: began}
	var w published
	for _, page := range []struct{ at, fraction, last float64 }{
		{0, 0.5, 100}, // half of the first 100 s
		{1, 0.5, 100}, // no collection since
		{2, 0.495050, 102},
		{4, 0.490196, 102}, // as one that was under way since, and never was
		{5, 0.5, 105},
	} {
		w.sample(time.Duration(page.at*1e9), share.add([]number{
			{"GCCPUFraction", page.fraction, use{}},
			{"LastGC", (1000 + page.last) * 1e9, use{}},
			{"LastGC", 7, use{own: true}},
		}))
	}
	r := w.reading(true)
	share.value(&r, w.at)
	if v, _ := r.Values.Get("gc-capacity-frac"); math.Abs(v-0.5) > 1e-9 {
		t.Errorf("share of the window %v, want 2.5 s of 5", v)
	}
	s := seriesIn(t, r, "gc-capacity-frac")
	for i, want := range []float64{0, 0.4951, 0, 2.0049} {
		if math.Abs(s.Value[i]-want) > 1e-3 {
			t.Errorf("share %v", s.Value)
			break
		}
	}
	var without dyno.Values
	for _, n := range new(gcShare).add([]number{{"GCCPUFraction", 0.5, use{}}}) {
		without = append(without, dyno.Value{Metric: n.name})
	}
	if len(without) != 1 {
		t.Errorf("without the beginning of the process: %v", without)
	}
}
