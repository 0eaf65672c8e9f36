//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Time is this process's CPU time so far; 0 if it is not known.
func Time() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
