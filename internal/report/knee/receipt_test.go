package knee

import (
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/receipt"
)

// Each capacity is promised with its objectives, and a bound without the other one.
func TestReceipt(t *testing.T) {
	r := searched(t, 3*time.Minute, 500, 800)
	r.Plan = &dyno.Experiment{Name: "svc"}
	got := r.Receipt()
	if got == nil || got.From != "capacity" || got.Run != "." || len(got.Promises) != 2 {
		t.Fatalf("%+v", got)
	}
	if levels := got.Promises[0].Levels.String(); levels != "GOGC=1 GOMEMLIMIT=off" {
		t.Errorf("promised for %s", levels)
	}
	for i, want := range []float64{500, 800} {
		p := got.Promises[i]
		if p.Metric != receipt.CapacityMetric || math.Abs(float64(p.Value)/want-1) > 0.1 || !(p.Lo < p.Value && p.Value < p.Hi) || !p.Truth || len(p.Objectives) != 2 || p.Objectives[0] != "p99 < 30ms" {
			t.Errorf("%+v", p)
		}
	}
	r = searched(t, 3*time.Minute, 500)
	r.Plan = &dyno.Experiment{Name: "svc"}
	if keep(r, 600, 1e9); r.answers()[0].Kind != capacity.AtMost {
		t.Fatalf("%+v", r.answers())
	}
	if p := r.Receipt().Promises[0]; !math.IsNaN(float64(p.Lo)) || !(p.Hi > 0) {
		t.Errorf("less than that: %+v", p)
	}
	if r = searched(t, time.Minute); r.Receipt() != nil {
		t.Error("nothing was found, and something is promised")
	}
}
