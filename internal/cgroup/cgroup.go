// Package cgroup reads and makes control groups of Linux, version 1, version 2 and hybrid: see
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. It is the only reader of /proc/PID/cgroup
// and /sys/fs/cgroup, and knows nothing of dyno. On other systems it finds no groups.
package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Limits are those of a group; 0 means no limit.
type Limits struct {
	CPU    float64 // CPUs whose time may be used; 0 means no limit
	Memory int64   // bytes; 0 means no limit
	Idle   bool    // what is in it runs almost only where nothing else wants to (cpu.idle, Linux 5.15); not of a scope
}

// A MemoryEnd is what became of a group's memory.
type MemoryEnd struct {
	Kills   int64 // processes that the kernel killed for want of memory
	Reached bool  // the group's own limit was the reason of a kill, in both versions; false without a limit
	Limit   int64 // bytes; 0 if it has none
	Peak    int64 // most bytes that it had; 0 if unknown
}

const (
	memory = "memory" // names of controllers
	cpu    = "cpu"
)

// A hierarchy is a mounted tree of control groups.
type hierarchy struct {
	controllers []string // version 1; nil for version 2
	mount       string
	dir         string // of the group that has the process
}

// groups lists the groups of process pid, one in each hierarchy; 0 is this process.
func groups(proc string, pid int) (root procfs.FS, all []procfs.Cgroup, err error) {
	if root, err = procfs.NewFS(proc); err != nil {
		return root, nil, err
	}
	process, err := root.Self()
	if pid != 0 {
		process, err = root.Proc(pid)
	}
	if err == nil {
		all, err = process.Cgroups()
	}
	return root, all, err
}

// hierarchies lists those in which this process can see the group of process pid; 0 is itself.
func hierarchies(proc string, pid int) ([]hierarchy, error) {
	root, all, err := groups(proc, pid)
	if err != nil {
		return nil, err
	}
	mounts, err := root.GetMounts()
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for _, g := range all {
		for _, m := range mounts {
			path, visible := below(m.Root, g.Path)
			mounted := !slices.ContainsFunc(g.Controllers, func(c string) bool { _, ok := m.SuperOptions[c]; return !ok })
			v1 := m.FSType == "cgroup" && len(g.Controllers) > 0 && mounted
			v2 := m.FSType == "cgroup2" && len(g.Controllers) == 0
			if visible && (v1 || v2) {
				found = append(found, hierarchy{g.Controllers, m.MountPoint, filepath.Join(m.MountPoint, path)})
				break
			}
		}
	}
	return found, nil
}

// below returns the path of a group relative to the mounted one: a container may see its own group
// as the root.
func below(mounted, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(mounted, "/"))
	return rest, ok && (rest == "" || rest[0] == '/') && !strings.HasPrefix(rest, "/..")
}

// Apart reports whether process pid is in a group that accounts memory or CPU time, is below the
// root, and is not the group of this process. proc is /proc.
func Apart(proc string, pid int) bool {
	_, ours, err1 := groups(proc, 0)
	_, theirs, err2 := groups(proc, pid)
	if err1 != nil || err2 != nil {
		return false
	}
	return slices.ContainsFunc(theirs, func(g procfs.Cgroup) bool {
		counts := len(g.Controllers) == 0 || slices.Contains(g.Controllers, memory) || slices.Contains(g.Controllers, cpu)
		same := func(o procfs.Cgroup) bool { return o.Path == g.Path && slices.Equal(o.Controllers, g.Controllers) }
		return counts && g.Path != "/" && !slices.ContainsFunc(ours, same)
	})
}

// with returns the hierarchy that has a controller: version 1 before version 2, as it then has it
// alone; the zero value for none.
func with(controller string, all []hierarchy) hierarchy {
	i := slices.IndexFunc(all, func(h hierarchy) bool { return slices.Contains(h.controllers, controller) })
	if i < 0 {
		i = slices.IndexFunc(all, hierarchy.unified)
	}
	if i < 0 {
		return hierarchy{}
	}
	return all[i]
}

func (h hierarchy) unified() bool { return h.controllers == nil }

// up lists the directories of the process's group and of those above it.
func (h hierarchy) up() []string {
	dirs := []string{h.dir}
	for dir := h.dir; len(dir) > len(h.mount); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// CPUs is how many CPUs the groups of this process, and those above them, let it use on average;
// +Inf without a limit.
func CPUs(proc string) float64 {
	least := math.Inf(1)
	all, _ := hierarchies(proc, 0)
	for _, h := range all {
		for _, dir := range h.up() {
			least = min(least, quotaOf(dir))
		}
	}
	return least
}

// Own is what the CPU limits of the groups of this process, and of those above them, have cost so far: that of the group that was
// stopped longest, and how many CPUs it may use. Without a limit that is +Inf.
func Own(proc string) (cost Throttling, limit float64) {
	limit = math.Inf(1)
	all, _ := hierarchies(proc, 0)
	for _, h := range all {
		for _, dir := range h.up() {
			quota := quotaOf(dir)
			if math.IsInf(quota, 1) {
				continue
			}
			a := openAccount("", dir, false)
			if t, err := a.Throttling(); err == nil && (math.IsInf(limit, 1) || t.Seconds > cost.Seconds) {
				cost, limit = t, quota
			}
			a.Close()
		}
	}
	return cost, limit
}

// quotaOf reads cpu.max, or cpu.cfs_quota_us (scheduler/sched-bwc.rst); +Inf without a limit.
func quotaOf(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		q, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
		period, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
		text = append(q, period...)
	}
	var q, period float64
	if n, _ := fmt.Sscan(string(text), &q, &period); n < 2 || q <= 0 || period <= 0 { // "max", or -1
		return math.Inf(1)
	}
	return q / period
}

// MemoryLeft returns a function that reads how many bytes this process may still use, and the
// limit, of the group with the least left; +Inf without a limit. It finds the limited groups once
// and keeps their files open.
func MemoryLeft(proc string) func() (left, limit float64) {
	var limited []limitedMemory
	all, _ := hierarchies(proc, 0)
	for _, h := range all {
		for _, dir := range h.up() {
			m := limitedMemory{
				limit: open(dir, os.O_RDONLY, "memory.max", "memory.limit_in_bytes"),
				usage: open(dir, os.O_RDONLY, memoryUsage...), stat: open(dir, os.O_RDONLY, "memory.stat"),
			}
			if _, _, ok := m.left(); ok {
				limited = append(limited, m)
			} else {
				closeAll(m.limit, m.usage, m.stat)
			}
		}
	}
	return func() (left, limit float64) {
		left, limit = math.Inf(1), math.Inf(1)
		for _, m := range limited {
			if l, most, ok := m.left(); ok && l < left {
				left, limit = l, most
			}
		}
		return left, limit
	}
}

type limitedMemory struct{ limit, usage, stat *File }

// unlimited is above any real limit: without one, version 1 has the largest number of whole pages,
// and version 2 the word max.
const unlimited = 1 << 60

func (m limitedMemory) left() (left, limit float64, ok bool) {
	limit, err1 := m.limit.Number()
	usage, err2 := m.usage.Number()
	if m.limit == nil || m.usage == nil || err1 != nil || err2 != nil || limit >= unlimited {
		return 0, 0, false
	}
	stat, _ := m.stat.Words()
	unused, v1 := stat["total_inactive_file"] // file pages, which the kernel can drop at once
	if !v1 {
		unused = stat["inactive_file"]
	}
	return max(0, limit-usage+unused), limit, true
}

// InForce returns nil if this process is in a group of version 2 with the limits: systemd silently
// ignores a property without the controller.
func InForce(l Limits) error {
	all, err := hierarchies("/proc", 0)
	if err != nil {
		return err
	}
	for _, h := range all {
		if !h.unified() {
			continue
		}
		f := open(h.dir, os.O_RDONLY, "memory.max")
		most, err := f.Number()
		closeAll(f)
		if l.Memory > 0 && (f == nil || err != nil || most > float64(l.Memory)) {
			return errors.New("its scope has no memory limit, as the user's systemd lacks that controller")
		}
		if l.CPU > 0 && math.IsInf(quotaOf(h.dir), 1) {
			return errors.New("its scope has no CPU limit, as the user's systemd lacks that controller")
		}
		return nil
	}
	return errors.New("control groups of version 2 are missing")
}
