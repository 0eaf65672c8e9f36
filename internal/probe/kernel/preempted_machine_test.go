//go:build machine && linux

package kernel

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Two threads that want the same CPU are kept from it by turns. The process started them after dyno asked.
func TestMachinePreempted(t *testing.T) {
	before, _ := os.ReadDir("/proc/self/task")
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
	rest := make(chan struct{})
	defer close(rest)
	defer over.Store(true)
	threads := make(chan int32)
	spin := func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends with the goroutine
		tid := unix.Gettid()
		if slices.ContainsFunc(before, func(e os.DirEntry) bool { return e.Name() == strconv.Itoa(tid) }) {
			threads <- 0
			<-rest // so that the next goroutine has another
			return
		}
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Error(err)
		}
		threads <- int32(tid)
		for !over.Load() {
		}
	}
	var both []int32
	for len(both) < 2 {
		go spin()
		if tid := <-threads; tid != 0 {
			both = append(both, tid)
		}
	}
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
