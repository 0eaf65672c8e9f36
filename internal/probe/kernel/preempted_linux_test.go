package kernel

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Two threads that want the same CPU are kept from it by turns. They began after dyno asked.
func TestPreempted(t *testing.T) {
	s, err := openSwitches(os.Getpid())
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		t.Skip("this machine does not allow perf_event_open: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if may.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	var over atomic.Bool
	defer over.Store(true)
	threads := make(chan int32)
	for range 2 {
		go func() {
			runtime.LockOSThread() // and never unlocked, so that the thread ends with the goroutine
			unix.SchedSetaffinity(0, &one)
			threads <- int32(unix.Gettid())
			for !over.Load() {
			}
		}()
	}
	both := []int32{<-threads, <-threads}
	began := Clock(time.Now())
	of := map[int32]int{}
	for deadline := time.Now().Add(time.Minute); of[both[0]] < 3 || of[both[1]] < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("preempted %v of threads %v", of, both)
		}
		time.Sleep(drainEvery)
		s.drain(Clock(time.Now()) - late)
		clear(of)
		for _, p := range s.found {
			if p.To <= p.From || p.To > Clock(time.Now()) {
				t.Fatalf("%+v", p)
			}
			if slices.Contains(both, p.Thread) && p.From > began {
				of[p.Thread]++
			}
		}
	}
}
