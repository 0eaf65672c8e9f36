package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/frames"
)

// A program is the load that this process plays.
type program struct {
	hello frames.Hello
	host  string
	zero  time.Time // of the run's clock
	open  Opener
	sink  func(*player, *frames.Record) // takes records

	conn    net.Conn
	sending sync.Mutex // of whole frames
	sent    time.Time  // when the last frame was

	shards  []shard
	phase   *phase
	playing sync.Mutex // guards players
	players []*player
	first   atomic.Uint32 // number of the step that a request named first; 0: none has
	last    error         // of a program that runs alone
	names   struct {
		sync.Mutex
		steps, kinds map[string]uint16
	}
}

func (p *program) now() time.Duration { return time.Since(p.zero) }

// talk does what dyno says at a socket, until it closes the load.
func talk(socket string, open Opener) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listen for dyno: %w", err)
	}
	conn, err := l.Accept()
	l.Close()
	if err != nil {
		return fmt.Errorf("listen for dyno: %w", err)
	}
	defer conn.Close()
	p := &program{open: open, conn: conn}
	p.sink = (*player).shelve
	r := bufio.NewReaderSize(conn, 64<<10)
	if err := p.greet(r); err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	go p.tend(over)
	for buf := []byte(nil); ; {
		var k frames.Kind
		if k, buf, err = frames.Read(r, buf); err != nil {
			return fmt.Errorf("the dyno that started this load is gone: %w", err)
		}
		if k == frames.KindClose {
			return p.close()
		}
		if err := p.take(k, buf); err != nil {
			return err
		}
	}
}

// greet sets the clock and answers with what this side is.
func (p *program) greet(r io.Reader) error {
	k, text, err := frames.Read(r, nil)
	if err == nil && k == frames.KindHello {
		err = json.Unmarshal(text, &p.hello)
	}
	if err != nil || k != frames.KindHello {
		return fmt.Errorf("the dyno that started this load does not greet: %v", err)
	}
	h := &p.hello
	now := time.Now()
	p.zero = now.Add(-h.Now - time.Duration(now.UnixNano()-h.Wall))
	if u, err := url.Parse(h.Base); err == nil {
		p.host = u.Host
	}
	p.shards = make([]shard, runtime.GOMAXPROCS(0))
	for i := range p.shards {
		p.shards[i].clear()
	}
	p.send(frames.JSON(frames.KindHello, frames.Hello{Version: frames.Version, Now: p.now(), Procs: runtime.GOMAXPROCS(0)}))
	return nil
}

// send sends a frame. An error shows when reading, too.
func (p *program) send(frame []byte) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.conn.Write(frame)
	p.sent = time.Now()
}

// take does what a frame says, without delay.
func (p *program) take(k frames.Kind, content []byte) error {
	switch k {
	case frames.KindConnect:
		var c frames.Connect
		if err := json.Unmarshal(content, &c); err != nil {
			return err
		}
		p.playing.Lock()
		for i := range c.Clients {
			p.players = append(p.players, p.newPlayer(i))
		}
		p.playing.Unlock()
		go func() { p.send(frames.JSON(frames.KindConnect, frames.Reply{Err: p.connect(c.Open)})) }()
	case frames.KindPhase:
		var of frames.Phase
		if err := json.Unmarshal(content, &of); err != nil {
			return err
		}
		p.phase = p.newPhase(of)
		go p.phase.play()
	case frames.KindDue:
		times := make([]time.Duration, len(content)/8)
		for i := range times {
			times[i] = time.Duration(binary.LittleEndian.Uint64(content[8*i:]))
		}
		p.phase.due.add(times)
	case frames.KindGate:
		p.phase.gate.set(len(content) > 0 && content[0] == 1)
	case frames.KindStop:
		p.phase.stop(len(content) > 0 && content[0] == 1)
	default:
		return fmt.Errorf("the dyno that started this load says something unknown (%d)", k)
	}
	return nil
}

// connect opens the first n clients. It returns what went wrong.
func (p *program) connect(n int) string {
	ctx, cancel := context.WithTimeoutCause(context.Background(), p.hello.Timeout, errors.New("it did not end within the time limit of a request"))
	defer cancel()
	errs := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer p.recover("the function that opens a client")
			if err := p.players[i].connect(ctx); err != nil {
				if errs[i] = err.Error(); ctx.Err() != nil {
					errs[i] = context.Cause(ctx).Error()
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(p.hello.Timeout + grace):
		return "the function that opens a client does not return, though its context has ended"
	}
	for i, text := range errs {
		if text != "" {
			return fmt.Sprintf("client %d: %s", p.players[i].number, text)
		}
	}
	return ""
}

// close ends the clients.
func (p *program) close() error {
	var all sync.WaitGroup
	errs := make([]error, len(p.players))
	for i, c := range p.players {
		if c.client != nil {
			all.Go(func() {
				defer p.recover("Close")
				if err := c.client.Close(); err != nil {
					errs[i] = fmt.Errorf("close client %d: %w", c.number, err)
				}
			})
		}
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(p.hello.Timeout + grace):
		p.fault("Close of a client does not return within %v", p.hello.Timeout+grace)
	}
	reply := frames.Reply{}
	if err := cmp.Or(errs...); err != nil {
		reply.Err = err.Error()
	}
	p.send(frames.JSON(frames.KindClose, reply))
	return nil
}

// fault says why the program cannot go on, and ends it.
func (p *program) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.conn != nil {
		p.send(frames.Bytes(frames.KindFault, []byte(text[:min(len(text), mostFault)])...))
	}
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

// recover makes a fault of a panic in a function of the user.
func (p *program) recover(where string) {
	if v := recover(); v != nil {
		p.fault("%s panics: %v%s\n%s", where, v, place(), debug.Stack())
	}
}

// place is where a panic came from: the first frame below the runtime's.
func place() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

const (
	mostFault  = 16 << 10 // bytes
	flushEvery = 20 * time.Millisecond
	// grace is how long Do may take to return when its context has ended.
	grace = 5 * time.Second
)

// tend does what time demands: records are sent, requests that are not done in time fail, and calls that
// never return are a fault.
func (p *program) tend(over chan struct{}) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		p.playing.Lock()
		p.watch()
		p.playing.Unlock()
		p.flush()
		p.sending.Lock()
		quiet := time.Since(p.sent) >= frames.Beat
		p.sending.Unlock()
		if quiet {
			p.send(frames.Bytes(frames.KindBeat))
		}
	}
}

// watch ends tokens whose time is over, and the program if a call does not return.
func (p *program) watch() {
	now := p.now()
	for _, c := range p.players {
		if c.tokens.Load() > 0 {
			c.expire(now)
		}
		if began := time.Duration(c.began.Load()); began > 0 && now-began > p.hello.Timeout+grace {
			p.fault("client %d: its call has not returned %v after the time limit of %v (consider: let Do return when its context ends)",
				c.number, grace, p.hello.Timeout)
		}
	}
}
