package capacity

import (
	"time"

	"github.com/dynolab/dyno"
)

const (
	shortWarmup    = dyno.Duration(500 * time.Millisecond)
	leastPatience  = dyno.Duration(2 * time.Second)
	patienceLimits = 10
)

// Plan is the plan of every window, but for its rate and length: e without what compares, and without what one rate needs.
func (p *Problem) Plan(e *dyno.Experiment) *dyno.Experiment {
	w := *e
	w.More, w.Repeats, w.Within, w.Slice, w.Alone = nil, 1, 0, 0, true
	w.Profile, w.ProfileRepeats, w.Trace, w.WhySlow, w.TraceRepeats, w.Memory, w.Thresholds = nil, 0, 0, false, 0, new(bool), nil
	w.Load.Rate, w.Load.Requests, w.Load.RequestsPerClient, w.Load.Idle = dyno.PerSecond(p.From), 0, 0, 0
	w.Load.Duration = dyno.Duration(time.Second)
	all := dyno.Fraction(1) // what fails is counted, not refused
	w.Load.MaxFailures = &all
	if w.Load.Arrival == "" {
		w.Load.Arrival = "poisson"
	}
	if w.Load.Warmup == 0 {
		w.Load.Warmup = shortWarmup
	}
	if w.Load.KeepRequests == "" {
		w.Load.KeepRequests = "none"
	}
	longest := time.Duration(0)
	for _, o := range p.Objectives {
		longest = max(longest, o.Limit)
	}
	if w.Load.Timeout == 0 && longest > 0 { // so that an overloaded service is left alone soon
		w.Load.Timeout = max(leastPatience, dyno.Duration(patienceLimits*longest))
	}
	return &w
}
