package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/subject/lastlines"
)

// Options say how a test binary is run. The zero value runs it in dyno's own directory.
type Options struct {
	Dir  string            // "" means dyno's own
	Env  map[string]string // added to dyno's own environment
	Args []string          // -test.bench and so on
	CPUs []int             // it is pinned to these, on Linux; none means that it is not
}

// job is the launch of a test binary, whose name on the stack is the same for all.
func (o *Options) job(path string) (guard.Job, error) {
	dir, err := filepath.Abs(o.Dir)
	return guard.Job{Path: path, Args: append([]string{"bench.test"}, o.Args...), Dir: dir, Env: subject.Environ(o.Env, dir), CPUs: o.CPUs}, err
}

// RunOnce runs a test binary to its end and returns how it ended, as guard.Run does; "" means that it
// did not start. If it ended badly, the error has the last lines of its stderr or else of its output.
func RunOnce(ctx context.Context, path string, o Options, stdout io.Writer) (status string, err error) {
	j, err := o.job(path)
	if err != nil {
		return "", err
	}
	out, errs := lastlines.New(stdout), lastlines.New(nil)
	status, err = guard.Run(ctx, j, guard.IO{Stdout: out, Stderr: errs})
	switch {
	case err != nil && ctx.Err() == nil:
		return "", fmt.Errorf("start tests: %w", err)
	case err == nil && status != guard.StatusOK:
		return status, badEnd(status, errs, out)
	}
	return status, err
}

func badEnd(status string, stderr, stdout *lastlines.Lines) error {
	lines := stderr.String()
	if lines == "" {
		lines = stdout.String()
	}
	if lines == "" {
		return fmt.Errorf("benchmark ended: %s (it wrote nothing)", status)
	}
	return fmt.Errorf("benchmark ended: %s; its last lines:\n%s", status, lines)
}

// A Process is a test binary that runs only in its turns: otherwise SIGSTOP holds its process
// group. It must be closed, and used by one goroutine at a time.
type Process struct {
	tree    *guard.Tree
	in      *os.File    // of the pipe that is the program's standard output
	out     *os.File    // of it; read by follow
	mark    sync.Mutex  // held while a mark is written: endMark is the last
	exited  atomic.Bool // the program has ended
	over    chan struct{}
	err     error       // why there are no more results; valid when over is closed
	results chan Result // the last of each turn

	next atomic.Int64 // results of the turn that the next turnMark begins
}

// Marks are put into the output, after all that was written before.
const (
	turnMark = 1 // a turn begins
	endMark  = 0 // the program has ended
)

// Start launches a test binary and returns when it has printed its first result and is stopped; a
// child that left its process group is not stopped. The context bounds the start only. The error has
// what a binary said that ended or failed.
func Start(ctx context.Context, path string, o Options) (*Process, error) {
	if !guard.CanPause {
		return nil, errors.New("start benchmark: taking turns needs a Unix system (consider: Linux)")
	}
	j, err := o.job(path)
	if err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start benchmark: %w", err)
	}
	// From here on a read blocks its thread: the kernel wakes it without the scheduler's poller.
	out.Fd()
	errs := lastlines.New(nil)
	p := &Process{in: w, out: out, over: make(chan struct{}), results: make(chan Result, 1)}
	if p.tree, err = guard.Start(j, guard.IO{File: w, Stderr: errs}); err != nil {
		out.Close()
		w.Close()
		return nil, fmt.Errorf("start benchmark: %w", err)
	}
	go func() {
		<-p.tree.Done
		// Wakes follow even if a process that is none of ours holds the pipe.
		p.mark.Lock()
		defer p.mark.Unlock()
		p.exited.Store(true)
		w.Write([]byte{endMark})
		w.Close()
	}()
	go p.follow(errs)
	if _, err := p.await(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Turn lets the process print n more results, stops it, and returns the last. If it has ended, the
// error wraps [io.EOF] or says why. When ctx ends it is killed, and the error is the context's cause.
func (p *Process) Turn(ctx context.Context, n int) (Result, error) {
	// A result printed before the process stopped, and read only now, does not count.
	p.next.Store(int64(max(n, 1)))
	p.mark.Lock()
	if !p.exited.Load() {
		p.in.Write([]byte{turnMark})
	}
	p.mark.Unlock()
	p.tree.Continue()
	return p.await(ctx)
}

func (p *Process) await(ctx context.Context) (Result, error) {
	select {
	case r := <-p.results:
		return r, nil
	case <-p.over:
	case <-ctx.Done():
		p.Close()
		return Result{}, context.Cause(ctx)
	}
	select {
	case r := <-p.results: // just before the end
		return r, nil
	default:
		return Result{}, p.err
	}
}

// Close ends the process and all that it started.
func (p *Process) Close() {
	p.tree.Stop(0)
	<-p.over
}

// follow reads the output, and stops the process at the end of its turn before anything else.
func (p *Process) follow(stderr *lastlines.Lines) {
	defer close(p.over)
	defer p.out.Close()
	want, some := int64(1), false // results that are still to come in this turn
	said := said{tail: lastlines.New(nil)}
	s := lineScanner{other: said.add, result: func(l resultLine) {
		some = true
		if want--; want == 0 {
			p.tree.Pause()
			p.results <- l.parse()
		}
	}}
	buf := make([]byte, 32<<10)
	for end := false; !end; {
		n, err := p.out.Read(buf)
		b := buf[:n]
		if end = err != nil || p.exited.Load() && b[n-1] == endMark; end && n > 0 {
			b = b[:n-1]
		}
		if next := p.next.Load(); next > 0 {
			if before, after, ok := bytes.Cut(b, []byte{turnMark}); ok {
				p.next.Store(0)
				s.write(before)
				want, b = next, after
			}
		}
		s.write(b)
		if said.failed {
			p.tree.Kill() // it would fail again -test.count times
		}
	}
	<-p.tree.Done
	switch status := p.tree.Status; {
	case said.failed:
		p.err = fmt.Errorf("benchmark failed:\n%s", said.tail)
	case status != guard.StatusOK:
		p.err = badEnd(status, stderr, said.tail)
	case !some:
		p.err = errors.New("the benchmark was skipped, or none matches") // which, package testing does not say
	default:
		p.err = io.EOF
	}
}

// saidMost is the number of lines that are kept of a failed benchmark's output.
const saidMost = 20

// said keeps the last lines beside results or, after a failure, its heading and its indented lines.
type said struct {
	tail   *lastlines.Lines
	failed bool
	ended  bool // there are no more lines of the failure
	lines  int  // of it
}

func (s *said) add(line []byte) {
	if s.failed {
		s.lines++
		s.ended = s.ended || !bytes.HasPrefix(line, []byte("    ")) || s.lines == saidMost
	} else if fail := bytes.Index(line, []byte("--- FAIL: Benchmark")); fail >= 0 && line[0] != ' ' { // that is a log line
		s.failed, s.tail = true, lastlines.New(nil)
		line = line[fail:]
	}
	if !s.ended && !header.Match(line) {
		s.tail.Write(line)
		s.tail.Write([]byte{'\n'})
	}
}

var header = regexp.MustCompile(`^(goos|goarch|pkg|cpu): `)
