package predict

import (
	"math"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A remedy is the GOGC nearest to today's that gets a metric back, with what it costs; of what cannot be had, there is none.
func TestRemedy(t *testing.T) {
	g := guide{live: 40 * mib, each: 1 << 20, cliff: 50 * mib}
	of := func(now float64, metric string, by float64) *Remedy {
		s := &Source{Pooled: []Window{{Window: gcmodel.Window{Setting: gcmodel.Setting{GOGC: now}}}}}
		return s.remedy(g, metric, func(of string) float64 {
			if of == metric {
				return by
			}
			return 1
		})
	}
	// 88 MiB with GOGC=100: 8 % more are 7 MiB, of 40 MiB of room.
	r := of(100, "rss-peak-B", 1.08)
	if r == nil || r.GOGC != 80 || r.Memory.Value > 1 || r.Memory.Value < 0.97 || !(r.CPU.Value > 1) || !(r.Memory.Lo < r.Memory.Value && r.Memory.Value < r.Memory.Hi) {
		t.Errorf("8 %% more memory: %+v", r)
	}
	if r := of(100, "cpu-sec/req", 1.0001); r == nil || r.GOGC <= 100 || r.CPU.Value > 1 || !(r.Memory.Value > 1) {
		t.Errorf("0.01 %% more CPU time: %+v", r)
	}
	for _, c := range []struct {
		now    float64
		metric string
		by     float64
	}{
		{100, "rss-peak-B", 3}, {100, "cpu-sec/req", 2}, {gcmodel.Off, "rss-peak-B", 1.08}, {100, "rss-peak-B", math.NaN()}, {100, "p50-sec", 1.1},
	} {
		if r := of(c.now, c.metric, c.by); r != nil {
			t.Errorf("GOGC=%v and %v times %s: %+v", c.now, c.by, c.metric, r)
		}
	}
	if RemedyOf(t.TempDir(), nil, "rss-peak-B", nil) != nil || RemedyOf("", nil, "", nil) != nil {
		t.Error("a remedy of nothing")
	}
}
