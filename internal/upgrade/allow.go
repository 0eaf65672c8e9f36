package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// defaults are what metrics may change where neither the plan nor a flag says so.
var defaults = []string{"p50 5%", "p99 10%", "cpu_per_req 5%", "rss_peak 5%"}

// Allowed are the allowances of texts such as "p99 5%", and those of the plan for other metrics, or else the defaults. An error is the
// user's mistake.
func Allowed(e *dyno.Experiment, given []string) (all []Allowance, err error) {
	asked := true
	plan := slices.DeleteFunc(slices.Clone(e.Thresholds), func(t dyno.Threshold) bool { return !t.Change })
	if len(given)+len(plan) == 0 {
		given, asked = defaults, false
	}
	for _, text := range given {
		words := strings.Fields(text)
		if len(words) != 2 {
			return nil, fmt.Errorf("%q: want a metric and a share, for example 'p99 5%%'", text)
		}
		share, err := dyno.ParseFraction(words[1])
		if err != nil || share >= 1 || !strings.HasSuffix(words[1], "%") {
			return nil, fmt.Errorf("%q: want a share, for example 5%%", text)
		}
		m, err := dyno.MetricOf(dyno.ThresholdName(words[0]), e.MetricNames())
		if err != nil || m.Better == 0 {
			return nil, fmt.Errorf("%q: want a metric with a direction, such as cpu_per_req (consider: dyno help metrics)", text)
		}
		a := Allowance{Asked: asked}
		a.Name, a.Change, a.Op, a.Literal = dyno.ThresholdName(m.Name), true, "<", words[1]
		if m.Better > 0 {
			a.Op, a.Literal = ">", "-"+words[1]
		}
		all = append(all, a)
	}
	for _, t := range plan {
		if !slices.ContainsFunc(all, func(a Allowance) bool { return a.Name == t.Name }) {
			all = append(all, Allowance{Threshold: t, Asked: true})
		}
	}
	return all, nil
}
