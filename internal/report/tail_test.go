package report

import (
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/tail"
)

// collected is the study with tails: clear, unclear, none, without collections,
// and unknown.
func collected() *compare.Table {
	rs := synthetic(6, study)
	of := map[int]*tail.Trial{}
	for _, r := range rs {
		r.Values = append(r.Values, dyno.Value{Metric: "stw-total-sec", Value: 3e-3}, dyno.Value{Metric: "gc-assist-frac", Value: 0.031})
		block := float64(r.Trial.Block)
		t := &tail.Trial{
			Requests: 1500, Slow: 15, Met: 0.2, SlowMet: 0.8 + block/100, SlowChance: 0.25, P99: 10e-3, P99Clear: 8e-3, P99Chance: 9.9e-3,
			Stopped: 0.001, StopMet: 0.004,
		}
		switch r.Trial.Setting[0].Value {
		case "0":
			t.SlowMet = 0.1 + block/20
		case "50":
			t.SlowMet, t.P99Clear = 0.22+block/100, math.NaN()
		case "150":
			*t = tail.Trial{Requests: 1500, Slow: 15, P99: 7e-3, P99Clear: 7e-3, P99Chance: 7e-3}
		case "200":
			t = nil
		}
		of[r.Trial.N] = t
	}
	o := compare.Options{Name: "sessions", Settings: settings(study), Tails: of}
	return compare.Tabulate(rs, o)
}

func oneCollected() *compare.Table {
	load := []effects{{nil, 1, 1, 1}}
	return compare.Tabulate(synthetic(1, load), compare.Options{Tails: map[int]*tail.Trial{
		1: {Requests: 1500, Slow: 15, Met: 0.2, SlowMet: 0.8, SlowChance: 0.25, P99: 10e-3, P99Clear: 8e-3, P99Chance: 9.9e-3},
	}})
}
