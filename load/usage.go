package load

import (
	"runtime"
	"time"

	"github.com/dynolab/dyno/cgroup"
)

// cpuShare measures this process's CPU time from now on as a share of cores; 0 if the
// operating system does not tell it.
func cpuShare() func() float64 {
	began, cpu := time.Now(), cpuTime()
	return func() float64 { return (cpuTime() - cpu).Seconds() / (time.Since(began).Seconds() * cores()) }
}

// cores is how many CPUs this process may use, by affinity, GOMAXPROCS and the
// quota of its control groups.
func cores() float64 {
	return min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs("/proc"))
}
