package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/probe"
	"github.com/dynolab/dyno/subject"
)

// stopGrace is how long a subject has from SIGTERM to SIGKILL.
const stopGrace = 5 * time.Second

// Open returns a lab with the hands of this machine. Dir, Skip and Watch are
// the caller's to set. What release returns is the error of cleaning up; after
// it no build, worktree or process of the lab is left.
func Open() (l *Lab, release func() error, err error) {
	builder, err := subject.NewBuilder("")
	if err != nil {
		return nil, nil, err
	}
	l = &Lab{
		Prepare: func(ctx context.Context, s dyno.Subject) error {
			if !s.Launched() {
				return nil
			}
			if err := builder.Check(ctx, s); err != nil {
				return err
			}
			_, err := builder.Build(ctx, s)
			return err
		},
		Start: func(ctx context.Context, t *dyno.Trial, dir string) (*Running, error) {
			return start(ctx, builder, t, dir)
		},
		Limit:  subject.CheckLimits,
		Memory: memory(),
		Load:   putLoad,
		Tool:   subject.RunTool,
		Probe:  probe.Named,
		RSS:    probe.RSS,
		Look:   func(pid int, socket string) (Looker, error) { return probe.OpenLook(pid, socket) },
		Knobs:  func(pid int, socket string) (Knobs, error) { return probe.OpenKnobs(pid, socket) },
		CPU:    probe.CPU,
	}
	return l, builder.Close, nil
}

// start launches the subject of a trial. Its standard error goes to stderr.log
// and, the runtime's trace lines, to gctrace.txt.
func start(ctx context.Context, builder *subject.Builder, t *dyno.Trial, dir string) (*Running, error) {
	if !t.Subject.Launched() {
		return &Running{Base: t.Subject.URL}, nil
	}
	built, err := builder.Build(ctx, t.Subject)
	if err != nil {
		return nil, err
	}
	out, err := newOutput(dir)
	if err != nil {
		return nil, err
	}
	p, err := subject.Start(ctx, built, t.Subject, subject.Options{
		Stdout: out.stdout, Stderr: out.trace,
		Trace: len(t.Probes.Use) == 0 || slices.Contains(t.Probes.Use, "gctrace"),
		Pacer: t.For == dyno.ForProfile, Limits: t.Limits, Grouped: t.Grouped,
	})
	if err != nil {
		return nil, errors.Join(err, out.close())
	}
	return &Running{
		Base:     "http://" + p.Addr,
		Target:   probe.Target{PID: p.PID, Socket: p.Socket, Trace: out.trace, Grouped: t.Grouped},
		What:     strings.TrimSpace(built.Go + " " + built.Rev),
		Ready:    p.Ready,
		Warnings: slices.Concat(built.Warnings, p.Warnings),
		Done:     p.Done,
		Err:      p.Err,
		Stop: func() error {
			p.Stop(stopGrace)
			return out.close()
		},
		Kill: func() { p.Stop(0) },
	}, nil
}

// An output is the files that a subject's output goes to.
type output struct {
	stdout *capped
	trace  *gctrace.Splitter
	files  []*os.File
}

func newOutput(dir string) (*output, error) {
	o := new(output)
	for _, name := range []string{"stdout.log", "stderr.log", "gctrace.txt"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make the log of a trial: %w", err), o.close())
		}
		o.files = append(o.files, f)
	}
	o.stdout = &capped{w: o.files[0], left: gctrace.DefaultLogLimit}
	o.trace = gctrace.NewSplitter(o.files[1], o.files[2])
	return o, nil
}

func (o *output) close() error {
	var errs []error
	if o.trace != nil {
		errs = append(errs, o.trace.Close(), o.stdout.err)
	}
	for _, f := range o.files {
		errs = append(errs, f.Close())
		// What a subject did not say needs no file.
		if info, err := os.Stat(f.Name()); err == nil && info.Size() == 0 {
			errs = append(errs, os.Remove(f.Name()))
		}
	}
	return errors.Join(errs...)
}

// A capped writer drops what is beyond its limit, and what it cannot write: a
// subject must neither fill the disk nor wait for it.
type capped struct {
	w    io.Writer
	left int
	err  error // the first
}

func (c *capped) Write(p []byte) (int, error) {
	if n := min(len(p), c.left); n > 0 && c.err == nil {
		c.left -= n
		if _, c.err = c.w.Write(p[:n]); c.left == 0 && c.err == nil {
			_, c.err = io.WriteString(c.w, "\n[dyno: the rest was dropped]\n")
		}
	}
	return len(p), nil
}
