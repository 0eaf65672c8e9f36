package lab

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/load/grpc"
	"github.com/dynolab/dyno/internal/needs"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
	"github.com/dynolab/dyno/internal/probe/kernel"
	"github.com/dynolab/dyno/internal/probe/needed"
	"github.com/dynolab/dyno/internal/probe/profiles"
	"github.com/dynolab/dyno/internal/probe/published"
	"github.com/dynolab/dyno/internal/subject"
)

// Open returns a lab with the hands of this machine; Dir, Skip and Watch are the caller's to set. Subjects
// serve at host, an address of it; "" means 127.0.0.1. After release no build, worktree or process of the
// lab is left.
func Open(host string) (l *Lab, release func() error, err error) {
	builder, err := subject.NewBuilder("")
	if err != nil {
		return nil, nil, err
	}
	builder.Tell = func(step string) {
		if l.Building != nil {
			l.Building(step)
		}
	}
	end := new(subject.Ends)
	keeper := &needs.Keeper{Build: builder.Build, Tell: builder.Tell}
	l = &Lab{Hands: Hands{
		Vet: func(ctx context.Context, s dyno.Subject) error {
			if !s.Launched() {
				return nil
			}
			return builder.Check(ctx, s)
		},
		Prepare: func(ctx context.Context, s dyno.Subject) error {
			if !s.Launched() {
				return nil
			}
			if _, err := builder.Build(ctx, s); err != nil {
				return err
			}
			return keeper.Prepare(ctx, s)
		},
		Sum: func(ctx context.Context, s dyno.Subject) (string, error) {
			if !s.Launched() {
				return "", nil
			}
			built, err := builder.Build(ctx, s) // which keeps it
			if err != nil {
				return "", err
			}
			return built.Sum, nil
		},
		Sources: builder.Sources,
		Start: func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			return start(ctx, builder, keeper, t, dir, host, patience, end)
		},
		Names: func(ctx context.Context, s dyno.Subject, variable string) bool {
			return !s.Launched() || builder.Names(ctx, s, variable)
		},
		WhyNotBeside: subject.WhyNotBeside,
		Limit:        subject.CheckLimits,
		Memory:       memoryOf("/proc", cgroup.MemoryLeft("/proc")),
		Load:         putLoad,
		Program: func(ctx context.Context, l dyno.Load, dir string) (string, error) {
			return buildProgram(ctx, builder, l, dir, nil)
		},
		Tool:  subject.RunTool,
		Probe: ProbeNamed,
		RSS:   kernel.Together,
		Places: func(ctx context.Context, s dyno.Subject, name, value string) []dyno.Setter {
			return builder.Setters(ctx, s, name, value)
		},
		Inspect: func(pid int, socket string) (Inspector, error) { return goruntime.OpenInspector(pid, socket) },
		Knobs:   func(pid int, socket string) (Knobs, error) { return goruntime.OpenKnobs(pid, socket) },
		CPU:     kernel.CPU,
	}}
	return l, func() error { return errors.Join(keeper.Close(), builder.Close()) }, nil
}

// Programs builds the programs of loads with some variables of the environment. After release nothing
// of it is left.
func Programs(env map[string]string) (build func(ctx context.Context, l dyno.Load, dir string) (path string, err error), release func() error) {
	var mu sync.Mutex
	var b *subject.Builder // made when it is needed
	build = func(ctx context.Context, l dyno.Load, dir string) (path string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if b == nil {
			if b, err = subject.NewBuilder(""); err != nil {
				return "", err
			}
		}
		return buildProgram(ctx, b, l, dir, env)
	}
	return build, func() error {
		mu.Lock()
		defer mu.Unlock()
		if b == nil {
			return nil
		}
		return b.Close()
	}
}

func buildProgram(ctx context.Context, b *subject.Builder, l dyno.Load, dir string, env map[string]string) (path string, err error) {
	s := programOf(l.Program, dir)
	if l.GRPC != nil {
		files, err := grpc.Source()
		if err == nil {
			dir, err = b.Place(files)
		}
		if err != nil {
			return "", err
		}
		s = grpc.Subject(dir)
		maps.Copy(s.Env, env)
	} else {
		s.Env = env
	}
	built, err := b.Build(ctx, s)
	if err != nil && l.GRPC != nil {
		err = grpc.Explain(err)
	}
	if err != nil {
		return "", err
	}
	return built.Path, nil
}

// programOf says how a load's program is built: a package, a version of one, or nothing if it is an
// executable file.
func programOf(name, dir string) dyno.Subject {
	s := dyno.Subject{Dir: dir, NoInject: true}
	switch info, err := os.Stat(name); {
	case err == nil && info.Mode().IsRegular():
		s.Binary = name
	case err != nil && strings.Contains(name, "@"):
		s.Module = name
	default:
		s.Package = name
	}
	return s
}

// start launches the subject of a trial. Its stderr goes to stderr.log, and trace lines to
// gctrace.txt.
func start(ctx context.Context, builder *subject.Builder, keeper *needs.Keeper, t *dyno.Trial, dir, host string, patience time.Duration, end *subject.Ends) (*Running, error) {
	if !t.Subject.Launched() {
		running := &Running{Base: t.Subject.URL}
		running.watchNeeds(t)
		return running, nil
	}
	built, err := builder.Build(ctx, t.Subject)
	if err != nil {
		return nil, err
	}
	return WithNeeds(ctx, keeper, t, dir, func(ctx context.Context, needs map[string]map[string]string) (*Running, error) {
		return launch(ctx, built, t, needs, dir, host, patience, end)
	})
}

// launch launches the subject when its needs are there.
func launch(ctx context.Context, built *subject.Built, t *dyno.Trial, needs map[string]map[string]string, dir, host string, patience time.Duration, end *subject.Ends) (*Running, error) {
	out, err := logs.NewOutput(dir)
	if err != nil {
		return nil, err
	}
	p, err := subject.Start(ctx, built, t.Subject, subject.Options{
		Needs:  needs,
		Stdout: out.Stdout, Stderr: out.Trace,
		Trace: len(t.Probes.Use) == 0 || slices.Contains(t.Probes.Use, "gctrace"),
		Pacer: t.For == dyno.ForProfile, Limits: t.Limits, Grouped: t.Grouped, Patience: patience, Host: host,
	})
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	trace := out.Trace
	if p.Foreign {
		trace = nil
	}
	running := &Running{
		Base:     p.Base,
		Target:   probe.Target{PID: p.Main, Also: p.Also, Socket: p.Socket, Trace: trace, Grouped: t.Grouped},
		Moved:    p.Moved,
		Environ:  p.Environ,
		What:     strings.TrimSpace(built.Go + " " + built.Rev),
		Sum:      built.Sum,
		Ready:    p.Ready,
		Warnings: slices.Concat(built.Warnings, p.Warnings),
		Done:     p.Done,
		Err:      p.Err,
		Kill:     func() { p.Stop(0) },
	}
	running.Stop = func() error { running.Late = end.Stop(p); return out.Close() }
	return running, nil
}

// ProbeNamed returns the probe with a name of dyno.ProbeNames, or those of trials ForProfile and
// ForTrace.
func ProbeNamed(name string) (probe.Probe, bool) {
	p, ok := map[string]probe.Probe{
		"proc": kernel.Proc{}, "cgroup": kernel.ControlGroup{},
		"gctrace": goruntime.Collector{}, "runtime": goruntime.Metrics{},
		"expvar": published.Expvar{}, "prometheus": published.Prometheus{}, "pprof": published.Index{},
		dyno.ForProfile: profiles.Profiles{}, dyno.ForTrace: profiles.Trace{}, "preempted": kernel.Preempted{}, "needs": needed.Needs{},
	}[name]
	return p, ok
}
