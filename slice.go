package dyno

import (
	"cmp"
	"time"
)

// An experiment with a Slice is one launch and one load, and its trials are
// slices of that load. Whatever can be turned while a service runs is turned
// between them: so two settings are compared in one process, in the same
// second, where launches of their own differ by more than what is looked for.

// ProbesFactor is the factor of slices that turns the plan's probes on and off: what
// watching costs.
const ProbesFactor = "probes"

// Defaults and bounds of slices.
const (
	DefaultPairs = 48                               // blocks
	ProbesSlice  = Duration(400 * time.Millisecond) // where the probes are the factor and no length is given
)

// Overhead returns the experiment that measures what watching costs: e's baseline with the
// probes off and on by turns.
func (e Experiment) Overhead() (Experiment, error) {
	t, err := e.Written(e.Levels()[0])
	if err != nil {
		return e, err
	}
	e.Subject, e.Load, e.Limits = t.Subject, t.Load, t.Limits
	e.Load.Requests, e.Load.RequestsPerClient, e.Load.Duration, e.Load.Idle, e.Load.Deadline = 0, 0, 0, 0, 0
	e.Factors, e.Settings = Factors{{ProbesFactor, []string{"off", "on"}}}, nil
	e.Profile, e.ProfileRepeats, e.Trace, e.WhySlow, e.TraceRepeats, e.Memory = nil, 0, 0, false, 0, nil
	e.Thresholds = nil // of the service, not of what watching it costs
	e.Slice = cmp.Or(e.Slice, ProbesSlice)
	return e, nil
}

// Live is the factor of slices, or "".
func (e *Experiment) Live() string {
	if e.Slice == 0 || len(e.Factors) == 0 {
		return ""
	}
	return e.Factors[0].Name
}

// Settle is the first part of each slice, which does not count: a new GOGC or limit takes
// effect with the next cycle; probes at once.
func (e *Experiment) Settle() time.Duration {
	if e.Live() == ProbesFactor {
		return 0
	}
	return time.Duration(e.Slice) / 4
}

// sliced is the length of the load: all slices, and half of one at each end.
func (e *Experiment) sliced() Duration {
	return e.Slice * Duration(len(e.Levels())*cmp.Or(e.Repeats, DefaultPairs)+1)
}
