package guard

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An outputPump reads the output of a program and forwards it to dyno, each write of
// the program as a frame of its own. That is what packet mode pipes (O_DIRECT,
// pipe(2)) are for: the runtime writes a line of GC trace in some 40 writes,
// and other writers cut into it; the parts can be told apart again only where
// the borders of the writes are kept.
//
// The collector waits when the pipe is full, so the pump has to keep up with a
// hundred packets per cycle and thousands of cycles a second, and must not
// cost the program its CPU either. A packet takes a page of the pipe however
// short it is: 256 fit into the 1 MiB that an unprivileged user gets. Hence:
//
//   - the reader is the supervisor, a process with nothing else to do. A
//     goroutine of dyno would wait for its turn behind the load generator;
//   - it does not wake for each packet. After the pipe is empty it sleeps for
//     a time in which a small part of the pipe fills, at most 1 ms: that takes
//     0.6 times the CPU of a blocking read loop, and spares the writer the
//     wake-ups;
//   - what it has gathered goes to dyno in one write, through a plain pipe
//     that holds seconds of it.
//
// BenchmarkStderr measures what the program notices of it: one that does
// nothing but collect, on two CPUs with nothing else to do, makes 0.87 to 0.88 of
// the collections that it makes with stderr on /dev/null if 256 KiB are live
// (1,100 a second; 0.95 to 0.97 on a file), and 0.97 if 20 MB are (750 a second).
// What remains is the price of packets, for the write, which takes a page, and
// the read, which gives it back.
//
// Note: sleeps of 0.25 ms were worse and of 2 ms no better; no gain could be
// told from noise for a shorter scheduler slice or a higher priority.
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

// widen makes a pipe as large as it may be, up to 8 MiB, and returns its size
// in bytes. Without CAP_SYS_RESOURCE the limit is fs.pipe-max-size.
func widen(fd int) int {
	limit := 1 << 20
	if b, err := os.ReadFile("/proc/sys/fs/pipe-max-size"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			limit = n
		}
	}
	for _, size := range []int{8 << 20, limit, 1 << 20, 256 << 10} {
		if n, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size); err == nil {
			return n
		}
	}
	return 64 << 10
}

func (p *outputPump) closeWriters() {
	unix.Close(p.out.w)
	unix.Close(p.err.w)
}

// finish makes run return when the pipes are empty, even if a process that does not
// descend from the program still holds them open.
func (p *outputPump) finish() { unix.Close(p.cancel[1]) }

// run forwards until both pipes are at their end, or finish was called.
func (p *outputPump) run() {
	sleep := pumpSleep
	polls := []unix.PollFd{
		{Fd: int32(p.err.r), Events: unix.POLLIN},
		{Fd: int32(p.out.r), Events: unix.POLLIN},
		{Fd: int32(p.cancel[0]), Events: unix.POLLIN},
	}
	for polls[0].Fd >= 0 || polls[1].Fd >= 0 {
		// Level of the fuller pipe, in shares of its slots.
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
