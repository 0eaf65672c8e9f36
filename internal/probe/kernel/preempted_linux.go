package kernel

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/internal/probe"
)

// Preempted writes down when the kernel took the CPU from threads of the subject that could have gone on: a line of
// JSON for each stretch, in preempted.jsonl, after one with the number of all switches. It needs perf_event_open(2), which
// /proc/sys/kernel/perf_event_paranoid allows for one's own processes up to 2, and Linux 4.17. Where it is not allowed, and
// where the threads on all their CPUs would take more than 2,048 descriptors, there is no file, and no error.
type Preempted struct{}

const (
	preemptedFile = "preempted.jsonl"
	drainEvery    = 20 * time.Millisecond
	afterTrace    = time.Second
	ringPages     = 64   // of each CPU, a power of two
	mostEvents    = 2048 // threads times CPUs: each has a descriptor
)

// A Preemption is a stretch in which a thread could run and did not, in ns of CLOCK_MONOTONIC.
type Preemption struct {
	Thread int32 `json:"tid"`
	From   int64 `json:"from"`
	To     int64 `json:"to"`
}

// Watch implements probe.Probe.
func (Preempted) Watch(ctx context.Context, t probe.Target) (r probe.Reading, err error) {
	s, err := openSwitches(t.PID)
	if err != nil {
		return r, nil // what reads it says what is not known
	}
	defer s.close()
	f, err := t.Create(preemptedFile)
	if err != nil {
		return r, err
	}
	t.Begin()
	s.follow(ctx, t.Length+afterTrace)
	err = errors.Join(s.write(f), f.Close())
	s.close()
	<-ctx.Done()
	return r, err
}

// follow reads the rings until the trace has surely ended, or the window.
func (s *switches) follow(ctx context.Context, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		s.drain(Clock(time.Now()) - late)
	}
	s.drain(math.MaxInt64)
}

// switches are what the kernel says of the threads of a process.
type switches struct {
	fds   []int
	rings [][]byte // one for each CPU
	count int      // of records
	seen  []change // and not yet joined
	left  map[int32]int64
	found []Preemption
}

// A change is a thread that comes onto a CPU or leaves it.
type change struct {
	at     int64
	thread int32
	how    uint16 // leaving, preempted
}

// openSwitches asks for the switches of all threads of a process, and of those that they start.
func openSwitches(pid int) (s *switches, err error) {
	if named, err := renamed(pid); named || err != nil {
		return nil, errors.Join(err, errors.New("its threads have other numbers in its own namespace"))
	}
	s = &switches{left: map[int32]int64{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	byCPU, known := map[int]int{}, map[int]bool{}
	for more := true; more; { // a thread may start another meanwhile
		more = false
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return s, err
		}
		for _, task := range tasks {
			tid, _ := strconv.Atoi(task.Name())
			if known[tid] {
				continue
			}
			known[tid], more = true, true
			if err := s.add(tid, byCPU); err != nil && !errors.Is(err, unix.ESRCH) {
				return s, err
			}
		}
	}
	return s, nil
}

// renamed reports whether a process is in a namespace of PIDs below dyno's: its trace has the numbers of that one
// (proc_pid_status(5), NSpid).
func renamed(pid int) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "\nNSpid:")
	ids, _, _ := strings.Cut(rest, "\n")
	return len(strings.Fields(ids)) > 1, err
}

// add asks for the switches of a thread on each CPU that it may use. All threads share the ring of a CPU.
func (s *switches) add(tid int, byCPU map[int]int) error {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &may); err != nil {
		return err
	}
	for cpu, left := 0, may.Count(); left > 0; cpu++ {
		if !may.IsSet(cpu) {
			continue
		}
		left--
		if len(s.fds) == mostEvents {
			return errors.New("too many threads")
		}
		a := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Clockid: unix.CLOCK_MONOTONIC,
			Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
			Bits: unix.PerfBitInherit | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitContextSwitch |
				unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		a.Size = uint32(unsafe.Sizeof(a))
		fd, err := unix.PerfEventOpen(&a, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		s.fds = append(s.fds, fd)
		if first, ok := byCPU[cpu]; ok {
			if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, first); err != nil {
				return err
			}
			continue
		}
		ring, err := unix.Mmap(fd, 0, (ringPages+1)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		byCPU[cpu] = fd
		s.rings = append(s.rings, ring)
	}
	return nil
}

func (s *switches) close() {
	for _, ring := range s.rings {
		unix.Munmap(ring)
	}
	for _, fd := range s.fds {
		unix.Close(fd)
	}
	s.rings, s.fds = nil, nil
}

// The parts of a record that is read (Linux, include/uapi/linux/perf_event.h): a header of 8 bytes, and what sample_type
// asks for.
const (
	recordLost   = 2       // PERF_RECORD_LOST
	recordSwitch = 14      // PERF_RECORD_SWITCH
	leaving      = 1 << 13 // PERF_RECORD_MISC_SWITCH_OUT
	preempted    = 1 << 14 // PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
	threadAt     = 12
	timeAt       = 16
	recordSize   = 24
)

// late is how much later than its time a record may be in its ring.
const late = int64(time.Millisecond)

// drain reads what the rings have, and joins what is older than a moment: a thread that leaves one CPU comes back on
// another, whose ring may be read first.
func (s *switches) drain(until int64) {
	lost := false
	for _, ring := range s.rings {
		page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&ring[0]))
		data := ring[os.Getpagesize():]
		head, tail := atomic.LoadUint64(&page.Data_head), page.Data_tail
		for tail < head {
			var b [recordSize]byte
			for i := range b { // records may go over the end of the ring
				b[i] = data[(tail+uint64(i))%uint64(len(data))]
			}
			misc, size := binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:])
			switch binary.NativeEndian.Uint32(b[:]) {
			case recordLost:
				lost = true
			case recordSwitch:
				s.count++
				s.seen = append(s.seen, change{
					int64(binary.NativeEndian.Uint64(b[timeAt:])), int32(binary.NativeEndian.Uint32(b[threadAt:])), misc & (leaving | preempted),
				})
			}
			tail += uint64(size)
		}
		atomic.StoreUint64(&page.Data_tail, tail)
	}
	if lost { // that a thread came back, maybe
		clear(s.left)
		s.seen = s.seen[:0]
	}
	slices.SortStableFunc(s.seen, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(s.seen) && s.seen[n].at < until; n++ {
		c := &s.seen[n]
		from, waits := s.left[c.thread]
		delete(s.left, c.thread)
		switch {
		case c.how == leaving|preempted:
			s.left[c.thread] = c.at
		case c.how == 0 && waits:
			s.found = append(s.found, Preemption{c.thread, from, c.at})
		}
	}
	s.seen = append(s.seen[:0], s.seen[n:]...)
}

func (s *switches) write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	fmt.Fprintf(buf, "{\"switches\":%d}\n", s.count)
	out := json.NewEncoder(buf)
	for i := range s.found {
		if err := out.Encode(&s.found[i]); err != nil {
			return err
		}
	}
	return buf.Flush()
}
