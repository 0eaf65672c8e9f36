package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// CPUs is how many CPUs the groups of this process, and those above them, let it
// use on average; +Inf without a limit.
func CPUs() float64 { return quota("/proc") }

func quota(proc string) float64 {
	least := math.Inf(1)
	all, _ := hierarchies(proc, 0)
	for _, h := range all {
		for _, dir := range h.up() {
			least = min(least, quotaOf(dir))
		}
	}
	return least
}

// quotaOf reads cpu.max, or cpu.cfs_quota_us (scheduler/sched-bwc.rst); +Inf
// without a limit.
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

// limitFiles name the files of a group that limits memory, and the word in
// memory.stat for file pages that the kernel can drop at once.
type limitFiles struct{ limit, usage, unused string }

var limitVersions = []limitFiles{
	{"memory.max", "memory.current", "inactive_file"},
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
}

// MemoryLeft returns a function that reads how many bytes this process may still
// use, and the limit that says so: that of its group, or of one above it, with
// the least left. Both are +Inf without a limit. Which groups have a limit is
// found out once.
func MemoryLeft() func() (left, limit float64) { return memoryLeft("/proc") }

func memoryLeft(proc string) func() (left, limit float64) {
	type group struct {
		dir string
		limitFiles
	}
	var limited []group
	all, _ := hierarchies(proc, 0)
	for _, h := range all {
		for _, dir := range h.up() {
			for _, files := range limitVersions {
				if _, _, ok := files.left(dir); ok {
					limited = append(limited, group{dir, files})
				}
			}
		}
	}
	return func() (left, limit float64) {
		left, limit = math.Inf(1), math.Inf(1)
		for _, g := range limited {
			if l, most, ok := g.left(g.dir); ok && l < left {
				left, limit = l, most
			}
		}
		return left, limit
	}
}

// unlimited is above any real limit: version 1 writes the largest number of whole
// pages where there is none, version 2 the word max.
const unlimited = 1 << 60

func (f limitFiles) left(dir string) (left, limit float64, ok bool) {
	limit, err1 := number(filepath.Join(dir, f.limit))
	usage, err2 := number(filepath.Join(dir, f.usage))
	if err1 != nil || err2 != nil || limit >= unlimited {
		return 0, 0, false
	}
	stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
	return max(0, limit-usage+words(stat)[f.unused]), limit, true
}

func number(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}

// InForce returns nil if this process is in a group of version 2 with the limits:
// systemd takes a property silently where it lacks the controller.
func InForce(l Limits) error {
	all, err := hierarchies("/proc", 0)
	if err != nil {
		return err
	}
	for _, h := range all {
		if !h.unified() {
			continue
		}
		if most, err := number(filepath.Join(h.dir, "memory.max")); l.Memory > 0 && (err != nil || most > float64(l.Memory)) {
			return errors.New("the scope that it made has no memory limit, as the user's systemd does not have that controller")
		}
		if l.CPU > 0 && math.IsInf(quotaOf(h.dir), 1) {
			return errors.New("the scope that it made has no CPU limit, as the user's systemd does not have that controller")
		}
		return nil
	}
	return errors.New("there are no control groups of version 2")
}
