package dyno

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	leastSlice   = Duration(50 * time.Millisecond)
)

var liveFactors = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", ProbesFactor}

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
	e.Profile, e.ProfileRepeats, e.Trace, e.Memory = nil, 0, 0, nil
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

// Slices says in words how an experiment is sliced, or "".
func (e *Experiment) Slices() string {
	if e.Slice == 0 {
		return ""
	}
	s := fmt.Sprintf("slices of %v of one process, with %s changed between them", e.Slice, e.Live())
	if settle := e.Settle(); settle > 0 {
		s += fmt.Sprintf("; the first %v of each is not measured", settle)
	}
	return s
}

func (e *Experiment) checkSlice() *PlanError {
	if e.Slice == 0 {
		return nil
	}
	l := &e.Load
	return cmp.Or(
		wrong(e.Slice < leastSlice, "slice", "a slice of %v is too short (want at least %v)", e.Slice, leastSlice),
		wrong(len(e.Settings) > 0 || len(e.Factors) != 1 || !slices.Contains(liveFactors, e.Factors[0].Name) || len(e.Factors[0].Levels) < 2, "slice", "slices of one process have one factor, %s, with at least two levels (consider: no slice, so that each trial is a launch)", strings.Join(liveFactors, ", ")),
		wrong(!e.Subject.Source() || bool(e.Subject.NoInject), "slice", "slices need the injected probe, and %s has none (consider: %s)", &e.Subject, e.Subject.injectCure()),
		wrong(len(e.Profile) > 0 || e.Trace > 0, "slice", "slices have no profile and no trace, which need separate trials (consider: a run without slice)"),
		wrong(l.Command != "", "load command", "slices need dyno's own load, not a command"),
		wrong(l.Replay != "", "load replay", "slices need a load that is the same in each, which a recording is not (consider: no slice)"),
		wrong(l.Requests > 0 || l.RequestsPerClient > 0 || l.Duration > 0 && l.Duration != e.sliced() || l.Rate.Length() > 0, "load", "the load lasts as long as the slices, %v (consider: leave its requests and duration out)", e.sliced()),
		wrong(l.Deadline > 0, "load deadline", "deadline has no meaning with slices, which have no latency"),
		wrong(l.Idle > 0, "load idle", "idle has no meaning with slices: the service does not end between them"),
		e.checkLevels(),
	)
}

func (e *Experiment) checkLevels() *PlanError {
	for _, f := range e.Factors {
		for _, v := range f.Levels {
			if f.Name == ProbesFactor && v != "on" && v != "off" {
				return PlanErrorf("bad level %q of %s (want on or off)", v, f.Name).Of("vary", f.Name)
			}
			if v == "" {
				return PlanErrorf("bad level %q of %s (want a value of %[2]s)", v, f.Name).Of("vary", f.Name)
			}
		}
	}
	return nil
}
