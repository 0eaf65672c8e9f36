// Package program starts a load's program, which imports load/client, and tells it what to do. It owns the
// process, the socket, and what went wrong with them; package load decides when requests are due, and
// counts what became of them.
package program

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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// Options say what to start. Hello is without the clock and the version.
type Options struct {
	Path   string // of the executable
	Args   []string
	Name   string // for errors, as the user has it
	Config []byte // of the program, in a file that frames.Config names; nil: it has none
	Dir    string // working directory; "" means dyno's
	Log    io.Writer
	Hello  frames.Hello
	Now    func() time.Duration // the run's clock
	Record func(*frames.Record) // takes each record, from one goroutine
	Named  func(*frames.Name)   // takes each name before a record has its number, from the same
}

var ( // a test has no time
	patience = 10 * time.Second // with a program that starts, or says nothing
	parting  = 5 * time.Second  // that it may take to end by itself
)

const (
	redial = 2 * time.Millisecond   // between looks for the program's socket
	skew   = 200 * time.Microsecond // between its clock and dyno's
)

// A Program is a load's program that runs. It must be closed.
type Program struct {
	Options
	Procs int // its GOMAXPROCS

	tree   *guard.Tree
	tail   *lastlines.Lines
	conn   net.Conn
	sendMu sync.Mutex
	reads  bool // until failed is closed

	answers map[frames.Kind]chan []byte // to what was asked
	failed  chan struct{}               // closed when it cannot go on
	err     error                       // why
}

// Start starts the program and greets it. The error names it, and has the last lines that it wrote.
func Start(ctx context.Context, o Options) (*Program, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	own := guard.TempName(os.TempDir())
	if len(own) > 90 { // a socket's path is limited to 104 or 108 bytes
		own = guard.TempName("/tmp")
	}
	socket := filepath.Join(own, "load")
	env, files := append(os.Environ(), frames.Socket+"="+socket), map[string]string{}
	if o.Config != nil {
		file := filepath.Join(own, "config")
		env, files[file] = append(env, frames.Config+"="+file), string(o.Config)
	}
	p := &Program{Options: o, failed: make(chan struct{}), answers: map[frames.Kind]chan []byte{}}
	for _, k := range []frames.Kind{frames.KindConnect, frames.KindPhase, frames.KindGate, frames.KindClose} {
		p.answers[k] = make(chan []byte, 1)
	}
	log := &lockedWriter{next: cmp.Or[io.Writer](o.Log, io.Discard)}
	p.tail = lastlines.New(log)
	p.tree, err = guard.Start(guard.Job{
		Path: path, Args: append([]string{path}, o.Args...), Dir: dir,
		Env: env, Scratch: []string{own}, Files: files,
	}, guard.IO{Stdout: log, Stderr: p.tail})
	if err != nil {
		return nil, fmt.Errorf("load program %s: %w", o.Name, err)
	}
	if err := p.dial(ctx, socket); err != nil {
		p.Kill()
		return nil, err
	}
	r := bufio.NewReaderSize(p.conn, 256<<10)
	if err := p.greet(ctx, r); err != nil {
		p.Kill()
		return nil, err
	}
	p.reads = true
	go p.read(r)
	return p, nil
}

// lockedWriter lets two outputs share a log.
type lockedWriter struct {
	mu   sync.Mutex
	next io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next.Write(p)
}

// dial waits for the program to listen.
func (p *Program) dial(ctx context.Context, socket string) (err error) {
	until := time.Now().Add(patience)
	for {
		if p.conn, err = net.Dial("unix", socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.tree.Done:
			return p.ended()
		case <-time.After(redial):
		}
		if time.Now().After(until) {
			return p.errorf("it has not called client.Main within %v (consider: do what takes long in the function that opens a client)", patience)
		}
	}
}

func (p *Program) greet(ctx context.Context, r io.Reader) error {
	p.conn.SetDeadline(time.Now().Add(patience))
	defer p.conn.SetDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { p.conn.SetDeadline(time.Unix(1, 0)) })()
	h := p.Hello
	h.Version = frames.Version
	wall := time.Now()
	h.Now, h.Wall = p.Now(), wall.UnixNano()
	p.conn.Write(frames.JSON(frames.KindHello, h))
	k, text, err := frames.Read(r, nil)
	after := p.Now()
	var its frames.Hello
	if err == nil && k == frames.KindHello {
		err = json.Unmarshal(text, &its)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && errors.Is(err, os.ErrDeadlineExceeded):
		return p.errorf("it does not answer dyno's greeting within %v", patience)
	case err != nil || k != frames.KindHello:
		if ended := p.ended(); ended != nil {
			return ended
		}
		return p.errorf("it does not greet as a load does: %w", cmp.Or(err, frames.ErrFrame))
	case its.Version != frames.Version:
		return p.errorf("it speaks version %d of dyno's protocol, and this dyno version %d (consider: go get github.com/dynolab/dyno at the version of dyno, and a new build)", its.Version, frames.Version)
	case its.Now < h.Now-skew || its.Now > after+skew:
		return p.errorf("its clock differs from dyno's by %v (was the clock of the machine set?)", its.Now-after)
	}
	p.Procs = its.Procs
	return nil
}

// errorf names the program.
func (p *Program) errorf(format string, args ...any) error {
	return fmt.Errorf("load program %s: %w", p.Name, fmt.Errorf(format, args...))
}

// ended says how the program ended by itself, if it does so soon; else nil.
func (p *Program) ended() error {
	select {
	case <-p.tree.Done:
	case <-time.After(time.Second):
		return nil
	}
	lines := p.tail.String()
	if lines == "" {
		return p.errorf("it ended (%s) and wrote nothing to standard error", p.tree.Status)
	}
	return p.errorf("it ended (%s); its last lines:\n%s", p.tree.Status, lines)
}

// read takes what the program says, until it says no more.
func (p *Program) read(r io.Reader) {
	var buf []byte
	for {
		var k frames.Kind
		var err error
		p.conn.SetReadDeadline(time.Now().Add(patience))
		k, buf, err = frames.Read(r, buf)
		switch {
		case err == nil:
			if p.err = p.take(k, buf); p.err == nil {
				continue
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.err = p.errorf("it has said nothing for %v, though it should every %v: it hangs", patience, frames.Beat)
		case errors.Is(err, frames.ErrFrame):
			p.err = p.errorf("%w", err)
		default: // one that ends with frames unread resets the connection
			if p.err = p.ended(); p.err == nil {
				p.err = p.errorf("it has closed its connection with dyno")
			}
		}
		p.conn.Close() // who sends does not wait for it
		close(p.failed)
		return
	}
}

// take does what a frame says.
func (p *Program) take(k frames.Kind, content []byte) error {
	switch k {
	case frames.KindRecords:
		if len(content)%frames.Size != 0 {
			return p.errorf("%w: records of %d bytes", frames.ErrFrame, len(content))
		}
		var m frames.Record
		for ; len(content) > 0; content = content[frames.Size:] {
			m.Read(content)
			p.Record(&m)
		}
	case frames.KindName:
		var n frames.Name
		if err := json.Unmarshal(content, &n); err != nil {
			return p.errorf("%w: %v", frames.ErrFrame, err)
		}
		p.Named(&n)
	case frames.KindBeat:
	case frames.KindFault:
		text, _, _ := strings.Cut(string(content), "\n")
		return p.errorf("%s", text)
	default:
		answers, ok := p.answers[k]
		if !ok {
			return p.errorf("%w: kind %d", frames.ErrFrame, k)
		}
		select {
		case answers <- append([]byte(nil), content...):
		default:
			if k == frames.KindGate { // nobody waited for the one before
				return nil
			}
			return p.errorf("%w: answers to nothing", frames.ErrFrame)
		}
	}
	return nil
}

// send sends a frame. An error shows when reading. A program that was stopped takes nothing.
func (p *Program) send(frame []byte) {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	p.conn.Write(frame)
}

// answer waits for what answers a frame, and reads it into v.
func (p *Program) answer(ctx context.Context, k frames.Kind, v any) error {
	var text []byte
	select {
	case text = <-p.answers[k]:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.failed:
		select { // it may have answered before
		case text = <-p.answers[k]:
		default:
			return p.err
		}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return p.errorf("%w: %v", frames.ErrFrame, err)
	}
	return nil
}

// Connect makes a number of clients, and opens some of them at once.
func (p *Program) Connect(ctx context.Context, clients, open int) error {
	p.send(frames.JSON(frames.KindConnect, frames.Connect{Clients: clients, Open: open}))
	var reply frames.Reply
	if err := p.answer(ctx, frames.KindConnect, &reply); err != nil {
		return err
	}
	if reply.Err != "" {
		return p.errorf("open %s", reply.Err)
	}
	return nil
}

// Begin begins a phase. Until its end Due, Gate and Stop may be called.
func (p *Program) Begin(ph frames.Phase) { p.send(frames.JSON(frames.KindPhase, ph)) }

// Due tells due times; none: there are no more.
func (p *Program) Due(times []time.Duration) {
	const most = frames.Most / 8
	for first := true; first || len(times) > 0; first = false {
		n := min(len(times), most)
		frame := frames.Begin(make([]byte, 0, frames.Head+8*n), frames.KindDue)
		for _, at := range times[:n] {
			frame = binary.LittleEndian.AppendUint64(frame, uint64(at))
		}
		p.send(frames.End(frame))
		times = times[n:]
	}
}

// Gate lets requests of a closed load begin, or not.
func (p *Program) Gate(open bool) {
	if open {
		p.send(frames.Bytes(frames.KindGate, 1))
		return
	}
	select {
	case <-p.answers[frames.KindGate]: // to one that nobody waited for
	default:
	}
	p.send(frames.Bytes(frames.KindGate, 0))
}

// Drained waits after Gate(false) until no request is under way, and all records have been taken.
func (p *Program) Drained(ctx context.Context) {
	select {
	case <-p.answers[frames.KindGate]:
	case <-p.failed:
	case <-ctx.Done():
	}
}

// Stop lets nothing begin any more in the phase under way, and may cancel what is under way.
func (p *Program) Stop(cancel bool) {
	if cancel {
		p.send(frames.Bytes(frames.KindStop, 1))
		return
	}
	p.send(frames.Bytes(frames.KindStop, 0))
}

// Over waits for the end of a phase, when all of its records have been taken.
func (p *Program) Over(ctx context.Context) (over frames.Over, err error) {
	err = p.answer(ctx, frames.KindPhase, &over)
	return over, err
}

// Close closes the clients and lets the program end by itself. open is the error of a client that did not close.
func (p *Program) Close(ctx context.Context) (open string, err error) {
	p.send(frames.JSON(frames.KindClose, struct{}{}))
	var reply frames.Reply
	err = p.answer(ctx, frames.KindClose, &reply)
	select {
	case <-p.tree.Done:
		if p.tree.Status != guard.StatusOK {
			err = cmp.Or(err, p.ended())
		}
	case <-time.After(parting):
		err = cmp.Or(err, p.errorf("it has not ended %v after its clients (consider: what main does after client.Main)", parting))
	case <-ctx.Done():
	}
	return reply.Err, err
}

// Kill ends the program and all that it started, if it has not ended. No record is taken any more.
func (p *Program) Kill() {
	if p.conn != nil {
		p.conn.Close()
	}
	p.tree.Stop(0)
	if p.reads {
		<-p.failed
	}
}
