//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The stalling service: what is read in the first stall of every period is
// answered when the stall is over.
const (
	period = 2 * time.Second
	stall  = 500 * time.Millisecond
)

const (
	mostSamples = 1 << 22 // 4 bytes each, of service time and of gaps
	mostRequest = 4096    // bytes; a longer request closes its connection
	longest     = 4 * time.Second
)

// A server is an HTTP/1.1 server that knows the truth: it answers GET /hello at
// once, /delay?us=N N microseconds after the request was read and /stall as the
// stalling service does, and keeps when each of the latter two was read and
// answered. /truth tells, and /reset forgets and begins the stall's period.
//
// It is one thread, one epoll and no allocation per request, so that it costs
// what the kernel costs. Note: net/http takes twice the time of a cheap
// generator, so that it would be the server that is measured. A write that
// the kernel does not take at once closes the connection.
type server struct {
	epoll, listener int
	busy            bool // never sleeps, so that it notices a request at once
	began           time.Time
	period          time.Duration // when the first period began
	conns           []*conn       // by file descriptor
	timeout         unix.Timespec

	pending []held // from head on: those not yet answered, the next one first
	head    int

	requests      int           // but for /reset and /truth
	service, gaps []uint32      // nanoseconds, of /delay and /stall
	timed         int           // requests that were read of these
	first, last   time.Duration // when the first and the last of them was read
}

type conn struct {
	buf  [mostRequest]byte
	n    int    // bytes of an unfinished request in buf
	uses uint32 // of the descriptor, so that an answer does not go to its next user
}

// A held request waits for its answer.
type held struct {
	due, read time.Duration
	fd        int
	uses      uint32
}

var (
	hello    = []byte(answer("text/plain; charset=utf-8", "hello world\n"))
	notFound = []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	headEnd  = []byte("\r\n\r\n")
	delayIs  = []byte("/delay?us=")
)

func answer(kind, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nDate: Fri, 21 Nov 2025 19:00:00 GMT\r\nContent-Length: %d\r\nContent-Type: %s\r\n\r\n%s",
		len(body), kind, body)
}

// serve listens on a port of 127.0.0.1, writes its address to standard output,
// and serves until the process is killed.
func serve(busy bool) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // nothing is allocated but for /truth and new connections
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack: %w", err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	s := &server{busy: busy, began: time.Now(), conns: make([]*conn, 1<<16), pending: make([]held, 0, 1<<16),
		service: make([]uint32, 0, mostSamples), gaps: make([]uint32, 0, mostSamples)}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("create epoll: %w", err)
	}
	raw.Control(func(fd uintptr) { s.listener = int(fd) })
	if err := s.await(s.listener); err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return s.loop() // l stays open, as nothing is collected
}

func (s *server) await(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *server) loop() error {
	events := make([]unix.EpollEvent, 512)
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), uintptr(unsafe.Pointer(s.sleep())), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("wait for requests: epoll_pwait2: %w (consider: Linux 5.11 or later)", errno)
		}
		for i, e := range events[:n] {
			if int(e.Fd) == s.listener {
				s.accept()
			} else {
				s.read(int(e.Fd))
			}
			if i%16 == 15 {
				s.flush()
			}
		}
		s.flush()
	}
}

// sleep is how long to wait for a request: nil is for ever.
func (s *server) sleep() *unix.Timespec {
	switch {
	case s.busy:
		s.timeout = unix.Timespec{}
	case s.head == len(s.pending):
		return nil
	default:
		s.timeout = unix.NsecToTimespec(int64(max(s.pending[s.head].due-s.now(), 0)))
	}
	return &s.timeout
}

func (s *server) now() time.Duration { return time.Since(s.began) }

func (s *server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		if fd >= len(s.conns) {
			unix.Close(fd)
			continue
		}
		if s.conns[fd] == nil {
			s.conns[fd] = new(conn)
		}
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		s.await(fd)
	}
}

func (s *server) close(fd int) {
	s.conns[fd].uses++
	s.conns[fd].n = 0
	unix.Close(fd)
}

// read takes what has come, which may be a part of a request or several.
func (s *server) read(fd int) {
	c := s.conns[fd]
	free := c.buf[c.n:]
	k, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&free[0])), uintptr(len(free)))
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	if errno != 0 || k == 0 {
		s.close(fd)
		return
	}
	at, uses := s.now(), c.uses
	in := c.buf[:c.n+int(k)]
	for {
		end := bytes.Index(in, headEnd)
		if end < 0 {
			break
		}
		if s.handle(fd, in[:end], at); c.uses != uses {
			return // closed
		}
		in = in[end+len(headEnd):]
	}
	if len(in) == len(c.buf) {
		s.close(fd)
		return
	}
	c.n = copy(c.buf[:], in)
}

// handle answers one request, or keeps it for later.
func (s *server) handle(fd int, head []byte, at time.Duration) {
	path, ok := bytes.CutPrefix(head, []byte("GET "))
	if i := bytes.IndexByte(path, ' '); i >= 0 {
		path = path[:i]
	}
	if !ok { // its body would be taken for a request
		s.close(fd)
		return
	}
	s.requests++
	switch string(path) {
	case "/hello":
		s.write(fd, hello)
	case "/stall":
		due := at
		if into := (at - s.period) % period; into < stall {
			due += stall - into
		}
		s.hold(fd, at, due)
	case "/reset":
		s.requests, s.timed, s.head = 0, 0, 0
		s.pending, s.service, s.gaps = s.pending[:0], s.service[:0], s.gaps[:0]
		s.write(fd, hello)
		s.period = s.now()
	case "/truth":
		s.requests--
		body, _ := json.Marshal(s.truth())
		s.write(fd, []byte(answer("application/json", string(body))))
	default:
		n, err := 0, strconv.ErrSyntax
		if us, ok := bytes.CutPrefix(path, delayIs); ok {
			n, err = strconv.Atoi(string(us)) // does not allocate, as n does not outlive the call
		}
		if delay := time.Duration(n) * time.Microsecond; err == nil && delay >= 0 && delay <= longest {
			s.hold(fd, at, at+delay)
		} else {
			s.write(fd, notFound)
		}
	}
}

// hold keeps a request until its answer is due. Answers that are due at the
// same time go out in the order of the requests.
func (s *server) hold(fd int, at, due time.Duration) {
	if s.timed == 0 {
		s.first = at
	} else if len(s.gaps) < mostSamples {
		s.gaps = append(s.gaps, nanoseconds(at-s.last))
	}
	s.timed++
	s.last = at
	i := len(s.pending)
	s.pending = append(s.pending, held{})
	for ; i > s.head && s.pending[i-1].due > due; i-- {
		s.pending[i] = s.pending[i-1]
	}
	s.pending[i] = held{due, at, fd, s.conns[fd].uses}
}

// flush sends the answers that are due.
func (s *server) flush() {
	if s.head == len(s.pending) {
		return
	}
	now := s.now()
	for s.head < len(s.pending) && s.pending[s.head].due <= now {
		p := s.pending[s.head]
		s.head++
		if s.conns[p.fd].uses == p.uses {
			if len(s.service) < mostSamples {
				s.service = append(s.service, nanoseconds(now-p.read))
			}
			s.write(p.fd, hello)
			now = s.now()
		}
	}
	if s.head > len(s.pending)/2 {
		s.pending = s.pending[:copy(s.pending, s.pending[s.head:])]
		s.head = 0
	}
}

func (s *server) write(fd int, b []byte) {
	n, _, _ := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if int(n) != len(b) {
		s.close(fd)
	}
}

func nanoseconds(d time.Duration) uint32 { return uint32(min(d, math.MaxUint32)) }

func (s *server) truth() truth {
	t := truth{Requests: s.requests, Timed: s.timed, Service: spreadOf(s.service), Gaps: spreadOf(s.gaps)}
	if s.last > s.first {
		t.Rate = float64(s.timed-1) / (s.last - s.first).Seconds()
	}
	return t
}

// spreadOf sorts its argument.
func spreadOf(ns []uint32) spread {
	slices.Sort(ns)
	return spread{quantile(ns, 0.5), quantile(ns, 0.9), quantile(ns, 0.99), quantile(ns, 0.999), quantile(ns, 1)}
}

// quantile is the least of the sorted values that q of them do not exceed, in
// milliseconds: HdrHistogram's definition.
func quantile(sorted []uint32, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted))-1e-6)) - 1
	return float64(sorted[max(i, 0)]) / 1e6
}
