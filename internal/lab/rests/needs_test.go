package rests

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// A shared server is charged by what it used in the turns of the setting; one of its own that works in the turns of others
// is told of.
func TestChargeNeeds(t *testing.T) {
	needs := []probe.Need{{Name: "own", Booked: true}, {Name: "lazy", Booked: true}, {Name: "shared"}, {Name: "lost"}}
	saw := probe.Reading{Values: dyno.Values{{Metric: "own-cpu-sec", Value: 2}, {Metric: "lazy-cpu-sec", Value: 2}, {Metric: "shared-cpu-sec", Value: 4}, {Metric: "lost-cpu-sec", Value: 4}}}
	rested := map[string]Rested{
		"own":    {Own: 1, Late: 0.2, LateTime: 10 * time.Second},
		"lazy":   {Own: 1, Late: 0.05, LateTime: 10 * time.Second},
		"shared": {Own: 1, After: 1, Late: 2, LateTime: 10 * time.Second},
	}
	ChargeNeeds(needs, rested, &saw)
	for metric, want := range map[string]float64{"own-cpu-sec": 2, "own-rest-cpu-frac": 0.02, "lazy-rest-cpu-frac": 0.005, "shared-cpu-sec": 1} {
		if got, _ := saw.Values.Get(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if _, known := saw.Values.Get("lost-cpu-sec"); known {
		t.Error("CPU time of all settings is charged to one")
	}
	if len(saw.Warnings) != 1 || !strings.Contains(saw.Warnings[0].Text, "own of this setting used 2 % of a CPU in the turns of other settings") {
		t.Errorf("warnings %v", saw.Warnings)
	}
}
