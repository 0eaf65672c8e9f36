package lab

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/probe"
)

// compareSettings holds the settings of the Go runtime that the plan asks for against those that the subject has.
func (t *trial) compareSettings(running *Running, readings map[string]probe.Reading, r *dyno.Result) {
	inside := dyno.Seen{By: dyno.ByRuntime}
	for _, s := range r.Memory {
		if s.Stage == dyno.StageReady && s.InForce != nil {
			inside.Settings = append(inside.Settings, s.InForce)
		}
	}
	r.InForce = readings["runtime"].InForce
	for _, s := range r.Memory {
		if s.Stage == dyno.StageEnd && s.InForce != nil && (len(r.InForce) == 0 || r.InForce[len(r.InForce)-1].String() != s.InForce.String()) {
			r.InForce = append(r.InForce, s.InForce)
		}
	}
	inside.Settings = append(inside.Settings, r.InForce...)
	environment := dyno.Seen{By: dyno.ByEnvironment}
	if running.Environ != nil {
		if s := running.Environ(); s != nil {
			environment.Settings = []dyno.Setting{s}
		}
	}
	page := dyno.Seen{By: dyno.ByPage, Settings: readings["prometheus"].InForce}
	if len(r.InForce) == 0 {
		r.InForce = page.Settings
	}
	asked := t.Asked()
	trace := dyno.Seen{By: dyno.ByTrace, Settings: readings["gctrace"].InForce}
	if s := goals(asked, readings["gctrace"].GOGC); s != nil && environment.Settings == nil && environmentHasNoLimit(&t.Trial) {
		trace.Settings = append(trace.Settings, s)
	}
	r.Overridden = dyno.Overridden(asked, inside, environment, page, trace)
}

func environmentHasNoLimit(t *dyno.Trial) bool {
	limit := environment(t, "GOMEMLIMIT")
	return limit == "" || limit == "off"
}

// The goals of so many collections have to contradict GOGC, and by so much: stacks and globals are known to whole MiB
// only, and the runtime adds to small goals.
const (
	leastGoals = 8
	goalsOff   = 1.25
)

// goals is the GOGC that the goals of collections show, if it cannot be the one that was asked for.
func goals(asked dyno.Setting, b probe.Bounds) dyno.Setting {
	text, ok := asked.Get("GOGC")
	if !ok || b.N < leastGoals {
		return nil
	}
	want, err := strconv.ParseFloat(text, 64)
	if err != nil || want < 0 { // off
		want = math.Inf(1)
	}
	if want >= b.Lo/goalsOff && want <= b.Hi*goalsOff {
		return nil
	}
	return dyno.InForce(math.Round((b.Lo+b.Hi)/2), math.NaN(), math.NaN())
}

// place finds in the source what may have overridden settings of a trial.
func (l *Lab) place(ctx context.Context, r *dyno.Result) {
	for i := range r.Overridden {
		if o := &r.Overridden[i]; l.Places != nil && o.Places == nil {
			o.Places = l.Places(ctx, r.Trial.Subject, o.Name, o.InForce[len(o.InForce)-1])
		}
	}
}

// An OverriddenError ends a run whose first block shows that settings of the Go runtime did not take effect: what
// it would compare is not what was asked for.
type OverriddenError struct{ Settings []dyno.Override }

// Overridden is an *OverriddenError if results show one and the plan does not allow it. It fills in the places.
func (l *Lab) Overridden(ctx context.Context, e *dyno.Experiment, rs ...*dyno.Result) error {
	found := new(OverriddenError)
	for _, r := range rs {
		l.place(ctx, r)
		found.Settings = append(found.Settings, r.Overridden...)
	}
	if found.Settings == nil || e.AllowOverridden {
		return nil
	}
	return found
}

func (e *OverriddenError) Error() string {
	return fmt.Sprintf("%s; so the run ends (consider: a program that leaves %s as its environment has it, or --allow-overridden to go on)", strings.Join(how.Overridden(e.Settings), "; "), e.Settings[0].Name)
}
