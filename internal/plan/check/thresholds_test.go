package check_test

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
)

// A program's steps are not known before it runs.
func TestThresholdOfAProgram(t *testing.T) {
	e := dyno.Experiment{Load: dyno.Load{Program: "./loadtest"}}
	for text, ok := range map[string]bool{"get_p99 < 30ms": true, "first_message_p50 < 1s": true, "get_failures == 0": false, "p99 < 30ms": true} {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		e.Thresholds = []dyno.Threshold{th}
		if mistake := check.Thresholds(e.Thresholds, e.MetricNames()); (mistake == nil) != ok {
			t.Errorf("%s: %v", text, mistake)
		}
	}
}
