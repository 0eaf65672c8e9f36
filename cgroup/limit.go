package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

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
			return errors.New("the scope that it made has no memory limit, as the user's systemd does not have that controller")
		}
		if l.CPU > 0 && math.IsInf(quotaOf(h.dir), 1) {
			return errors.New("the scope that it made has no CPU limit, as the user's systemd does not have that controller")
		}
		return nil
	}
	return errors.New("there are no control groups of version 2")
}
