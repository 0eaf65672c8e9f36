package load

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkWaits is what the loop of dyno's own HTTP load takes to wait for 100,000 due times a second, and
// nothing else: what BenchmarkQueue of package pace is beside.
func BenchmarkWaits(b *testing.B) {
	if !haveLoops() {
		b.Skip("no epoll_pwait2 here")
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(ep)
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	const step, spin = 10 * time.Microsecond, time.Microsecond // as newLoops has it for this rate
	events := make([]unix.EpollEvent, 1)
	cpu := timeOf(syscall.RUSAGE_THREAD)
	zero := time.Now()
	for i := range b.N {
		due := time.Duration(i) * step
		for now := time.Since(zero); now < due; now = time.Since(zero) {
			epollWait(ep, events, max(due-now-spin, 0))
		}
	}
	b.ReportMetric(float64(timeOf(syscall.RUSAGE_THREAD)-cpu)/float64(b.N), "cpu-ns/op")
}
