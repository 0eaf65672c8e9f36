package load

import (
	"runtime"
	"time"

	"github.com/dynolab/dyno/cgroup"
)

type usage struct {
	began time.Time
	cpu   time.Duration
}

func newUsage() usage { return usage{time.Now(), cpuTime()} }

// share is this process's CPU time since newUsage as a share of cores; 0 if the
// operating system does not tell it.
func (u usage) share() float64 {
	wall := time.Since(u.began).Seconds()
	if wall <= 0 {
		return 0
	}
	return (cpuTime() - u.cpu).Seconds() / (wall * cores())
}

// cores is how many CPUs this process may use, by affinity, GOMAXPROCS and the
// quota of its control groups.
func cores() float64 {
	return min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs("/proc"))
}
