package report

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/tail"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
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

func TestStrip(t *testing.T) {
	var cs []dyno.Collection
	for i := range 10 {
		at := time.Duration(i)*100*time.Millisecond + 30*time.Millisecond
		cs = append(cs, dyno.Collection{Start: at, End: at + 20*time.Millisecond, SweepTerm: 1e4, MarkTerm: 1e4})
	}
	var times iter.Seq2[dyno.Times, error] = func(yield func(dyno.Times, error) bool) {
		for i := range 5000 {
			due := time.Duration(i) * 200 * time.Microsecond
			took := 150*time.Microsecond + time.Duration(i*7919%1000)*time.Microsecond/10
			if in := due % (100 * time.Millisecond); in > 30*time.Millisecond && in < 50*time.Millisecond {
				took += 50*time.Millisecond - in
			}
			if !yield(dyno.Times{Due: []int64{int64(due)}, Done: []int64{int64(due + took)}}, nil) {
				return
			}
		}
	}
	for name, to := range map[string]time.Duration{"strip": 0, "strip-zoom": 200 * time.Millisecond} {
		h, err := timeline.HeatOf(times, cs, 0, to, StripRows, StripColumns(layout.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Strip(&b, h, fmt.Sprintf("trial %d", 7), layout.Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.Bytes())
	}
}
