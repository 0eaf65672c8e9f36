package child

import "syscall"

// childAttributes are of a dyno that ends, interrupted, when this one does. It is
// in a process group of its own, so that Ctrl-C reaches it only once, by stop.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
