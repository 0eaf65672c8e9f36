package findings

import (
	"math"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/stats"
)

// What traces are sure of replaces what only changed along with a percentile, of that percentile alone.
func TestBecause(t *testing.T) {
	along := []compare.Cause{{Class: compare.ClassCPU, Metric: "cpu-sec/req"}}
	for _, c := range []struct {
		name  string
		moved *slow.Change
		share float64 // of p99's change; NaN: what it was
	}{
		{"one sure line", &slow.Change{Quantile: 0.99, Near: 0.002, Moves: []slow.Move{
			{Site: slow.Site{Func: "main.get", File: "cache.go", Line: 41}, Shift: stats.Shift{Diff: 0.0019, Lo: 0.0017, Hi: 0.0021}, Sure: true},
			{Site: slow.Site{Func: "main.other"}, Shift: stats.Shift{Diff: 0.0001}},
		}}, 0.95},
		{"nothing sure", &slow.Change{Quantile: 0.99, Near: 0.002, Moves: []slow.Move{{Shift: stats.Shift{Diff: 0.001}}}}, math.NaN()},
		{"the other way", &slow.Change{Quantile: 0.99, Near: -0.002, Moves: []slow.Move{{Shift: stats.Shift{Diff: 0.001}, Sure: true}}}, math.NaN()},
		{"a part of it", &slow.Change{Quantile: 0.99, Near: 0.002, Moves: []slow.Move{{Shift: stats.Shift{Diff: 0.0005}, Sure: true}}}, math.NaN()},
		{"less in traces, more before", &slow.Change{Quantile: 0.99, Near: -0.002, Moves: []slow.Move{{Shift: stats.Shift{Diff: -0.002}, Sure: true}}}, math.NaN()},
		{"another percentile", &slow.Change{Quantile: 0.999, Near: 0.002, Moves: []slow.Move{{Shift: stats.Shift{Diff: 0.001}, Sure: true}}}, math.NaN()},
		{"no traces", nil, math.NaN()},
	} {
		s := compare.Setting{
			Why:    []compare.Why{{Metric: "p50-sec", Causes: along}, {Metric: "p99-sec", Causes: along}},
			Versus: map[string]compare.Versus{"p50-sec": {Ratio: 1.2}, "p99-sec": {Ratio: 1.3}},
		}
		because(&s, c.moved)
		p50, p99 := s.Why[0].Causes[0], s.Why[1].Causes[0]
		if p50.Class != compare.ClassCPU {
			t.Errorf("%s: p50 has %+v", c.name, p50)
		}
		switch {
		case math.IsNaN(c.share) && p99.Class != compare.ClassCPU:
			t.Errorf("%s: p99 has %+v", c.name, p99)
		case !math.IsNaN(c.share) && (p99.Class != compare.ClassSlow || math.Abs(float64(p99.Share)-c.share) > 1e-9 || len(p99.Places) != 1 || p99.Places[0].Line != 41):
			t.Errorf("%s: p99 has %+v", c.name, p99)
		}
	}
}
