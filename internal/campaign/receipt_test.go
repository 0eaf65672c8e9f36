package campaign

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/report/upgraded"
	"github.com/dynolab/dyno/internal/tune"
	"github.com/dynolab/dyno/internal/upgrade"
)

// Answers with figures are kept with a receipt, which has the machine of the run that they are from.
func TestConcludeReceipt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plan := aPlan()
	settings := plan.Levels()
	var rs []*dyno.Result
	for block := 1; block <= 6; block++ {
		for i, s := range settings {
			rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block, Setting: s},
				Values: dyno.Values{{Metric: "cpu-sec/req", Value: (1 - 0.2*float64(i)) * 1e-3 * (1 + 0.01*rng.Float64())}}})
		}
	}
	table := compare.Tabulate(rs, compare.Options{Settings: settings})
	for from, answer := range map[string]Answer{
		"tune": &tuned.Report{Name: "shop", Plan: plan, Outcome: &tune.Outcome{
			Problem: tune.Problem{Today: settings[0]}, Base: table, Best: &tune.Option{Candidate: &tune.Candidate{Setting: settings[1]}, Stage: tune.StageCandidates, Values: table.Settings[1].Values},
		}},
		"upgrade": &upgraded.Report{Name: "shop", Plan: plan, Old: settings[0], New: settings[1], Answer: upgrade.Answer{Table: table, Run: "2-candidates"}},
	} {
		c := asking(t)
		dir, err := c.Create(&Run{Plan: plan, Path: filepath.Join(c.record.Dir(), "2-candidates")})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dir.Close(), c.conclude(answer, nil)); err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		k, err := receipts.Read(filepath.Join(c.record.Dir(), receipts.File))
		if err != nil {
			t.Fatal(err)
		}
		if k.From != from || len(k.Promises) == 0 || k.ID == "" || k.Machine.CPUs != dir.Run.Host.CPUs {
			t.Errorf("%s: %+v", from, k)
		}
	}
}
