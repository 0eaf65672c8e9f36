package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/pattern"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/driver"
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

// A Process is a test binary that runs its benchmarks one at a time, as it is told, and only in its turns: otherwise SIGSTOP
// holds its process group. It must be closed, and used by one goroutine at a time.
type Process struct {
	tree     *guard.Tree
	commands *os.File    // of the FIFO that driver.Variable names
	in       *os.File    // of the pipe that is the program's standard output
	out      *os.File    // of it; read by follow
	mark     sync.Mutex  // held while a mark is written: endMark is the last
	exited   atomic.Bool // the program has ended
	over     chan struct{}
	err      error      // why there is no more; valid when over is closed
	told     chan Batch // at most one of each turn

	next    atomic.Int64           // results of the turn that the next turnMark begins
	printed atomic.Pointer[string] // the benchmark that it was told to run
	begins  atomic.Bool            // the next turn is the first of it
	base    totals
}

// A Batch is what a process printed in a turn.
type Batch struct {
	Results []timedResult // all of the turn
	Ended   bool          // there are no more: it waits for the next benchmark
	Totals  totals        // of the process, with Ended
	Said    string        // the last lines of other output, with Ended
}

// Marks are put into the output, after all that was written before.
const (
	turnMark = 1 // a turn begins
	endMark  = 0 // the program has ended
)

// Start launches a test binary of subject.Builder.Link and returns when it waits for its first benchmark and is stopped; a child
// that left its process group is not stopped. The context bounds the start only. The error has what a binary said that ended.
func Start(ctx context.Context, path string, o Options) (*Process, error) {
	if !guard.CanPause {
		return nil, errors.New("start benchmark: taking turns needs a Unix system (consider: Linux)")
	}
	p := &Process{over: make(chan struct{}), told: make(chan Batch, 1)}
	p.next.Store(endless)
	if err := p.launch(path, o); err != nil {
		return nil, fmt.Errorf("start benchmark: %w", err)
	}
	b, err := p.await(ctx)
	if err != nil {
		p.Close()
		return nil, err
	}
	p.base = b.Totals
	return p, nil
}

// Base are the totals of the process before its first benchmark.
func (p *Process) Base() totals { return p.base }

// endless is more results than a turn can have: it ends with its benchmark.
const endless = 1 << 62

func (p *Process) launch(path string, o Options) (err error) {
	// Beside the binary, in the folder that the builder removes however dyno ends.
	fifo := fmt.Sprintf("%s.%06d", path, fifos.Add(1)) // names are equally long: they lie on the stack of the process
	if p.commands, err = makeFIFO(fifo); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.commands.Close()
			os.Remove(fifo)
		}
	}()
	o.Env = maps.Clone(o.Env)
	if o.Env == nil {
		o.Env = map[string]string{}
	}
	o.Env[driver.Variable] = fifo
	j, err := o.job(path)
	if err != nil {
		return err
	}
	if p.out, p.in, err = os.Pipe(); err != nil {
		return err
	}
	// From here on a read blocks its thread: the kernel wakes it without the scheduler's poller.
	p.out.Fd()
	errs := lastlines.New(nil)
	if p.tree, err = guard.Start(j, guard.IO{File: p.in, Stderr: errs}); err != nil {
		p.out.Close()
		p.in.Close()
		return err
	}
	go func() {
		<-p.tree.Done
		os.Remove(fifo)
		// Wakes follow even if a process that is none of ours holds the pipe.
		p.mark.Lock()
		defer p.mark.Unlock()
		p.exited.Store(true)
		p.in.Write([]byte{endMark})
		p.in.Close()
	}()
	go p.follow(errs)
	return nil
}

var fifos atomic.Int64

// Begin runs a benchmark, by its printed name, as go test does with -benchtime and -count, and returns after so many results, or at its end.
// With parts it runs those within it whose next element is one of them. The process must wait for it.
func (p *Process) Begin(ctx context.Context, printed string, parts []string, benchtime string, count, results int) (Batch, error) {
	only := pattern.Of(printed)
	if parts != nil {
		only = pattern.Within(printed, parts)
		printed += "/"
	}
	p.printed.Store(&printed)
	p.begins.Store(true)
	return p.turn(ctx, int64(results), fmt.Sprintf("%s %d %s\n", benchtime, count, only))
}

// Turn lets the benchmark print n more results, stops it, and returns what it printed: fewer at its end. If the process has ended, the
// error wraps [io.EOF] or says why. When ctx ends it is killed, and the error is the context's cause.
func (p *Process) Turn(ctx context.Context, n int) (Batch, error) {
	return p.turn(ctx, int64(max(n, 1)), "")
}

// Next ends the benchmark that runs, and returns after one more result, which may still be of it.
func (p *Process) Next(ctx context.Context) (Batch, error) { return p.turn(ctx, 1, "next\n") }

// End ends the benchmark that runs. The process then waits for another.
func (p *Process) End(ctx context.Context) (totals, error) {
	b, err := p.turn(ctx, endless, "end\n")
	return b.Totals, err
}

// turn lets the process go on, and only then tells it something: one that waits already may not be stopped, and would answer before its turn.
func (p *Process) turn(ctx context.Context, n int64, command string) (Batch, error) {
	// A result printed before the process stopped, and read only now, does not count.
	p.next.Store(n)
	p.mark.Lock()
	if !p.exited.Load() {
		p.in.Write([]byte{turnMark})
	}
	p.mark.Unlock()
	p.tree.Continue()
	io.WriteString(p.commands, command)
	return p.await(ctx)
}

func (p *Process) await(ctx context.Context) (Batch, error) {
	select {
	case b := <-p.told:
		return b, nil
	case <-p.over:
	case <-ctx.Done():
		p.Close()
		return Batch{}, context.Cause(ctx)
	}
	select {
	case b := <-p.told: // just before the end
		return b, nil
	default:
		return Batch{}, p.err
	}
}

// Close ends the process and all that it started.
func (p *Process) Close() {
	p.tree.Stop(0)
	<-p.over
	p.commands.Close()
}

// follow reads the output, and stops the process at the end of its turn before anything else.
func (p *Process) follow(stderr *lastlines.Lines) {
	defer close(p.over)
	defer p.out.Close()
	want, some := p.next.Swap(0), false // results that are still to come in this turn
	var batch Batch
	ended := false // after the last turn, before the process stopped
	said := said{tail: lastlines.New(nil), of: &p.printed}
	tell := func() {
		p.tree.Pause()
		p.told <- batch
		want, batch = 0, Batch{}
	}
	s := lineScanner{
		result: func(l resultLine) {
			some = true
			if want == 0 {
				return // it went on until it stopped
			}
			batch.Results = append(batch.Results, timedResult{l.parse(), time.Now()})
			if want--; want == 0 {
				tell()
			}
		},
		other: func(line []byte) {
			t, end := parseTotals(line)
			switch {
			case !end:
				said.add(line)
			case said.failed: // it is killed
			default:
				batch.Ended, batch.Totals, batch.Said = true, t, said.tail.String()
				said.tail = lastlines.New(nil)
				if ended = want == 0; !ended {
					tell()
				}
			}
		},
	}
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
				switch want, b = next, after; {
				case p.begins.Swap(false) || !ended:
					ended, batch = false, Batch{}
				default:
					ended = false
					tell()
				}
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
		p.err = errors.New("the test binary ran no benchmark (consider: a TestMain that calls m.Run)")
	default:
		p.err = io.EOF
	}
}

// saidMost is the number of lines that are kept of a failed benchmark's output.
const saidMost = 20

// said keeps the last lines beside results or, after a failure, its heading and its indented lines.
type said struct {
	tail   *lastlines.Lines
	of     *atomic.Pointer[string] // the benchmark whose failures count; nil: any
	last   string                  // that failed
	times  int                     // one after the other
	failed bool
	ended  bool // there are no more lines of the failure
	lines  int  // of it
}

func (s *said) add(line []byte) {
	if s.failed {
		s.lines++
		s.ended = s.ended || !bytes.HasPrefix(line, []byte("    ")) || s.lines == saidMost
	} else if fail := bytes.Index(line, []byte("--- FAIL: Benchmark")); fail >= 0 && line[0] != ' ' && s.counts(line[fail:]) { // that is a log line
		s.failed, s.tail = true, lastlines.New(nil)
		line = line[fail:]
	}
	if !s.ended && !header.Match(line) {
		s.tail.Write(line)
		s.tail.Write([]byte{'\n'})
	}
}

// counts reports whether a failure is of the benchmark that runs. One around it may miss what others, which do not run, would have done. Of
// those that run one after the other, one that fails again and again counts: it has no end.
func (s *said) counts(fail []byte) bool {
	if s.of == nil || s.of.Load() == nil {
		return true
	}
	name, runs := strings.TrimSpace(string(bytes.TrimPrefix(fail, []byte("--- FAIL: Benchmark")))), *s.of.Load()
	if !strings.HasSuffix(runs, "/") {
		rest, ok := strings.CutPrefix(name, runs)
		return ok && onlyProcs.MatchString(rest)
	}
	if s.last != name {
		s.last, s.times = name, 0
	}
	s.times++
	return s.times > failsMost && strings.HasPrefix(name, runs)
}

// failsMost is how often a benchmark that others follow may fail before it counts: once alone, and once after it ran alone.
const failsMost = 2

// onlyProcs is what follows a name: GOMAXPROCS, if it is not 1.
var onlyProcs = regexp.MustCompile(`^(-\d+)?$`)

var header = regexp.MustCompile(`^(goos|goarch|pkg|cpu): `)
