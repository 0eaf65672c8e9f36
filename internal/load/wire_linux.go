package load

import (
	"time"
	"unsafe"

	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/scenario"
	"golang.org/x/sys/unix"
)

// A wire is a client's connection in a loop, with its request under way.
type wire struct {
	c     *client
	index int32 // in its loop
	era   int32 // of connections: an event of an earlier one is void
	fd    int   // -1 if there is no connection
	used  bool  // it has served a request
	state wireState

	p       http1.Parser
	step    *scenario.Step
	req     *http1.Request
	due     due
	left    []byte        // of the request, still to be written
	heard   time.Duration // when the last byte came, or the request was sent
	part    time.Duration // when the first part of an answer came; 0 if it came whole
	ended   bool          // the service has closed its side
	resent  bool
	waiting bool // it is in loop.more
}

type wireState uint8

const (
	idle wireState = iota
	connecting
	underway // writing, or reading, or both
)

func (w *wire) call() *call { return &w.c.calls[0] }

func (w *wire) close() {
	if w.fd >= 0 {
		unix.Close(w.fd)
		w.fd = -1
		w.era++
	}
	w.used, w.ended = false, false
}

func (w *wire) overdue(now time.Duration, lim *engine.Limits) bool {
	sent := w.call().out.sent
	return now-sent >= lim.Total ||
		lim.Connect > 0 && w.state == connecting && now-sent >= lim.Connect ||
		lim.Read > 0 && w.state == underway && now-w.heard >= lim.Read
}

func (l *loop) send(w *wire) error {
	k := w.call()
	w.due, w.resent = due{at: l.due.At, free: w.c.free.At}, false
	w.step = l.ls.r.scenario.Loop[0].Pick(l.due.N, w.c.vars)
	w.req = w.c.prepare(k, w.step)
	if w.req == nil {
		return l.settle(w)
	}
	k.out.sent = l.now()
	return l.start(w)
}

func (l *loop) start(w *wire) error {
	w.p.Reset(w.req.Method == "HEAD", w.req.KeepBody, w.req.KeepHeader)
	w.left, w.heard, w.part = w.req.Wire, w.call().out.sent, 0
	if w.fd >= 0 {
		w.state = underway
		return l.write(w)
	}
	w.state = connecting
	if err := l.connect(w); err != nil {
		return l.fail(w, err)
	}
	return nil
}

// connect begins to connect; the connection is writable once established.
func (l *loop) connect(w *wire) (err error) {
	w.fd, err = unix.Socket(l.ls.inet, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.fd = -1
		return err
	}
	_ = unix.SetsockoptInt(w.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	err = unix.Connect(w.fd, l.addr)
	if err != nil && err != unix.EINPROGRESS {
		return err
	}
	return unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, w.fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: w.index, Pad: w.era,
	})
}

func (l *loop) handle(ev *unix.EpollEvent) error {
	if ev.Fd == wakeIndex {
		var b [8]byte
		unix.Read(l.wake, b[:])
		return nil
	}
	w := l.wires[ev.Fd]
	if w.fd < 0 || ev.Pad != w.era {
		return nil
	}
	ended := ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	w.ended = w.ended || ended
	switch {
	case w.state == idle:
		if ev.Events&unix.EPOLLIN != 0 || ended { // closed, or data without a request
			w.close()
		}
		return nil
	case w.state == connecting:
		if ev.Events&unix.EPOLLOUT == 0 && !ended {
			return nil
		}
		code, err := unix.GetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		if err != nil {
			return l.fail(w, err)
		}
		w.state = underway
		w.heard = l.now()
		// The answer may have come in the same event.
		if err := l.write(w); err != nil || w.state != underway {
			return err
		}
	}
	if ev.Events&unix.EPOLLOUT != 0 && len(w.left) > 0 {
		if err := l.write(w); err != nil || w.state == idle {
			return err
		}
	}
	if ev.Events&unix.EPOLLIN != 0 || ended {
		return l.read(w)
	}
	return nil
}

func (l *loop) write(w *wire) error {
	for len(w.left) > 0 {
		n, errno := writeSocket(w.fd, w.left)
		switch errno {
		case 0:
			if w.left = w.left[n:]; l.ls.limit.Read > 0 {
				w.heard = l.now() // a service that reads is not silent
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return nil
		default:
			// A service may answer and close before it has read all: that answer
			// counts. Without one, reading fails.
			w.left = nil
			w.p.Close = true
			return l.read(w)
		}
	}
	return nil
}

// turns bounds how often a connection is read before others have their turn.
const turns = 16

// read reads the answer. An edge-triggered event comes once, so it reads until the
// socket is empty or puts the wire into l.more.
func (l *loop) read(w *wire) error {
	if w.state != underway || w.waiting {
		return nil
	}
	for range turns {
		n, errno := readSocket(w.fd, l.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return nil
		case errno != 0:
			return l.fail(w, errno)
		case n == 0:
			if err := w.p.EOF(); err != nil {
				return l.fail(w, err)
			}
			w.p.Close = true
			return l.complete(w)
		}
		used, done, err := w.p.Feed(l.buf[:n])
		if err != nil {
			return l.fail(w, err)
		}
		if done {
			w.p.Close = w.p.Close || used < n || w.ended
			return l.complete(w)
		}
		if w.part == 0 {
			w.part = l.now()
		}
		if l.ls.limit.Read > 0 {
			w.heard = l.now()
		}
		if n < len(l.buf) && !w.ended { // a short read empties a socket (epoll(7))
			return nil
		}
	}
	w.waiting = true
	l.more = append(l.more, w)
	return nil
}

func (l *loop) complete(w *wire) error {
	k := w.call()
	k.out.done = l.now()
	k.answer = w.p.Answer
	k.answer.Closed = w.p.Close && !w.req.Closes
	if w.part > 0 {
		k.answer.Gap = k.out.done - w.part
	}
	if w.used = true; w.p.Close || w.req.Closes || len(w.left) > 0 {
		w.close()
	}
	w.c.finish(l.ctx, k, w.step, w.req, nil)
	return l.settle(w)
}

// fail ends an unanswered request, or resends it if the service had closed the
// connection before.
func (l *loop) fail(w *wire, err error) error {
	again := w.used && !w.resent && w.req.Idempotent() && engine.Stale(&w.p, err)
	w.close()
	if again {
		w.resent = true
		l.ls.resent.Add(1)
		return l.start(w)
	}
	k := w.call()
	k.out.done = l.now()
	w.c.finish(l.ctx, k, w.step, w.req, err)
	return l.settle(w)
}

func (l *loop) settle(w *wire) error {
	w.state = idle
	l.busy--
	l.free = append(l.free, w)
	o := &w.call().out
	w.c.free.Took(w.due.at, o.sent, o.done)
	if !l.measured || o.cause != "" && l.ctx.Err() != nil {
		w.c.vars.NextLoop()
		return nil
	}
	err := l.ls.r.note(w.c, w.step, w.due, o)
	w.c.vars.NextLoop()
	return err
}

// The loop's system calls. Reads and writes do not block, so they skip the
// scheduler's bookkeeping, which would take as long as they do. Waiting does not.

func readSocket(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}

func writeSocket(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// epollWait is epoll_pwait2(2), whose time-out is exact.
func epollWait(ep int, events []unix.EpollEvent, d time.Duration) (int, unix.Errno) {
	t := unix.NsecToTimespec(int64(d))
	if d == 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
		return int(n), errno
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
	return int(n), errno
}
