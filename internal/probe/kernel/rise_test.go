package kernel

import (
	"testing"
	"time"
)

// What still grows in the last third is told from what grew before, however many readings there are.
func TestRise(t *testing.T) {
	for name, c := range map[string]struct {
		at           func(share float64) float64
		before, late float64 // about
	}{
		"level":               {func(float64) float64 { return 100 }, 100, 100},
		"to the end":          {func(share float64) float64 { return 100 * share }, 67, 100},
		"up to the middle":    {func(share float64) float64 { return 100 * min(1, 2*share) }, 100, 100},
		"a peak at the begin": {func(share float64) float64 { return 100 - 50*min(1, 10*share) }, 100, 50},
		"saw":                 {func(share float64) float64 { return 50 + float64(int(share*1e5)%50) }, 99, 99},
		"a step near the end": {func(share float64) float64 { return 100 * float64(1+int(share+0.1)) }, 100, 200},
		"nothing but one peak": {func(share float64) float64 {
			return map[bool]float64{true: 300, false: 1}[share > 0.5 && share < 0.5002]
		}, 300, 1},
	} {
		for _, n := range []int{100, 1000, 30_000} {
			if (name == "nothing but one peak" || name == "saw") && n < 30_000 {
				continue
			}
			var r rise
			for i := range n {
				r.add(time.Duration(i)*time.Millisecond, c.at(float64(i)/float64(n)))
			}
			if before, late := r.most(); before < c.before-3 || before > c.before+3 || late < c.late-3 || late > c.late+3 {
				t.Errorf("%s, %d readings: %v, then %v; want %v and %v", name, n, before, late, c.before, c.late)
			}
			if len(r.at) > mostReadings {
				t.Errorf("%d readings are kept", len(r.at))
			}
		}
	}
	var few rise
	few.add(0, 1)
	if before, late := few.most(); before != 0 || late != 0 {
		t.Error("one reading tells of growth")
	}
}
