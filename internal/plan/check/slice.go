package check

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// Bounds of the plan's times.
const (
	leastSlice = dyno.Duration(50 * time.Millisecond)
	leastTurn  = dyno.Duration(5 * time.Millisecond)
)

var liveFactors = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", dyno.ProbesFactor}

func checkSlice(e *dyno.Experiment) *dyno.PlanError {
	if e.Slice == 0 {
		return nil
	}
	l := &e.Load
	whole, _ := e.Written(e.Levels()[0]) // whose load lasts as long as all slices
	return cmp.Or(
		wrong(e.Slice < leastSlice, "slice", "a slice of %v is too short (want at least %v)", e.Slice, leastSlice),
		wrong(len(e.Settings) > 0 || len(e.Factors) != 1 || !slices.Contains(liveFactors, e.Factors[0].Name) || len(e.Factors[0].Levels) < 2, "slice", "slices of one process have one factor, %s, with at least two levels (consider: no slice, so that each trial is a launch)", strings.Join(liveFactors, ", ")),
		wrong(!e.Subject.Source() || bool(e.Subject.NoInject), "slice", "slices need the injected probe, and %s has none (consider: %s)", &e.Subject, injectCure(&e.Subject)),
		wrong(len(e.Profile) > 0 || e.Trace > 0 || e.WhySlow, "slice", "slices have no profile and no trace, which need separate trials (consider: a run without slice)"),
		wrong(l.Command != "", "load command", "slices need dyno's own load, not a command"),
		wrong(l.Replay != "", "load replay", "slices need a load that is the same in each, which a recording is not (consider: no slice)"),
		wrong(l.Requests > 0 || l.RequestsPerClient > 0 || l.Duration > 0 && l.Duration != whole.Load.Duration || l.Rate.Length() > 0, "load", "the load lasts as long as the slices, %v (consider: leave its requests and duration out)", whole.Load.Duration),
		wrong(l.Deadline > 0, "load deadline", "deadline has no meaning with slices, which have no latency"),
		wrong(l.Idle > 0, "load idle", "idle has no meaning with slices: the service does not end between them"),
		checkLevels(e),
	)
}

func checkLevels(e *dyno.Experiment) *dyno.PlanError {
	for _, f := range e.Factors {
		for _, v := range f.Levels {
			if f.Name == dyno.ProbesFactor && v != "on" && v != "off" {
				return dyno.PlanErrorf("bad level %q of %s (want on or off)", v, f.Name).Of("vary", f.Name)
			}
			if v == "" {
				return dyno.PlanErrorf("bad level %q of %s (want a value of %[2]s)", v, f.Name).Of("vary", f.Name)
			}
		}
	}
	return nil
}

func checkTurns(e *dyno.Experiment) *dyno.PlanError {
	return cmp.Or(
		wrong(e.Turn > 0 && e.Turn < leastTurn, "turn", "a turn of %v is too short (want at least %v)", e.Turn, leastTurn),
		wrong(e.Turn > 0 && e.Slice > 0, "turn", "slices of one process have no turns (want one of turn and slice)"),
		wrong(e.Within > 0 && e.Slice > 0, "within", "slices have a fixed length, so within does not apply (consider: repeat)"),
	)
}
