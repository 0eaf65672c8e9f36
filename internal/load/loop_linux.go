package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/schedule"
	"golang.org/x/sys/unix"
)

// loops send open loads. Each is a thread that waits for due times and answers in
// one epoll_pwait2, whose time-out is exact. Go's timers are up to 1 ms late
// (golang/go#53824), and a pacer wakes a goroutine by two switches of threads.
type loops struct {
	r      *runner
	addr   func() unix.Sockaddr // makes one for each loop: Connect writes to it
	inet   int                  // address family
	limit  engine.Limits
	sweep  time.Duration // between looks for time-outs
	spin   time.Duration // before a request is due, polled instead of slept
	all    []*loop
	ended  atomic.Bool // the context of the phase has
	resent atomic.Int64
}

// haveLoops reports whether the kernel has epoll_pwait2: Linux 5.11, not gVisor.
func haveLoops() bool {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(ep)
	_, errno := epollWait(ep, make([]unix.EpollEvent, 1), 0)
	return errno == 0
}

func newLoops(ctx context.Context, r *runner, n int) (ls *loops, err error) {
	ls = &loops{r: r, limit: engine.LimitsOf(&r.load)}
	shortest := ls.limit.Total
	for _, d := range []time.Duration{ls.limit.Connect, ls.limit.Read} {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	ls.sweep = min(max(shortest/50, time.Millisecond), 100*time.Millisecond)
	// Waking an idle CPU takes some 60 µs. Polling that long cut the error of p50
	// at 1000/s from 0.18 to 0.12 ms for 0.7 % of a core; at 10,000/s it would
	// take 11 %, hence the bound.
	ls.spin = min(60*time.Microsecond, time.Duration(float64(time.Second)/r.load.Peak()/10))
	if err := ls.resolve(ctx); err != nil {
		return nil, err
	}
	for range n {
		l, err := ls.newLoop()
		if err != nil {
			ls.close()
			return nil, fmt.Errorf("load %s: make an epoll loop: %w", r.base, err)
		}
		ls.all = append(ls.all, l)
	}
	for i, c := range r.clients {
		l := ls.all[i%n]
		w := &wire{c: c, index: int32(len(l.wires)), fd: -1}
		l.wires = append(l.wires, w)
		l.free = append(l.free, w)
	}
	return ls, nil
}

// resolve finds the service's address: of several the one that answers, else the first.
func (ls *loops) resolve(ctx context.Context) error {
	network, addr := http1.Address(ls.r.base)
	if network == "unix" {
		ls.inet, ls.addr = unix.AF_UNIX, func() unix.Sockaddr { return &unix.SockaddrUnix{Name: addr} }
		return nil
	}
	ap, err := netip.ParseAddrPort(addr)
	if err != nil { // a name
		var to *net.TCPAddr
		d := net.Dialer{Timeout: ls.limit.Total}
		if conn, failed := d.DialContext(ctx, "tcp", addr); failed == nil {
			conn.Close()
			to = conn.RemoteAddr().(*net.TCPAddr)
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		} else if to, err = net.ResolveTCPAddr("tcp", addr); err != nil {
			f := failureOf(err, "")
			return fmt.Errorf("load %s: %s (consider: %s)", ls.r.base, f.cause, f.cure)
		}
		ap = to.AddrPort()
	}
	ip, port := ap.Addr().Unmap(), int(ap.Port())
	if ip.Is4() {
		ls.inet, ls.addr = unix.AF_INET, func() unix.Sockaddr { return &unix.SockaddrInet4{Port: port, Addr: ip.As4()} }
		return nil
	}
	to := unix.SockaddrInet6{Port: port, Addr: ip.As16()}
	if zone, err := net.InterfaceByName(ip.Zone()); err == nil {
		to.ZoneId = uint32(zone.Index)
	}
	ls.inet, ls.addr = unix.AF_INET6, func() unix.Sockaddr { own := to; return &own }
	return nil
}

func (ls *loops) close() {
	for _, l := range ls.all {
		l.close()
	}
}

func (ls *loops) open(ctx context.Context, s schedule.Times, length, catchUp time.Duration, measured bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := ls.r
	// A thread that comes back from a wait needs a P, or waits for milliseconds:
	// the error of p99 was 1.9 ms with GOMAXPROCS=1 and 0.4 with 3. So each loop
	// brings a P of its own.
	addProcs(len(ls.all))
	defer addProcs(-len(ls.all))
	start := r.begins()
	s, length = r.turn.LayOut(s, start, length)
	src := &source{start: start, limit: start + length + catchUp, part: r.options.Part, next: s}
	for _, c := range r.clients {
		c.free.Reset(start)
	}
	if measured {
		r.rec.begin(start)
	}
	ls.ended.Store(false)
	r.busiest = 0
	roused := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(roused)
		ls.ended.Store(true)
		for _, l := range ls.all {
			l.rouse()
		}
	})
	defer func() {
		if !stop() { // or it would write to an eventfd that is another file by then
			<-roused
		}
	}()
	var all sync.WaitGroup
	for _, l := range ls.all {
		all.Go(func() {
			if err := l.run(ctx, src, measured); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	for _, l := range ls.all {
		r.busiest = max(r.busiest, l.share)
	}
	if measured {
		r.unsent = src.unsent(r.now())
	}
	return context.Cause(ctx)
}

// procs guards GOMAXPROCS, since runs may overlap.
var procs sync.Mutex

func addProcs(n int) {
	procs.Lock()
	defer procs.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// A loop owns some of the clients, each with a connection.
type loop struct {
	ls       *loops
	ep, wake int // epoll, and an eventfd in it
	wires    []*wire
	free     []*wire // the one that became free last is next: its connection is warm
	busy     int
	addr     unix.Sockaddr
	more     []*wire // with more to read than one turn allows
	events   []unix.EpollEvent
	buf      []byte

	// The phase under way:
	ctx       context.Context
	src       *source
	measured  bool
	claimed   bool // a due time is claimed: due
	due       pace.Due
	exhausted bool // there is nothing left to claim
	swept     time.Duration
	share     float64 // of the phase before: CPU time of the thread as a share of the time it took
}

// wakeIndex stands for the eventfd among the wires' indices.
const wakeIndex = -1

func (ls *loops) newLoop() (*loop, error) {
	l := &loop{ls: ls, wake: -1, events: make([]unix.EpollEvent, 256), buf: make([]byte, 64<<10), addr: ls.addr()}
	var err error
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, l.wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: wakeIndex})
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *loop) close() {
	for _, w := range l.wires {
		w.close()
	}
	unix.Close(l.ep)
	if l.wake >= 0 {
		unix.Close(l.wake)
	}
}

func (l *loop) rouse() { unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (l *loop) now() time.Duration { return l.ls.r.now() }

// run plays the loop's part of a phase. It does not unlock the thread, whose timer
// slack is not for others: it ends with the goroutine.
func (l *loop) run(ctx context.Context, src *source, measured bool) error {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	own := func() time.Duration { return l.ls.r.turn.OwnAt(l.now()) } // in which it has to keep the rate
	began, cpu := own(), timeOf(unix.RUSAGE_THREAD)
	defer func() { l.share = float64(timeOf(unix.RUSAGE_THREAD)-cpu) / float64(max(own()-began, 1)) }()
	l.ctx, l.src, l.measured, l.claimed, l.exhausted = ctx, src, measured, false, false
	if err := l.drain(); err != nil {
		return err
	}
	for {
		if l.ls.ended.Load() {
			l.abandon()
			return nil
		}
		if err := l.sendDue(l.now()); err != nil {
			return err
		}
		if l.busy == 0 && l.exhausted {
			return nil
		}
		n, errno := epollWait(l.ep, l.events, l.waitTime())
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("load %s: wait for answers: %w", l.ls.r.base, errno)
		}
		for i := range max(n, 0) {
			if err := l.handle(&l.events[i]); err != nil {
				return err
			}
			// A batch of answers may take longer than the time between requests.
			if l.claimed && l.now() >= l.due.At || !l.claimed && len(l.free) > 0 {
				if err := l.sendDue(l.now()); err != nil {
					return err
				}
			}
		}
		if err := l.rest(); err != nil {
			return err
		}
	}
}

func (l *loop) drain() error {
	for {
		n, errno := epollWait(l.ep, l.events, 0)
		for i := range max(n, 0) {
			if err := l.handle(&l.events[i]); err != nil {
				return err
			}
		}
		if errno != unix.EINTR && n < len(l.events) {
			return nil
		}
	}
}

func (l *loop) waitTime() time.Duration {
	if len(l.more) > 0 {
		return 0
	}
	now := l.now()
	d := l.ls.sweep
	if l.busy > 0 {
		d = l.swept + l.ls.sweep - now
	}
	if l.claimed {
		d = min(d, l.due.At-now-l.ls.spin)
	}
	return max(d, 0)
}

// rest does what no event announces: large bodies and time-outs.
func (l *loop) rest() error {
	if len(l.more) > 0 {
		more := l.more
		l.more = nil
		for _, w := range more {
			w.waiting = false
			if err := l.read(w); err != nil {
				return err
			}
		}
	}
	now := l.now()
	if l.busy == 0 || now-l.swept < l.ls.sweep {
		return nil
	}
	l.swept = now
	for _, w := range l.wires {
		if w.state != idle && w.overdue(now, &l.ls.limit) {
			if err := l.fail(w, context.DeadlineExceeded); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) sendDue(now time.Duration) error {
	for len(l.free) > 0 && !l.exhausted {
		if !l.claimed {
			l.due, l.claimed = l.src.Claim()
			if !l.claimed {
				l.exhausted = true
				return nil
			}
		}
		if l.due.At > now {
			return nil
		}
		l.claimed = false
		if now > l.src.limit {
			l.src.Drop()
			l.exhausted = true
			return nil
		}
		w := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		l.busy++
		if err := l.send(w); err != nil {
			return err
		}
		now = l.now()
	}
	return nil
}

func (l *loop) abandon() {
	if l.claimed && l.due.At <= l.now() {
		l.src.Drop()
	}
	for _, w := range l.wires {
		if w.state != idle {
			w.close()
			w.state = idle
			l.free = append(l.free, w)
		}
	}
	l.busy, l.more = 0, nil
}
