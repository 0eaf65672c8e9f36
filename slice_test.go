package dyno_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/how"
)

func sliced(factor string, levels ...string) *dyno.Experiment {
	return &dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Package: "x"}, Slice: dyno.Duration(2 * time.Second),
		Factors: dyno.Factors{{Name: factor, Levels: levels}},
	}
}

// Blocks are mirrored by twos, and all trials have the launch of the baseline
// and a load that is long enough for all.
func TestSlicesOrder(t *testing.T) {
	e := sliced("GOGC", "100", "50", "off")
	if err := check.Experiment(e); err != nil {
		t.Fatal(err)
	}
	trials := e.Trials()
	if len(trials) != 3*dyno.DefaultPairs || e.Compared() != len(trials) {
		t.Fatalf("%d trials", len(trials))
	}
	orders := map[string]bool{}
	for i := 0; i < len(trials); i += 6 {
		var order []string
		for j, trial := range trials[i : i+6] {
			order = append(order, trial.Setting.String())
			if trial.N != i+j+1 || trial.Block != (i+j)/3+1 || trial.Subject.Env["GOGC"] != "100" || trial.Load.Duration != dyno.Duration(290*time.Second) {
				t.Errorf("trial %+v", trial)
			}
		}
		orders[strings.Join(order[:3], " ")] = true
		slices.Reverse(order[3:])
		if !slices.Equal(order[:3], order[3:]) {
			t.Errorf("trials %d to %d: %q is not mirrored", i+1, i+6, order)
		}
	}
	if len(orders) < 4 {
		t.Errorf("only the orders %v: they are to be random", orders)
	}
}

// The plan that run.json keeps is the same experiment.
func TestSlicesResolved(t *testing.T) {
	e, err := dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Package: "x"}, Repeats: 3, Profile: []string{"cpu"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"50", "100"}}, {Name: "load.concurrency", Levels: []string{"3"}}, {Name: "limit.cpu", Levels: []string{"10%", "none"}}},
		Load:    dyno.Load{RequestsPerClient: 9, Warmup: 1e9, Idle: 1e9},
	}.Overhead()
	if err != nil {
		t.Fatal(err)
	}
	if e.Subject.Env["GOGC"] != "50" || e.Load.Concurrency != 3 || e.Load.Warmup != 1e9 || e.Limits.CPU != 0.1 {
		t.Errorf("it is not the baseline: %+v", e)
	}
	data, err := json.Marshal(e.Resolved())
	if err != nil {
		t.Fatal(err)
	}
	again, err := plan.Parse("run.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := how.Slices(again), "slices of 400ms of one process, with probes changed between them"; got != want || check.Experiment(again) != nil {
		t.Errorf("%q, %v", got, check.Experiment(again))
	}
	for i, trial := range again.Trials() {
		if want := e.Trials()[i]; trial.Setting.String() != want.Setting.String() || trial.Load.Duration != want.Load.Duration || trial.Load.Duration != dyno.Duration(2800*time.Millisecond) {
			t.Errorf("trial %+v, want %+v", trial, want)
		}
	}
}
