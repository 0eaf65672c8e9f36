package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dynolab/dyno"
)

// checkPrimary checks the names of metrics that decide.
func checkPrimary(e *dyno.Experiment) *dyno.PlanError {
	seen := map[string]bool{}
	for i, name := range e.Primary {
		m, err := dyno.MetricOf(dyno.ThresholdName(name), e.MetricNames())
		if err == nil && m.Better == 0 {
			err = fmt.Errorf("%s is never compared", name)
		}
		if err == nil && seen[m.Name] {
			err = fmt.Errorf("%s is listed twice", name)
		}
		if err != nil {
			return dyno.PlanErrorf("primary: %v", err).Of("primary", strconv.Itoa(i))
		}
		seen[m.Name] = true
	}
	return nil
}

// Thresholds finds a threshold of no metric, or a second one of a metric; others are as
// of [dyno.Threshold.Of].
func Thresholds(ts []dyno.Threshold, others []string) *dyno.PlanError {
	for i, t := range ts {
		at := []string{"thresholds", strconv.Itoa(i)}
		if _, _, err := t.Of(others); err != nil {
			return dyno.PlanErrorf("%v", err).Of(at...)
		}
		if slices.Contains(ts[:i], t) {
			return dyno.PlanErrorf("threshold %q is given twice", t).Of(at...)
		}
	}
	return nil
}

// checkCompared finds thresholds of changes with nothing to compare.
func checkCompared(e *dyno.Experiment) *dyno.PlanError {
	for i, t := range e.Thresholds {
		if t.Change && len(e.Levels()) == 1 {
			return dyno.PlanErrorf("threshold %q needs a change, but there is only one setting (consider: --vary, or a limit of %s itself)", t, t.Name).
				Of("thresholds", strconv.Itoa(i))
		}
	}
	return nil
}
