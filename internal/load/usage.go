package load

import (
	"runtime"

	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/load/turn"
)

// cpuShare measures this process's CPU time from now on, in the run's turns, as a share of the
// cores that it may use, by affinity, GOMAXPROCS and the quota of its control groups; 0 if the
// operating system does not tell it.
func cpuShare(t *turn.Turn) func() float64 {
	if t == nil {
		t = turn.New()
		t.Open()
	}
	began, before := t.Spent()
	return func() float64 {
		cores := min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs("/proc"))
		own, cpu := t.Spent()
		return (cpu - before).Seconds() / (max(own-began, 1).Seconds() * cores)
	}
}
