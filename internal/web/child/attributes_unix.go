//go:build unix && !linux

package child

import "syscall"

// childAttributes are of a dyno in a process group of its own, so that Ctrl-C
// reaches it only once, by stop. It outlives this one if that is killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
