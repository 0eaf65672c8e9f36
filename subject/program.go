package subject

import (
	"io"
	"os"
	"time"
)

// A Program is launched as it is: it is no service, and is never ready.
type Program struct {
	Path   string            // of the executable
	Args   []string          // the first is the program's name
	Dir    string            // absolute
	Env    map[string]string // added to dyno's own environment
	CPUs   []int             // it is pinned to these, on Linux; none means that it is not
	Output *os.File          // its standard output itself, instead of Stdout; the caller closes it

	Stdout, Stderr io.Writer // called by one goroutine, once for each of its writes; nil discards
}

// A Group is a program and all that it started, none of which outlives dyno.
type Group struct{ group *group }

// Launch starts a program under a supervisor.
func Launch(p Program) (*Group, error) {
	g, err := launch(job{
		Path: p.Path, Args: p.Args, Dir: p.Dir, Env: environ(p.Env, p.Dir, "", ""), CPUs: p.CPUs,
		direct: p.Output, stdout: p.Stdout, stderr: p.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return &Group{g}, nil
}

// PID is that of the program, which leads a process group.
func (g *Group) PID() int { return g.group.pid }

// Done is closed when no process is left and all output is written.
func (g *Group) Done() <-chan struct{} { return g.group.done }

// Status is how the program ended, as os/exec says it: "exit status 0" is well. It is
// valid when Done is closed.
func (g *Group) Status() string { return g.group.status }

// Kill ends the group and does not wait for it.
func (g *Group) Kill() { g.group.once.Do(g.group.impl.kill) }

// Stop ends the group, after the grace time if it does not follow SIGTERM, and returns
// when nothing is left of it.
func (g *Group) Stop(grace time.Duration) { g.group.stop(grace) }

// A Tail keeps the last lines of an output. Its String has them indented.
type Tail = tail

// NewTail returns a Tail that passes what is written to it on to next, which may be nil.
func NewTail(next io.Writer) *Tail { return newTail(next) }
