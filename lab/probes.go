package lab

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/probe"
	"github.com/dynolab/dyno/probe/goruntime"
	"github.com/dynolab/dyno/probe/kernel"
	"github.com/dynolab/dyno/probe/profiles"
	"github.com/dynolab/dyno/probe/published"
)

// probeNamed returns the probe with a name of dyno.ProbeNames, or that of trials ForProfile and
// ForTrace.
func probeNamed(name string) (probe.Probe, bool) {
	switch name {
	case "proc":
		return kernel.Proc{}, true
	case "cgroup":
		return kernel.ControlGroup{}, true
	case "gctrace":
		return goruntime.Collector{}, true
	case "runtime":
		return goruntime.Metrics{}, true
	case "expvar":
		return published.Expvar{}, true
	case "prometheus":
		return published.Prometheus{}, true
	case "pprof":
		return published.Index{}, true
	case dyno.ForProfile:
		return profiles.Profiles{}, true
	case dyno.ForTrace:
		return profiles.Trace{}, true
	}
	return nil, false
}
