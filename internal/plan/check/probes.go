package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// checkProfiles checks profiles and traces, which have trials of their own.
func checkProfiles(e *dyno.Experiment) *dyno.PlanError {
	for i, name := range e.Profile {
		switch {
		case !slices.Contains(dyno.ProfileNames, name):
			return dyno.PlanErrorf("unknown profile %q (want %s)", name, strings.Join(dyno.ProfileNames, ", ")).Of("profile")
		case slices.Contains(e.Profile[:i], name):
			return dyno.PlanErrorf("profile %s is listed twice", name).Of("profile")
		}
	}
	reachable := e.Probes.Pprof != "" || e.Subject.Source() && !bool(e.Subject.NoInject)
	cure := "consider: probes.pprof: /debug/pprof, if the service has it, or " + injectCure(&e.Subject)
	return cmp.Or(
		wrong(e.ProfileRepeats > 0 && len(e.Profile) == 0, "profile_repeat", "profile_repeat needs profile (want for example profile: [cpu, allocs])"),
		wrong(e.TraceRepeats > 0 && !e.WhySlow, "trace_repeat", "trace_repeat needs why_slow: true"),
		wrong(e.Trace > dyno.MostTrace, "trace", "a trace of %v is too long (want at most %v)", e.Trace, dyno.MostTrace),
		wrong(len(e.Profile) > 0 && !reachable, "profile", "dyno cannot take a profile of %s (%s)", &e.Subject, cure),
		wrong(e.Trace > 0 && !reachable, "trace", "dyno cannot take a trace of %s (%s)", &e.Subject, cure),
		wrong(e.WhySlow && !reachable, "why_slow", "dyno cannot take a trace of %s (%s)", &e.Subject, cure),
	)
}

func checkMemory(e *dyno.Experiment) *dyno.PlanError {
	if e.Memory == nil || !*e.Memory {
		return nil
	}
	return cmp.Or(
		wrong(!e.Subject.Launched(), "memory", "memory trials need launches, but %s runs already (consider: memory: false)", &e.Subject),
		wrong(e.Slice > 0, "memory", "slices have no trial for memory, which needs its own launch (consider: a run without slice)"),
		wrong(e.Load.Command != "", "memory", "a trial for memory needs dyno's own load, not a command (consider: memory: false)"),
	)
}

func checkProbes(p *dyno.Probes) *dyno.PlanError {
	for _, name := range p.Use {
		if !slices.Contains(dyno.ProbeNames, name) {
			return dyno.PlanErrorf("unknown probe %q (want %s)", name, strings.Join(dyno.ProbeNames, ", ")).Of("probes", "use")
		}
	}
	if p.Every != 0 && p.Every < dyno.Duration(10e6) {
		return dyno.PlanErrorf("probes every %v is too often (want at least 10ms)", p.Every).Of("probes", "every")
	}
	for _, source := range []struct{ name, where, example string }{{"expvar", p.Expvar, "/debug/vars"}, {"prometheus", p.Prometheus, "/metrics"}, {"pprof", p.Pprof, "/debug/pprof"}} {
		w := source.where
		if w != "" && !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "http://") && !strings.HasPrefix(w, "https://") {
			return dyno.PlanErrorf("%s: %q is neither a path of the service nor a URL", source.name, w).Of("probes", source.name)
		}
		if w == "" && slices.Contains(p.Use, source.name) {
			return dyno.PlanErrorf("probe %s needs the path where the service publishes it (consider: %[1]s: %s)", source.name, source.example).Of("probes", "use")
		}
	}
	if len(p.Metrics) > 0 && p.Prometheus == "" {
		return dyno.PlanErrorf("metrics needs prometheus (consider: prometheus: /metrics)").Of("probes", "metrics")
	}
	return nil
}
