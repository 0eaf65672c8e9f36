package upgraded

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/upgrade"
)

// What the new version costs is promised whether it is safe or not; a program that does not build promises nothing.
func TestReceipt(t *testing.T) {
	r := &Report{Old: dyno.Setting{{Factor: "go", Value: "1.26.8"}}, New: dyno.Setting{{Factor: "go", Value: "1.27.4"}}, Name: "svc", Plan: &dyno.Experiment{Name: "svc"}}
	r.Run, r.Kind = "1-versions", upgrade.NotSafe
	r.Table = &compare.Table{Settings: []compare.Setting{{}, {
		Values: map[string]compare.Summary{"p99-sec": {Center: 0.01, Trials: []float64{0.009, 0.01, 0.011}}},
		Versus: map[string]compare.Versus{"p99-sec": {Ratio: 1.1, Lo: 1.05, Hi: 1.15}},
	}}}
	got := r.Receipt()
	if got == nil || got.From != "upgrade" || got.Run != "1-versions" || len(got.Promises) != 2 {
		t.Fatalf("%+v", got)
	}
	if p := got.Promises[1]; p.Name != "go=1.27.4" || p.Against == nil || p.Against.Name != "go=1.26.8" || p.Value != 1.1 {
		t.Errorf("%+v", p)
	}
	if r.Table = nil; r.Receipt() != nil {
		t.Error("nothing was measured, and something is promised")
	}
}
