// Package agent serves a coordinator on another machine: it sends a part of a load, or watches a process
// there. It owns the agent's side of a session and nothing that outlives it.
package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/load"
)

// KeyLine begins the line of an agent's log that has its public key.
const KeyLine = "public key: "

// An Agent serves sessions until its context ends.
type Agent struct {
	Version string
	Name    string        // of its machine; "" means the host's
	Watches bool          // it may look at processes
	Idle    time.Duration // after what time without a session it ends, once there was one; 0 means never
	Log     *slog.Logger

	Send func(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) // sends a load; nil means load.Run
}

// Serve serves sessions of l, which it closes when ctx ends. No session and no file is left when it returns.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	m := machine(a.Name)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	idle := newIdle(a.Idle, func() { cancel(errIdle) })
	defer idle.stop()
	for {
		c, err := l.Accept()
		if errors.Is(context.Cause(ctx), errIdle) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		sessions.Go(func() {
			defer c.Close()
			err := a.session(ctx, c, m, idle)
			if err != nil && !errors.Is(err, net.ErrClosed) {
				a.Log.Warn("session ended", "peer", c.RemoteAddr().String(), "error", err)
			}
		})
	}
}

var errIdle = errors.New("no coordinator")

// firstIdle is how long an agent waits for its first session. The coordinator may still wait for the images
// of other agents.
const firstIdle = 10 * time.Minute

// An idle calls over when there was no session for some time.
type idle struct {
	after time.Duration
	timer *time.Timer // nil if that is not asked for
	mu    sync.Mutex
	there int
}

func newIdle(after time.Duration, over func()) *idle {
	i := &idle{after: after}
	if after > 0 {
		i.timer = time.AfterFunc(max(after, firstIdle), over)
	}
	return i
}

func (i *idle) enter() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.there++; i.timer != nil {
		i.timer.Stop()
	}
}

func (i *idle) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.there--; i.timer != nil && i.there == 0 {
		i.timer.Reset(i.after)
	}
}

func (i *idle) stop() {
	if i.timer != nil {
		i.timer.Stop()
	}
}

func machine(name string) dyno.Machine {
	m := dyno.Machine{Name: name, CPUs: runtime.NumCPU()}
	if m.Name == "" {
		m.Name, _ = os.Hostname()
	}
	m.Kernel, m.CPU, _ = lab.Describe()
	return m
}

// A session is one under way. Its context ends with the connection.
type session struct {
	*wire.Conn
	agent  *Agent
	inbox  chan *wire.Message // of what is no ping
	cancel context.CancelCauseFunc
}

func (a *Agent) session(ctx context.Context, c net.Conn, m dyno.Machine, idle *idle) error {
	conn, err := wire.Accept(c, a.Version, m)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) { // somebody looks whether the port is open
		return nil
	}
	if err != nil {
		return err
	}
	idle.enter() // only now: a stranger must not keep an agent alive
	defer idle.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{Conn: conn, agent: a, inbox: make(chan *wire.Message, 16), cancel: cancel}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer c.Close() // which ends the reading
	reading.Go(func() { s.read(ctx) })
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	for {
		m, err := s.next(ctx)
		switch {
		case err != nil:
			return ended(err)
		case m.Load != nil:
			err = s.load(ctx, m.Load)
		case m.Watch != nil && a.Watches:
			err = s.watch(ctx, m.Watch)
		case m.Look != nil && a.Watches:
			stop := s.beat(wire.Beat, alive)
			answer := look(m.Look)
			stop()
			err = s.Send(&wire.Message{Looked: answer})
		case m.Watch != nil, m.Look != nil:
			return s.Send(&wire.Message{Refused: "the agent only sends load (consider: dyno agent --watch)"})
		}
		if err != nil {
			return ended(err)
		}
	}
}

// errGone is the end of a session by its coordinator.
var errGone = errors.New("the coordinator is gone")

func ended(err error) error {
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// read reads messages, and answers pings at once.
func (s *session) read(ctx context.Context) {
	for {
		m, err := s.Receive()
		if errors.Is(err, wire.ErrSilent) {
			s.cancel(err)
			return
		}
		if err != nil {
			s.cancel(errGone)
			return
		}
		if m.Ping != nil {
			if err := s.Send(&wire.Message{Pong: &wire.Tick{N: m.Ping.N, Now: time.Now()}}); err != nil {
				s.cancel(err)
				return
			}
			continue
		}
		if m.Load == nil && m.Begin == nil && !m.Finish && m.Watch == nil && m.Look == nil && !m.Stop {
			continue // a sign of life
		}
		select {
		case s.inbox <- m:
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) next(ctx context.Context) (*wire.Message, error) {
	select {
	case m := <-s.inbox:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// alive is a sign of life.
func alive() *wire.Message { return new(wire.Message) }

// beat says something every so often until stop is called.
func (s *session) beat(every time.Duration, say func() *wire.Message) (stop func()) {
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if err := s.Send(say()); err != nil {
					s.cancel(err)
					return
				}
			}
		}
	})
	return func() { close(done); beating.Wait() }
}
