package load

import (
	"runtime"

	"github.com/dynolab/dyno/cgroup"
)

// cores is how many CPUs this process may use at once, on average: by its
// affinity, GOMAXPROCS and the quota of its control groups.
func cores() float64 {
	return min(float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))), cgroup.CPUs())
}
