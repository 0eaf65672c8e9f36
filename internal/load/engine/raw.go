package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dynolab/dyno/internal/load/http1"
)

// A rawEngine speaks plain HTTP/1.1: requests are rendered ahead, a parser reads
// answers, and nothing is allocated per request. net/http takes two to three times
// the CPU time, which a service on the same machine would miss.
type rawEngine struct {
	network, addr string

	limits Limits
	twice  atomic.Int64
	large  sync.Pool // of *[]byte, for bodies that do not fit into a link's own buffer
}

// A link's own buffer, and one that it borrows for an answer that fills that.
// Thousands of clients must not take much memory.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

// NewRaw returns the engine that writes and parses HTTP/1.1 in the clear itself.
func NewRaw(base *url.URL, lim Limits) Engine {
	e := &rawEngine{limits: lim}
	e.network, e.addr = http1.Address(base)
	e.large.New = func() any { b := make([]byte, largeBuffer); return &b }
	return e
}

func (e *rawEngine) Name() string  { return "raw" }
func (e *rawEngine) Link(int) Link { return &rawLink{e: e} }
func (e *rawEngine) Resent() int64 { return e.twice.Load() }
func (e *rawEngine) Close()        {}

// A connection idle for longer than this is checked before use: after a client's
// rest, not between requests that follow at once.
const idleCheck = time.Millisecond

type rawLink struct {
	e    *rawEngine
	conn net.Conn // nil before it is needed
	p    http1.Parser
	buf  []byte
	over time.Time // when the last exchange was
	part time.Time // when the first part of the answer came; zero if it came whole

	// ctx ends reads and writes. It is the same for very many requests, so they
	// pay nothing for it.
	mu   sync.Mutex // of ctx, for the function that its end calls
	ctx  context.Context
	stop func() bool
}

func (l *rawLink) Close() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
	l.unfollow()
}

func (l *rawLink) Exchange(ctx context.Context, r *http1.Request, a *http1.Answer) error {
	now := time.Now()
	deadline := now.Add(l.e.limits.Total)
	if l.conn != nil && now.Sub(l.over) > idleCheck && gone(l.conn) {
		l.Close()
	}
	defer func() { l.over = time.Now() }()
	for {
		fresh := l.conn == nil
		if fresh {
			if err := l.dial(ctx, deadline); err != nil {
				return err
			}
		}
		l.follow(ctx)
		err := l.once(ctx, r, deadline)
		*a = l.p.Answer
		a.Closed = err == nil && l.p.Close && !r.Closes
		if !l.part.IsZero() {
			a.Gap = time.Since(l.part)
		}
		if err == nil && !l.p.Close && !r.Closes {
			return nil
		}
		l.Close()
		if err == nil || fresh || !r.Idempotent() || ctx.Err() != nil || !Stale(&l.p, err) {
			return err
		}
		l.e.twice.Add(1)
	}
}

// Stale reports whether a used connection failed because the service had closed it
// before it saw the request.
func Stale(p *http1.Parser, err error) bool {
	return !p.Began && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}

func (l *rawLink) dial(ctx context.Context, deadline time.Time) (err error) {
	d := net.Dialer{Deadline: deadline, Timeout: l.e.limits.Connect}
	l.conn, err = d.DialContext(ctx, l.e.network, l.e.addr)
	if err != nil {
		l.conn = nil // not a typed nil
	}
	return err
}

// follow makes reads and writes fail when ctx ends. The late end of an earlier
// context does nothing.
func (l *rawLink) follow(ctx context.Context) {
	if l.ctx == ctx {
		return
	}
	l.unfollow()
	conn := l.conn
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx = ctx
	l.stop = context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ctx == ctx {
			conn.SetDeadline(time.Unix(1, 0))
		}
	})
}

func (l *rawLink) unfollow() {
	if l.stop == nil {
		return
	}
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.stop = nil, nil
}

func (l *rawLink) once(ctx context.Context, r *http1.Request, deadline time.Time) error {
	l.p.Reset(r.Method == "HEAD", r.KeepBody, r.KeepHeader)
	l.part = time.Time{}
	if err := l.conn.SetDeadline(deadline); err != nil {
		return err
	}
	if ctx.Err() != nil { // the deadline of its end may just have been overwritten
		return ctx.Err()
	}
	_, err := l.conn.Write(r.Wire)
	if os.IsTimeout(err) {
		return err
	}
	// A service may answer before it has read all, and close: the answer counts.
	if rerr := l.read(ctx, deadline); rerr != nil {
		if err != nil {
			return err
		}
		return rerr
	}
	if err != nil {
		l.p.Close = true
	}
	return nil
}

func (l *rawLink) read(ctx context.Context, deadline time.Time) error {
	if l.buf == nil {
		l.buf = make([]byte, smallBuffer)
	}
	buf := l.buf
	var large *[]byte
	defer func() {
		if large != nil {
			l.e.large.Put(large)
		}
	}()
	for {
		if silence := l.e.limits.Read; silence > 0 {
			next := time.Now().Add(silence)
			if next.After(deadline) {
				next = deadline
			}
			l.conn.SetReadDeadline(next)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		n, err := l.conn.Read(buf)
		if n > 0 {
			used, done, perr := l.p.Feed(buf[:n])
			if perr != nil {
				return perr
			}
			if done {
				if used < n { // more than was asked for
					l.p.Close = true
				}
				return nil
			}
			if l.part.IsZero() {
				l.part = time.Now()
			}
			if n == len(buf) && large == nil {
				large = l.e.large.Get().(*[]byte)
				buf = *large
			}
		}
		if errors.Is(err, io.EOF) {
			return l.p.EOF()
		}
		if err != nil {
			return err
		}
	}
}
