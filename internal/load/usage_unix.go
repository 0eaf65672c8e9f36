//go:build unix

package load

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// timeOf is the CPU time of this process or a part of it, as getrusage(2) has them.
func timeOf(who int) time.Duration {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles is the limit of open files. The Go runtime raises it as far as it may.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return math.MaxInt
	}
	return int(min(l.Cur, 1<<40))
}
