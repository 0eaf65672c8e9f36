//go:build unix

package client

import (
	"syscall"
	"time"
)

// cpuTime is this process's CPU time so far; 0 if it is not known.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
