package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dynolab/dyno"
)

var full = flag.Bool("full", false, "simulate as much as doc/ci.md's figures are of")

// A service whose true median keeps a limit fails as often as doc/ci.md says, by the number of trials, the
// deviation of a trial and the distance to the limit.
func TestLimitError(t *testing.T) {
	runs := 200
	if *full {
		runs = 20_000
	}
	rng := rand.New(rand.NewPCG(3, 80))
	limit := thresholds(t, "p50 < 1s")
	for _, row := range []struct {
		trials int
		sd     float64
		want   map[float64]float64 // of runs, %, by per cent below the limit
	}{
		{1, 0.03, map[float64]float64{0: 50, 5: 4.4, 10: 0.02, 20: 0, 30: 0}},
		{1, 0.10, map[float64]float64{0: 50, 5: 30.4, 10: 14.6, 20: 1.3, 30: 0.02}},
		{1, 0.20, map[float64]float64{0: 50, 5: 39.9, 10: 29.9, 20: 13.2, 30: 3.7}},
		{6, 0.03, map[float64]float64{0: 50, 5: 0.02, 10: 0, 20: 0, 30: 0}},
		{6, 0.10, map[float64]float64{0: 50, 5: 13, 10: 1.2, 20: 0, 30: 0}},
		{6, 0.20, map[float64]float64{0: 50, 5: 29.5, 10: 13, 20: 0.9, 30: 0.01}},
		{10, 0.20, map[float64]float64{0: 50, 5: 25, 10: 7.8, 20: 0.2, 30: 0}},
	} {
		line := fmt.Sprintf("| %d | %.0f %% |", row.trials, 100*row.sd)
		for _, below := range []float64{0, 5, 10, 20, 30} {
			failed := 0
			for range runs {
				tb := &Table{Rows: []Row{{Metric: dyno.Metric{Name: "p50-sec", Better: -1}, Key: "p50-sec"}}, Settings: []Setting{{Trials: row.trials, Values: map[string]Summary{}}}}
				var good []*dyno.Result
				for b := range row.trials {
					good = append(good, &dyno.Result{Trial: dyno.Trial{Block: b + 1}, Values: dyno.Values{{Metric: "p50-sec", Value: (1 - below/100) * math.Exp(row.sd*rng.NormFloat64())}}})
				}
				tb.compare(map[int][]*dyno.Result{0: good})
				tb.judge(limit, map[int][]*dyno.Result{0: good})
				f, _ := tb.Gate()
				failed += f
			}
			share := float64(failed) / float64(runs)
			line += fmt.Sprintf(" %.2f %% |", 100*share)
			want := row.want[below] / 100
			if slack := 4*math.Sqrt(want*(1-want)/float64(runs)) + 2/float64(runs); math.Abs(share-want) > slack {
				t.Errorf("%d trials, deviation %.0f %%, %v %% below: %.2f %% fail, want %.2f %%", row.trials, 100*row.sd, below, 100*share, 100*want)
			}
		}
		t.Log(line)
	}
}
