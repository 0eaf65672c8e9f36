package load

import (
	"runtime"
	"time"

	"github.com/dynolab/dyno/cgroup"
)

// A usage measures how much of its CPU time this process uses.
type usage struct {
	began time.Time
	cpu   time.Duration
}

func newUsage() usage { return usage{time.Now(), cpuTime()} }

// share is the CPU time since newUsage as a share of what the process could
// have had: its cores, or the quota of its control group if that is less. It is
// 0 if the operating system does not say.
func (u usage) share() float64 {
	wall := time.Since(u.began).Seconds()
	if wall <= 0 {
		return 0
	}
	return (cpuTime() - u.cpu).Seconds() / (wall * cores())
}

// cores is how many CPUs this process may use at once, on average: by its
// affinity, GOMAXPROCS and the quota of its control groups.
func cores() float64 {
	return min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs("/proc"))
}
