package prediction

import (
	"math"
	"slices"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/receipt"
)

// Settings that were not measured are promised, with the model's intervals and doubts; not what never collects.
func TestReceipt(t *testing.T) {
	s := source(guide{}, 40, gcmodel.Setting{GOGC: 100})
	s.Group, s.Go = "rev=main", "1.26.8"
	f := s.Forecast(guide{}, predict.Question{GOGC: []float64{50, 100, gcmodel.Off}, Limits: []float64{0, 78 * mib}})
	r := Receipt(f, answer.Head{Dyno: "v1"})
	var names []string
	for _, p := range r.Promises {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
		if p.Level != 0.9 || p.Truth || !(p.Lo <= p.Value && p.Value <= p.Hi) {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"GOGC=50 rev=main", "GOGC=50 GOMEMLIMIT=78MiB rev=main", "GOGC=100 GOMEMLIMIT=78MiB rev=main", "GOGC=off GOMEMLIMIT=78MiB rev=main"}; !slices.Equal(names, want) {
		t.Errorf("promises for %v, want %v", names, want)
	}
	if last := r.Promises[len(r.Promises)-1]; !slices.Contains(last.Doubts, "near-cliff") || last.Levels.String() != "GOGC=off GOMEMLIMIT=78MiB rev=main go=1.26.8 GOMAXPROCS=2" {
		t.Errorf("%+v", last)
	}
	w := &s.Pooled[0]
	if r.Load.Rate != receipt.Number(w.Requests/18) || r.Load.Live != receipt.Number(w.Live()) || r.Run != "." || r.Subject != "./cmd/shop" || r.Settings[0].Name != "GOGC=100 rev=main" || len(r.Model.Windows[0].Cycles) != 40 {
		t.Errorf("%+v", r)
	}
	if grown := Receipt(s.Forecast(guide{}, predict.Question{GOGC: []float64{50}, Live: 1.25}), answer.Head{}); grown.Model.Live != 1.25 || math.Abs(float64(grown.Load.Live)/w.Live()-1.25) > 1e-9 {
		t.Errorf("with a larger live heap: %+v", grown.Load)
	}
	if none := Receipt(s.Forecast(guide{}, predict.Question{GOGC: []float64{100}}), answer.Head{}); none != nil {
		t.Errorf("what was measured is promised: %+v", none.Promises)
	}
}
