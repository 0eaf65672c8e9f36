package main

import (
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// spareThreads are those of the runtime itself and of other processes that come
// while ours are made.
const spareThreads = 200

// roomForThreads finds out whether the process may have n threads more, and
// lifts the Go runtime's own limit, which is 10,000. The kernel's limits are
// looked up beforehand, as the runtime cannot report that a thread was refused:
// it ends the process. root is the root of the file system; where the kernel
// does not tell its limits there, none is found.
func roomForThreads(root fs.FS, n int) error {
	need := n + spareThreads
	if l, ok := tightest(limits(root), need); ok {
		return fmt.Errorf("%d threads: %s leaves %d, and %d are needed (consider: fewer, or raise the limit)", n, l.name, l.left, need)
	}
	debug.SetMaxThreads(max(need, 10_000))
	return nil
}

// A limit says how many threads more may be made.
type limit struct {
	name string
	left int
}

func tightest(all []limit, need int) (limit, bool) {
	least := limit{left: math.MaxInt}
	for _, l := range all {
		if l.left < least.left {
			least = l
		}
	}
	return least, least.left < need
}

// limits reads what Linux says. Threads that other users have are counted
// against ulimit -u, too, so it may be said to leave less than it does.
func limits(root fs.FS) []limit {
	var all []limit
	used := 0
	if fields := strings.Fields(read(root, "proc/loadavg")); len(fields) > 3 {
		_, tasks, _ := strings.Cut(fields[3], "/") // runnable/all
		used, _ = strconv.Atoi(tasks)
	}
	add := func(name, most string, used int) {
		if n, err := strconv.Atoi(strings.TrimSpace(most)); err == nil { // else there is none, or it is "max"
			all = append(all, limit{name, n - used})
		}
	}
	add("kernel.threads-max", read(root, "proc/sys/kernel/threads-max"), used)
	add("kernel.pid_max", read(root, "proc/sys/kernel/pid_max"), used)
	for _, line := range strings.Split(read(root, "proc/self/limits"), "\n") {
		if rest, ok := strings.CutPrefix(line, "Max processes"); ok && len(strings.Fields(rest)) > 0 {
			add("ulimit -u", strings.Fields(rest)[0], used)
		}
	}
	// A stack and the page that guards it are a mapping each.
	if n, err := strconv.Atoi(strings.TrimSpace(read(root, "proc/sys/vm/max_map_count"))); err == nil {
		all = append(all, limit{"vm.max_map_count", (n - strings.Count(read(root, "proc/self/maps"), "\n")) / 2})
	}
	for _, dir := range pidsGroups(read(root, "proc/self/cgroup")) {
		current, _ := strconv.Atoi(strings.TrimSpace(read(root, dir+"/pids.current")))
		add("pids.max of /"+dir, read(root, dir+"/pids.max"), current)
	}
	return all
}

// pidsGroups are the places where a control group may bound the number of
// threads: that of the process, and those above it.
func pidsGroups(cgroups string) []string {
	var dirs []string
	for _, line := range strings.Split(cgroups, "\n") {
		parts := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(parts) < 3 {
			continue
		}
		mount := "sys/fs/cgroup"
		switch parts[1] {
		case "":
		case "pids":
			mount += "/pids"
		default:
			continue
		}
		path := strings.TrimSuffix(parts[2], "/")
		for ; strings.Contains(path, "/"); path = path[:strings.LastIndex(path, "/")] {
			dirs = append(dirs, mount+path)
		}
		dirs = append(dirs, mount)
	}
	return dirs
}

func read(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(data)
}
