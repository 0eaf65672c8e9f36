package lab

import (
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/probe"
)

// Collections are on the clock of requests, which begins when the load says so;
// those that ended before are left out. Metrics of probes that are metrics of
// trials come through, and totals are divided.
func TestCollectionsOnTheClockOfRequests(t *testing.T) {
	origin := time.Unix(1000, 0)
	r := &dyno.Result{Start: origin.Add(time.Millisecond)}
	record(r, &load.Record{Start: origin.Add(5 * time.Millisecond), Sent: dyno.Sent{Requests: 2}})
	observe(r, probe.Reading{Origin: origin, Collections: []dyno.Collection{
		{N: 1, Start: 1e6, End: 4e6}, {N: 2, Start: 4e6, End: 7e6}, {N: 3, Start: 8e6, End: 9e6},
	}, Values: dyno.Values{{Metric: "sched-p99-sec", Value: 0.25}, {Metric: "mutex-wait-sec", Value: 8}}}, 2)
	want := []dyno.Collection{{N: 2, Start: -1e6, End: 2e6}, {N: 3, Start: 3e6, End: 4e6}}
	if !slices.Equal(r.Collections, want) || !r.Start.Equal(origin.Add(5*time.Millisecond)) {
		t.Errorf("from %v: %+v", r.Start, r.Collections)
	}
	for metric, want := range map[string]float64{"sched-p99-sec": 0.25, "mutex-wait-sec/req": 4} {
		if got, _ := r.Values.Get(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}
