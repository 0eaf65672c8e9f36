package lab

import (
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
)

// The share of late requests is of all that were due; without a deadline there
// is none.
func TestLateFrac(t *testing.T) {
	rec := &load.Record{Sent: dyno.Sent{Requests: 30, Unsent: 10}, Late: 14}
	m := ofLoad(&dyno.Trial{Load: dyno.Load{Deadline: 1}}, rec)
	if v, ok := m.values.Get("late-frac"); !ok || v != 0.35 {
		t.Errorf("late-frac is %v, want 0.35", v)
	}
	m = ofLoad(new(dyno.Trial), rec)
	if v, ok := m.values.Get("late-frac"); ok {
		t.Errorf("late-frac is %v without a deadline", v)
	}
}

// Collections are on the clock of the window; those that ended before it are left out.
func TestCollectionsOnTheClockOfTheWindow(t *testing.T) {
	got := within([]dyno.Collection{{N: 1, Start: 1e6, End: 4e6}, {N: 2, Start: 4e6, End: 7e6}, {N: 3, Start: 8e6, End: 9e6}}, 5*time.Millisecond)
	want := []dyno.Collection{{N: 2, Start: -1e6, End: 2e6}, {N: 3, Start: 3e6, End: 4e6}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Metrics of probes that are metrics of trials come through, and totals are divided.
func TestProbesBecomeMetrics(t *testing.T) {
	m := ofProbes(new(dyno.Trial), probe.Reading{Values: dyno.Values{{Metric: "sched-p99-sec", Value: 0.25}, {Metric: "mutex-wait-sec", Value: 8}}}, &load.Record{Window: 2})
	for metric, want := range map[string]float64{"sched-p99-sec": 0.25, "mutex-wait-sec/req": 4} {
		if got, _ := m.values.Get(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}
