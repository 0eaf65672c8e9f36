package load

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cores is how many CPUs this process may use at once, on average.
func cores() float64 {
	n := math.Inf(1)
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		n = float64(set.Count())
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return min(n, float64(runtime.GOMAXPROCS(0)), quota("/sys/fs/cgroup", string(groups)))
}

// quota is the least number of CPUs that the control groups of a process allow,
// each with all its ancestors: cpu.max of version 2 and cpu.cfs_quota_us of
// version 1 (Documentation/admin-guide/cgroup-v2.rst and
// scheduler/sched-bwc.rst). groups is /proc/PID/cgroup.
func quota(root, groups string) float64 {
	least := math.Inf(1)
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount := root
		if parts[0] != "0" {
			mount = filepath.Join(root, parts[1])
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			least = min(least, quotaOf(filepath.Join(mount, path)))
			if path == "/" {
				break
			}
		}
	}
	return least
}

func quotaOf(group string) float64 {
	if s, err := os.ReadFile(filepath.Join(group, "cpu.max")); err == nil {
		if f := strings.Fields(string(s)); len(f) == 2 {
			return ratio(f[0], f[1])
		}
	}
	q, err1 := os.ReadFile(filepath.Join(group, "cpu.cfs_quota_us"))
	p, err2 := os.ReadFile(filepath.Join(group, "cpu.cfs_period_us"))
	if err1 != nil || err2 != nil {
		return math.Inf(1)
	}
	return ratio(strings.TrimSpace(string(q)), strings.TrimSpace(string(p)))
}

// ratio is infinite for "max" and for -1, which both mean no limit.
func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return q / p
}
