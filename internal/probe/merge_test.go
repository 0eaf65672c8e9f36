package probe

import (
	"testing"

	"github.com/dynolab/dyno"
)

func TestMerge(t *testing.T) {
	m := Merge(map[string]Reading{
		"proc":    {Values: dyno.Values{{Metric: "cpu-sec", Value: 9}, {Metric: "rss-peak-B", Value: 1}}, Warnings: dyno.Warnings{{Text: "a"}}},
		"gctrace": {Values: dyno.Values{{Metric: "gc-cycles", Value: 9}, {Metric: "stw-max-sec", Value: 1}}},
		"runtime": {Values: dyno.Values{{Metric: "cpu-sec", Value: 8}, {Metric: "gc-cpu-sec", Value: 2}, {Metric: "gc-cycles", Value: 3},
			{Metric: "stw-max-sec", Value: 5}}},
	})
	for metric, want := range map[string]float64{"cpu-sec": 8, "gc-cpu-frac": 0.25, "gc-cycles": 3, "stw-max-sec": 1, "rss-peak-B": 1} {
		if got, ok := m.Values.Get(metric); !ok || got != want {
			t.Errorf("%s = %v, want %v", metric, got, want)
		}
	}
	if len(m.Values) != 6 || len(m.Warnings) != 1 {
		t.Errorf("merged %+v", m)
	}
	for _, test := range []struct{ cpu, gc, cycles, warnings float64 }{{5.6, 6.4, 30, 1}, {5.6, 0.1, 2, 0}} {
		m = Merge(map[string]Reading{"runtime": {Values: dyno.Values{
			{Metric: "cpu-sec", Value: test.cpu}, {Metric: "gc-cpu-sec", Value: test.gc}, {Metric: "gc-cycles", Value: test.cycles},
		}}})
		if frac, ok := m.Values.Get("gc-cpu-frac"); ok || len(m.Warnings) != int(test.warnings) {
			t.Errorf("%+v: share %v, warnings %q", test, frac, m.Warnings)
		}
	}
}
