package probe

import (
	"strings"
	"time"
)

// A Process is one that runs on this machine.
type Process struct {
	PID     int
	Name    string // as the kernel has it: at most 15 bytes
	Program string // base name of the executable, or of the first argument where the former may not be known
	Command string // the arguments, separated by spaces
	Started time.Time
	Go      string // the Go version that built it; "" if it is not known, or not Go
	Grouped bool   // it has a control group of its own, which is not dyno's
}

// String is the command line, or the name where there is none.
func (p *Process) String() string {
	if p.Command == "" {
		return p.Name
	}
	return p.Command
}

// grouped compares two texts of /proc/PID/cgroup: lines of hierarchy:controllers:path,
// as cgroups(7) has them. A group of its own is one below the root that is not
// dyno's, of version 2 or of a controller that accounts memory or CPU time.
func grouped(of, dyno string) bool {
	own := groups(dyno)
	for controller, path := range groups(of) {
		if path != "/" && path != own[controller] {
			return true
		}
	}
	return false
}

func groups(text string) map[string]string {
	paths := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			switch controller {
			case "", "memory", "cpu", "cpuacct":
				paths[controller] = parts[2]
			}
		}
	}
	return paths
}
