package load

import (
	"runtime"
	"time"

	"github.com/dynolab/dyno/cgroup"
)

// cpuShare measures this process's CPU time from now on as a share of the cores that
// it may use, by affinity, GOMAXPROCS and the quota of its control groups; 0 if the
// operating system does not tell it.
func cpuShare() func() float64 {
	began, cpu := time.Now(), cpuTime()
	return func() float64 {
		cores := min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs("/proc"))
		return (cpuTime() - cpu).Seconds() / (time.Since(began).Seconds() * cores)
	}
}
