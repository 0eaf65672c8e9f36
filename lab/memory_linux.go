package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A memoryGroup is a control group that limits memory, of version 1 or 2.
type memoryGroup struct {
	dir                  string
	limit, usage, unused string // names of files; of the line in memory.stat that tells of file pages which can go at once
}

// Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
var groupFiles = []memoryGroup{
	{limit: "memory.max", usage: "memory.current", unused: "inactive_file "},
	{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", unused: "total_inactive_file "},
}

// memory returns a Lab's Memory: that of the machine, or of the control group of
// this process, or of one above it, that has the least left. It takes some 30 µs.
func memory() func() (left, total float64, err error) {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return memoryOf("/proc/meminfo", limitedGroups("/sys/fs/cgroup", string(groups)))
}

func memoryOf(meminfo string, groups []memoryGroup) func() (left, total float64, err error) {
	return func() (left, total float64, err error) {
		info, err := os.ReadFile(meminfo)
		if err != nil {
			return 0, 0, fmt.Errorf("read memory of the machine: %w", err)
		}
		left, ok1 := statLine(info, "MemAvailable:")
		total, ok2 := statLine(info, "MemTotal:")
		if !ok1 || !ok2 {
			return 0, 0, errors.New("read memory of the machine: no MemAvailable")
		}
		left, total = left*1024, total*1024
		for _, g := range groups {
			if l, t, ok := g.read(); ok && l < left {
				left, total = l, min(t, total)
			}
		}
		return left, total, nil
	}
}

// limitedGroups are the control groups that have a limit, of groups as in
// /proc/PID/cgroup, and of their ancestors.
func limitedGroups(root, groups string) (limited []memoryGroup) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[0] != "0" && parts[1] != "memory" {
			continue
		}
		mount := filepath.Join(root, parts[1])
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			for _, g := range groupFiles {
				g.dir = filepath.Join(mount, path)
				if _, _, ok := g.read(); ok {
					limited = append(limited, g)
				}
			}
			if path == "/" {
				break
			}
		}
	}
	return limited
}

// unlimited is above any limit that is one: version 1 has the largest number of
// whole pages instead, version 2 the word max.
const unlimited = 1 << 60

func (g memoryGroup) read() (left, limit float64, ok bool) {
	limit, ok1 := readNumber(filepath.Join(g.dir, g.limit))
	usage, ok2 := readNumber(filepath.Join(g.dir, g.usage))
	if !ok1 || !ok2 || limit >= unlimited {
		return 0, 0, false
	}
	stat, _ := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	unused, _ := statLine(stat, g.unused)
	return max(0, limit-usage+unused), limit, true
}

func readNumber(file string) (float64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n, err == nil
}

// statLine is the number behind a word that begins a line.
func statLine(text []byte, word string) (float64, bool) {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(word)); ok {
			fields := strings.Fields(string(rest))
			if len(fields) == 0 {
				return 0, false
			}
			n, err := strconv.ParseFloat(fields[0], 64)
			return n, err == nil
		}
	}
	return 0, false
}
