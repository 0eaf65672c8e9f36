package probe

import "github.com/dynolab/dyno"

// Named returns the probe with a name of dyno.ProbeNames, and those that
// trials ForProfile and ForTrace are for.
func Named(name string) (Probe, bool) {
	switch name {
	case "proc":
		return proc{}, true
	case "cgroup":
		return groupProbe{}, true
	case "gctrace":
		return collectorProbe{}, true
	case "runtime":
		return runtimeProbe{}, true
	case "expvar":
		return expvarProbe{}, true
	case "prometheus":
		return prometheusProbe{}, true
	case "pprof":
		return pprofIndex{}, true
	case dyno.ForProfile:
		return Profiles{}, true
	case dyno.ForTrace:
		return Trace{}, true
	}
	return nil, false
}
