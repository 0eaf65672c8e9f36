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
	p, ok := map[string]probe.Probe{
		"proc": kernel.Proc{}, "cgroup": kernel.ControlGroup{},
		"gctrace": goruntime.Collector{}, "runtime": goruntime.Metrics{},
		"expvar": published.Expvar{}, "prometheus": published.Prometheus{}, "pprof": published.Index{},
		dyno.ForProfile: profiles.Profiles{}, dyno.ForTrace: profiles.Trace{},
	}[name]
	return p, ok
}
