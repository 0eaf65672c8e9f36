package tuned

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/receipt"
)

// What is recommended is promised with its change against today's, from the run in which it was measured. What stays promises nothing.
func TestReceipt(t *testing.T) {
	r := reportOf(outcome(t, service{0.2}, problem(t, "min cpu_per_req", "rss_peak < 400MiB")))
	r.Plan = &dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: "./shop"}}
	got := r.Receipt()
	if got == nil || got.From != "tune" || got.Name != "shop" || got.Subject != "./shop" || got.Run != Dirs[r.Best.Stage] || got.Settings[0].Name != "GOGC=100" {
		t.Fatalf("%+v", got)
	}
	figures, changes := map[string]receipt.Promise{}, map[string]receipt.Promise{}
	for _, p := range got.Promises {
		if p.Name != r.Best.Setting.String() {
			t.Errorf("%s is promised for %s", p.Metric, p.Name)
		}
		if p.Against == nil {
			figures[p.Metric] = p
		} else {
			changes[p.Metric] = p
		}
	}
	for _, metric := range []string{cpu, memory, tail} {
		f, c := figures[metric], changes[metric]
		if v := receipt.Number(r.Best.Values[metric].Center); f.Value != v || !(f.Lo < v && v < f.Hi) || f.Truth || f.Level != 0.9 {
			t.Errorf("%s: %+v", metric, f)
		}
		if v, _ := r.Best.Versus(metric); c.Value != receipt.Number(v.Ratio) || c.Against.Name != "GOGC=100" || !c.Truth || c.Level != 0.95 {
			t.Errorf("change of %s: %+v", metric, c)
		}
	}
	if kept := reportOf(outcome(t, service{0.004}, problem(t, "min cpu_per_req"))); kept.Receipt() != nil {
		t.Errorf("today's stays, and promises %+v", kept.Receipt())
	}
}
