package guard

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An outputPump forwards the output of a program to dyno, each write as a frame of its own. Packet
// mode pipes (O_DIRECT, pipe(2)) keep the borders: the runtime writes a line of GC trace in some 40
// writes, and other writers cut into it.
//
// The collector waits when the pipe is full. A packet takes a page, and a pipe of 1 MiB has 256,
// for a hundred packets per cycle and thousands of cycles a second. So the reader is the
// supervisor, which does nothing else: a goroutine of dyno would wait for the load generator. It
// sleeps until a small part of the pipe is full, 1 ms at most, which takes 0.6 times the CPU of a
// blocking loop and spares the writer wake-ups; 0.25 ms were worse, 2 ms no better. What it gathered
// goes to dyno in one write, through a plain pipe that holds seconds of it.
//
// BenchmarkStderr measures the cost: a program that only collects, on two idle CPUs, makes 0.87 of
// its collections with 256 KiB live (0.95 on a file), and 0.97 with 20 MB.
type outputPump struct {
	out, err   packetPipe
	cancel     [2]int
	buf, batch []byte
}

type packetPipe struct {
	r, w  int
	kind  byte
	slots int // packets that it holds
}

const (
	pumpSleep    = time.Millisecond
	pumpSleepMin = 50 * time.Microsecond
)

func newOutputPump() (*outputPump, error) {
	p := &outputPump{buf: make([]byte, 64<<10), batch: make([]byte, 0, 128<<10)}
	for _, pp := range []struct {
		pipe *packetPipe
		kind byte
	}{{&p.out, frameStdout}, {&p.err, frameStderr}} {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
			return nil, os.NewSyscallError("pipe2", err)
		}
		unix.SetNonblock(fds[0], true) // the program's end has flags of its own and blocks
		*pp.pipe = packetPipe{fds[0], fds[1], pp.kind, widen(fds[0]) / os.Getpagesize()}
	}
	return p, os.NewSyscallError("pipe2", unix.Pipe2(p.cancel[:], unix.O_CLOEXEC))
}

// widen makes a pipe large and returns its size in bytes. Without CAP_SYS_RESOURCE the limit is
// fs.pipe-max-size, 1 MiB unless it was changed.
func widen(fd int) int {
	for _, size := range []int{8 << 20, 1 << 20, 256 << 10} {
		if n, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size); err == nil {
			return n
		}
	}
	return 64 << 10
}

// run returns when the pipes are closed or, once cancel is, empty.
func (p *outputPump) run() {
	sleep := pumpSleep
	polls := []unix.PollFd{
		{Fd: int32(p.err.r), Events: unix.POLLIN},
		{Fd: int32(p.out.r), Events: unix.POLLIN},
		{Fd: int32(p.cancel[0]), Events: unix.POLLIN},
	}
	for polls[0].Fd >= 0 || polls[1].Fd >= 0 {
		// fill is the level of the fuller pipe, in shares of its slots.
		fill := 0.0
		for i, pp := range []*packetPipe{&p.err, &p.out} {
			if polls[i].Fd >= 0 {
				n, end := p.drain(pp)
				fill = max(fill, float64(n)/float64(pp.slots))
				if end {
					polls[i].Fd = -1
				}
			}
		}
		writeAll(1, p.batch)
		p.batch = p.batch[:0]
		switch {
		case fill == 0:
			if polls[2].Revents != 0 {
				return
			}
			unix.Poll(polls, -1)
			continue
		case fill > 0.5:
			sleep = max(sleep/2, pumpSleepMin)
		case fill < 0.1:
			sleep = min(sleep*2, pumpSleep)
		}
		ts := unix.NsecToTimespec(int64(sleep))
		unix.Nanosleep(&ts, nil)
	}
}

// drain appends the packets that are there to the batch and counts them.
func (p *outputPump) drain(pp *packetPipe) (n int, end bool) {
	for {
		// The descriptor does not block, so the scheduler need not know.
		size, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(pp.r), uintptr(unsafe.Pointer(&p.buf[0])), uintptr(len(p.buf)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return n, false
		case errno != 0 || size == 0:
			return n, true
		}
		n++
		p.batch = appendFrame(p.batch, pp.kind, p.buf[:size])
		if len(p.batch) > 64<<10 {
			writeAll(1, p.batch)
			p.batch = p.batch[:0]
		}
	}
}
