package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/probe"
)

// An Observer looks at a subject by an agent on its machine, which sees its processes.
type Observer struct {
	Dial   func(ctx context.Context) (*wire.Conn, error)
	PID    int    // of the subject, as the agent sees it
	Socket string // of the injected probe, likewise; "" if there is none
	Base   string // address of the subject, for the agent
	Served string // the same for others: what a target's URLs begin with
	Beside bool   // other subjects take turns with it on its machine: the agent cannot tell them from strangers
}

// Ask asks one question.
func (o *Observer) Ask(ctx context.Context, l wire.Look) (*wire.Looked, error) {
	c, err := o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	return Ask(c, l)
}

// Ask asks one question in a session, in which nothing else is under way.
func Ask(c *wire.Conn, l wire.Look) (*wire.Looked, error) {
	if err := c.Send(&wire.Message{Look: &l}); err != nil {
		return nil, err
	}
	for {
		m, err := c.Receive()
		if err != nil {
			return nil, fmt.Errorf("ask the agent beside it: %w", err)
		}
		switch {
		case m.Refused != "":
			return nil, errors.New(m.Refused)
		case m.Looked == nil:
			err = c.Send(new(wire.Message)) // both give signs of life while the answer takes its time
		case m.Looked.Unsupported:
			return nil, fmt.Errorf("%s: %w", m.Looked.Err, errors.ErrUnsupported)
		case m.Looked.Err != "":
			return nil, errors.New(m.Looked.Err)
		default:
			return m.Looked, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// RSS is the subject's resident memory in bytes.
func (o *Observer) RSS() (float64, error) {
	a, err := o.Ask(context.Background(), wire.Look{What: wire.LookResident, PID: o.PID})
	if err != nil {
		return 0, err
	}
	return a.Resident, nil
}

// Inspect returns an inspector of the subject.
func (o *Observer) Inspect() (lab.Inspector, error) { return &inspector{o}, nil }

type inspector struct{ *Observer }

func (i *inspector) ask(what, name string) (*wire.Looked, error) {
	a, err := i.Ask(context.Background(), wire.Look{What: what, PID: i.PID, Socket: i.Socket, Name: name})
	if err != nil {
		return new(wire.Looked), err
	}
	return a, nil
}

func (i *inspector) Snapshot() (dyno.Snapshot, error) {
	a, err := i.ask(wire.LookSnapshot, "")
	return a.Snapshot, err
}

func (i *inspector) Brief() (dyno.Snapshot, error) {
	a, err := i.ask(wire.LookBrief, "")
	return a.Snapshot, err
}

func (i *inspector) Collect() error { _, err := i.ask(wire.LookCollect, ""); return err }
func (i *inspector) Free() error    { _, err := i.ask(wire.LookFree, ""); return err }
func (i *inspector) Close()         {}

func (i *inspector) Profile(name string) ([]byte, error) {
	a, err := i.ask(wire.LookProfile, name)
	return a.Data, err
}

// Probe returns a probe that the agent runs. That of the trace of collections stays on this machine, where the
// subject's log comes.
func (o *Observer) Probe(name string) (probe.Probe, bool) {
	p, ok := lab.ProbeNamed(name)
	switch {
	case !ok:
		return nil, false
	case name == "needs": // which other agents watch
		return p, true
	case name == "gctrace":
		return lateTrace{p}, true
	}
	return &farProbe{o, name}, true
}

// A lateTrace counts the collections of a log that comes over the network. When each was is not known so
// well that slow requests could be held against it.
type lateTrace struct{ probe.Probe }

// Watch implements probe.Probe.
func (l lateTrace) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	t.Socket = "" // which is on the other machine
	r, err := l.Probe.Watch(ctx, t)
	if len(r.Collections) > 0 {
		r.Collections = nil
		r.Warnings.AddOf(dyno.WarnProbe, "gctrace", "collections are counted but not placed in time, as their trace comes over the network: no table says whether slow requests met one")
	}
	return r, err
}

type farProbe struct {
	*Observer
	name string
}

// Watch implements probe.Probe.
func (p *farProbe) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	c, err := p.Dial(context.WithoutCancel(ctx))
	if err != nil {
		return probe.Reading{}, err
	}
	defer c.Close()
	there := func(url string) string {
		if rest, ok := strings.CutPrefix(url, p.Served); ok && url != "" {
			return p.Base + rest
		}
		return url
	}
	job := wire.WatchJob{
		Probe: p.name, PID: p.PID, Socket: t.Socket, Every: t.Every, Grouped: t.Grouped, Insecure: t.Insecure,
		Expvar: there(t.Expvar), Prometheus: there(t.Prometheus), Pprof: there(t.Pprof),
		Metrics: t.Metrics, Profile: t.Profile, Length: t.Length,
	}
	if err := c.Send(&wire.Message{Watch: &job}); err != nil {
		return probe.Reading{}, err
	}
	stop := context.AfterFunc(ctx, func() { c.Send(&wire.Message{Stop: true}) })
	defer stop()
	files := map[string]io.WriteCloser{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for {
		m, err := c.Receive()
		if err != nil {
			return probe.Reading{}, fmt.Errorf("watch by the agent beside the subject: %w", err)
		}
		switch {
		case m.Refused != "":
			return probe.Reading{}, errors.New(m.Refused)
		case m.Ready != nil:
			t.Begin()
		case m.Sample != nil && t.Sample != nil:
			t.Sample(m.Sample.Metric, m.Sample.At, m.Sample.Value)
		case m.Part != nil && filepath.Base(m.Part.Name) != m.Part.Name:
			return probe.Reading{}, fmt.Errorf("the agent beside the subject sends a file %q", m.Part.Name)
		case m.Part != nil:
			if files[m.Part.Name] == nil {
				if files[m.Part.Name], err = t.Create(m.Part.Name); err != nil {
					delete(files, m.Part.Name)
					return probe.Reading{}, err
				}
			}
			if _, err := files[m.Part.Name].Write(m.Part.Data); err != nil {
				return probe.Reading{}, err
			}
		case m.Reading != nil:
			if m.Reading.Err != "" {
				err = errors.New(m.Reading.Err)
			}
			return p.trusted(m.Reading.Reading), err
		default:
			if err := c.Send(new(wire.Message)); err != nil {
				return probe.Reading{}, err
			}
		}
	}
}

// trusted leaves out what an agent cannot know, and files of other names than those of a trial's directory.
func (p *farProbe) trusted(r probe.Reading) probe.Reading {
	r.Files = slices.DeleteFunc(r.Files, func(f probe.File) bool { return filepath.Base(f.Name) != f.Name })
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w dyno.Warning) bool { return p.Beside && w.Kind == dyno.WarnOthers })
	return r
}
