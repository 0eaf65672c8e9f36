//go:build unix

package main

// The second file that dyno adds to a service: see probe.go.

import dynoProbeSyscall "syscall"

func init() {
	dynoProbeCPU = func() (user, system float64) {
		var u dynoProbeSyscall.Rusage
		if dynoProbeSyscall.Getrusage(dynoProbeSyscall.RUSAGE_SELF, &u) != nil {
			return 0, 0
		}
		return float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
	}
}
