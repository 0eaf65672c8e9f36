//go:build unix

package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time of this process, user and system.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
