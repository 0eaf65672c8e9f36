package predict

import (
	"math"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A remedy is the GOGC nearest to today's that gets a metric back, and it says what that costs. If no GOGC does, there is no remedy.
func TestRemedy(t *testing.T) {
	g := guide{live: 40 * mib, each: 1 << 20, cliff: 50 * mib}
	wide := 0.001 // on each side of a change
	of := func(now float64, metric string, by float64) *Remedy {
		s := &Source{Pooled: []Window{{Window: gcmodel.Window{Setting: gcmodel.Setting{GOGC: now}}}}}
		return s.remedy(g, metric, func(of string) (ratio, lo, hi float64) {
			if of == metric {
				return by, by - wide, by + wide
			}
			return 1, 1 - wide, 1 + wide
		})
	}
	// 88 MiB with GOGC=100: 15 % more are 13 MiB, of 40 MiB of room. The model's interval is 10 % on either side.
	r := of(100, "rss-peak-B", 1.15)
	if r == nil || r.GOGC != 70 || r.Memory.Value > 1 || r.Memory.Value < 0.97 || !(r.CPU.Value > 1) || !(r.Memory.Lo < r.Memory.Value && r.Memory.Value < r.Memory.Hi) {
		t.Errorf("15 %% more memory: %+v", r)
	}
	wide = 0.15
	if w := of(100, "rss-peak-B", 1.15); w != nil {
		t.Errorf("the change is hardly known: %+v", w)
	}
	wide = 0.001
	if r := of(20, "cpu-sec/req", 1.2); r == nil || r.GOGC <= 20 || r.CPU.Value > 1 || !(r.Memory.Value > 1) {
		t.Errorf("20 %% more CPU time: %+v", r)
	}
	for _, c := range []struct {
		now    float64
		metric string
		by     float64
	}{
		{100, "rss-peak-B", 3}, {100, "rss-peak-B", 1.05}, {100, "cpu-sec/req", 2}, {gcmodel.Off, "rss-peak-B", 1.08}, {100, "rss-peak-B", math.NaN()}, {100, "p50-sec", 1.1},
	} {
		if r := of(c.now, c.metric, c.by); r != nil {
			t.Errorf("GOGC=%v and %v times %s: %+v", c.now, c.by, c.metric, r)
		}
	}
	own := &Source{Pooled: []Window{{Window: gcmodel.Window{Setting: gcmodel.Setting{GOGC: 100}}}}, Notes: []Note{{Kind: InForce}}}
	if r := own.remedy(g, "rss-peak-B", func(string) (ratio, lo, hi float64) { return 1.15, 1.149, 1.151 }); r != nil {
		t.Errorf("a program that sets GOGC itself: %+v", r)
	}
	if RemedyOf(t.TempDir(), nil, "rss-peak-B", nil) != nil || RemedyOf("", nil, "", nil) != nil {
		t.Error("a remedy of nothing")
	}
}
