package kernel

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// Clock returns what CLOCK_MONOTONIC was at a time of this process, in ns; 0 if the time is of another
// machine, or was read from a file. Execution traces (runtime/tracetime.go), perf and BPF have this clock.
func Clock(at time.Time) int64 {
	if at == at.Round(0) { // without a reading of the clock
		return 0
	}
	clock, least := int64(0), int64(math.MaxInt64)
	for range 5 { // the kernel may come between two readings
		var before, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil {
			return 0
		}
		since := time.Since(at)
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0
		}
		if took := after.Nano() - before.Nano(); took < least {
			least, clock = took, before.Nano()+took/2-int64(since)
		}
	}
	return clock
}
