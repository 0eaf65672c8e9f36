//go:build linux

package cgroup

import (
	"math"
	"path/filepath"
	"testing"
)

// allMounts has the CPU in version 1, memory too, and version 2 beside them.
const allMounts = "32 31 0:29 / $ROOT/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
	"33 31 0:30 / $ROOT/memory rw - cgroup cgroup rw,memory\n" +
	"34 31 0:31 / $ROOT/v2 rw - cgroup2 cgroup2 rw\n"

// The least quota of a process's control groups and their ancestors counts, of
// either version.
func TestQuota(t *testing.T) {
	for groups, want := range map[string]float64{
		"0::/a/b/c\n":                            0.1,
		"0::/a/b\n":                              1.5,
		"0::/\n":                                 math.Inf(1),
		"4:memory:/x\n2:cpu,cpuacct:/d\n0::/a\n": 0.5,
		"2:cpu,cpuacct:/e\n":                     math.Inf(1),
		"":                                       math.Inf(1),
		"nonsense\n":                             math.Inf(1),
	} {
		root := machine(t, groups, allMounts,
			"v2/a/cpu.max", "150000 100000\n",
			"v2/a/b/cpu.max", "max 100000\n",
			"v2/a/b/c/cpu.max", "10000 100000\n",
			"cpu,cpuacct/d/cpu.cfs_quota_us", "50000\n",
			"cpu,cpuacct/d/cpu.cfs_period_us", "100000\n",
			"cpu,cpuacct/e/cpu.cfs_quota_us", "-1\n",
			"cpu,cpuacct/e/cpu.cfs_period_us", "100000\n")
		if got := CPUs(filepath.Join(root, "proc")); got != want {
			t.Errorf("%q: %v, want %v", groups, got, want)
		}
	}
}

// Of this process's groups that have a CPU limit the one that was stopped longest counts.
func TestOwn(t *testing.T) {
	for groups, want := range map[string]struct {
		cost  Throttling
		limit float64
	}{
		"0::/a/b/c\n":           {Throttling{30, 20, 2}, 0.5},
		"0::/a\n":               {Throttling{30, 20, 2}, 0.5},
		"0::/free\n":            {Throttling{}, math.Inf(1)},
		"2:cpu,cpuacct:/d\n":    {Throttling{10, 1, 3}, 2},
		"2:cpu,cpuacct:/none\n": {Throttling{}, math.Inf(1)},
	} {
		root := machine(t, groups, allMounts,
			"v2/a/cpu.max", "50000 100000\n", "v2/a/cpu.stat", "nr_periods 30\nnr_throttled 20\nthrottled_usec 2000000\n",
			"v2/a/b/cpu.max", "max 100000\n", "v2/a/b/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 9000000\n",
			"v2/a/b/c/cpu.max", "100000 100000\n", "v2/a/b/c/cpu.stat", "nr_periods 30\nnr_throttled 1\nthrottled_usec 1000000\n",
			"v2/free/cpu.max", "max 100000\n",
			"cpu,cpuacct/d/cpu.cfs_quota_us", "200000\n", "cpu,cpuacct/d/cpu.cfs_period_us", "100000\n",
			"cpu,cpuacct/d/cpu.stat", "nr_periods 10\nnr_throttled 1\nthrottled_time 3000000000\n")
		if cost, limit := Own(filepath.Join(root, "proc")); cost != want.cost || limit != want.limit {
			t.Errorf("%q: %+v of %v CPUs, want %+v", groups, cost, limit, want)
		}
	}
}

// The least memory that a control group of this process or one above it has left
// counts.
func TestMemoryLeft(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		groups      string
		left, limit float64 // KiB
	}{
		{"", inf, inf},
		{"0::/a/b\n", 5000, 6000},
		{"4:memory:/c\n0::/a\n", 500, 1000},
		{"4:memory:/d\n0::/\n", inf, inf},
		{"4:memory:/large\n", 998000, 1000000},
		{"4:memory:/broken\n", inf, inf},
		{"nonsense\n", inf, inf},
	} {
		root := machine(t, c.groups, allMounts,
			"v2/a/memory.max", "6144000\n",
			"v2/a/memory.current", "2048000\n",
			"v2/a/memory.stat", "anon 5\ninactive_file 1024000\n",
			"v2/a/b/memory.max", "max\n",
			"v2/a/b/memory.current", "1000\n",
			"memory/c/memory.limit_in_bytes", "1024000\n",
			"memory/c/memory.usage_in_bytes", "2048000\n",
			"memory/c/memory.stat", "inactive_file 7\ntotal_inactive_file 1536000\n",
			"memory/d/memory.limit_in_bytes", "9223372036854771712\n",
			"memory/d/memory.usage_in_bytes", "2048000\n",
			"memory/large/memory.limit_in_bytes", "1024000000\n",
			"memory/large/memory.usage_in_bytes", "2048000\n",
			"memory/broken/memory.limit_in_bytes", "\n")
		if left, limit := MemoryLeft(filepath.Join(root, "proc"))(); left != c.left*1024 || limit != c.limit*1024 {
			t.Errorf("%q: %v of %v KiB", c.groups, left/1024, limit/1024)
		}
	}
}

// A kill that the group's own limit is the reason of is told from one for want of memory elsewhere, alike
// in both versions. A group that was full and lost no process is not one that its limit ended.
func TestMemoryEnd(t *testing.T) {
	const limit = 64 << 20
	v1 := func(kills, peak string) []string {
		return []string{"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill " + kills + "\n", "memory.max_usage_in_bytes", peak + "\n"}
	}
	v2 := func(refused, kills, peak string) []string {
		return []string{"memory.events", "low 0\nhigh 0\nmax 17\noom " + refused + "\noom_kill " + kills + "\noom_group_kill 0\n", "memory.peak", peak + "\n"}
	}
	for _, c := range []struct {
		name           string
		files1, files2 []string
		limit          int64
		kills          int64
		reached        bool
	}{
		{"killed at the limit", v1("1", "67104768"), v2("1", "1", "67104768"), limit, 1, true},
		{"killed far below it: the machine had no more", v1("1", "3145728"), v2("0", "1", "3145728"), limit, 1, false},
		{"full of file pages, and not killed", v1("0", "67108864"), v2("0", "0", "67108864"), limit, 0, false},
		{"no limit", v1("1", "67108864"), v2("0", "1", "67108864"), 0, 1, false},
	} {
		for version, files := range map[string][]string{"1": c.files1, "2": c.files2} {
			dir := t.TempDir()
			writeFiles(t, dir, files...)
			g := &Group{Limits: Limits{Memory: c.limit}, of: map[string]string{memory: dir}}
			if m := g.MemoryEnd(); m.Reached != c.reached || m.Kills != c.kills || m.Limit != c.limit || m.Peak == 0 {
				t.Errorf("%s, version %s: %+v", c.name, version, m)
			}
		}
	}
}
