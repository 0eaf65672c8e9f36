// Package kernel reads what Linux knows of a process: /proc, its CPU clock, its control
// groups, and how quiet the machine was meanwhile. On other systems it has nothing.
package kernel

import "time"

// A Process runs on this machine.
type Process struct {
	PID     int
	Name    string // as the kernel has it: at most 15 bytes
	Program string // base name of the executable, or of the first argument where the former may not be known
	Command string // the arguments, separated by spaces
	Started time.Time
	Go      string // the Go version that built it; "" if it is not known, or not Go
	Grouped bool   // it has a control group of its own, which is not dyno's
}

func (p *Process) String() string {
	if p.Command == "" {
		return p.Name
	}
	return p.Command
}
