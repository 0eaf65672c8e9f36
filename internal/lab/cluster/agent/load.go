package agent

import (
	"context"
	"os"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/turn"
	"github.com/dynolab/dyno/internal/turns"
)

const progressEvery = 250 * time.Millisecond

// batch is the number of kept requests in a message.
const batch = 4096

// load sends a part of a load, and says how it goes.
func (s *session) load(ctx context.Context, j *wire.LoadJob) error {
	dir, err := os.MkdirTemp("", "dyno-agent-")
	if err != nil {
		return s.failed(err)
	}
	defer os.RemoveAll(dir)
	l, err := j.Unpack(dir)
	if err != nil {
		return s.failed(err)
	}
	meter := new(load.Meter)
	o := load.Options{Meter: meter, Config: j.Config, Part: j.Part}
	if j.Keep > 0 {
		l.MaxRequestsKept = j.Keep
		if o.Scratch, err = os.CreateTemp(dir, "requests"); err != nil {
			return s.failed(err)
		}
		defer o.Scratch.Close()
	}
	gate := follow(nil, j.Turns)
	o.Turn = gate
	var began time.Time
	throttled := 0.0
	o.Begin = func(ctx context.Context) error {
		os.RemoveAll(dir) // its files are read, and the scratch file needs no name: nothing is left of an agent that is killed
		if err := s.Send(&wire.Message{Ready: &wire.Ready{Answer: time.Duration(meter.Answer.Load())}}); err != nil {
			return err
		}
		m, err := s.await(ctx, func(m *wire.Message) bool { return m.Begin != nil })
		if err != nil {
			return err
		}
		began = wire.Local(m.Begin.At)
		follow(gate, m.Begin.Turns)
		throttled = throttledSeconds()
		return nil
	}
	o.At = func() time.Time { return began }
	o.Second = func(h *hist.Histogram, from, to time.Duration) {
		s.Send(&wire.Message{Second: &wire.Second{From: from, To: to, Latency: h}}) // a failure ends the session's reading, too
	}
	o.End = func() {
		throttled = throttledSeconds() - throttled
		if s.Send(&wire.Message{Ended: true}) != nil {
			return
		}
		if _, err := s.await(ctx, func(m *wire.Message) bool { return m.Finish }); err == nil && gate != nil {
			gate.Open() // for the teardown
		}
	}
	defer s.beat(progressEvery, func() *wire.Message {
		p := &wire.Progress{Now: time.Now(), Phase: meter.Phase(), Done: meter.Done.Load(), Failed: meter.Failed.Load()}
		if p.Phase == "measure" {
			p.At = time.Since(began)
		}
		return &wire.Message{Progress: p}
	})()
	send := s.agent.Send
	if send == nil {
		send = load.Run
	}
	rec, err := send(ctx, j.Base, l, j.Arg, o)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.record(rec, err, throttled)
}

// follow lets a load take turns by a table of the agent's clock.
func follow(gate *turn.Turn, t *turns.Table) *turn.Turn {
	if t == nil {
		return gate
	}
	if gate == nil {
		gate = turn.New()
	}
	local := *t
	local.Start = wire.Local(t.Start)
	gate.Follow(local)
	return gate
}

func (s *session) await(ctx context.Context, is func(*wire.Message) bool) (*wire.Message, error) {
	for {
		m, err := s.next(ctx)
		if err != nil || is(m) {
			return m, err
		}
	}
}

func (s *session) failed(err error) error {
	return s.Send(&wire.Message{Record: &wire.Record{Err: err.Error()}, Last: true})
}

// record sends what was measured, and the requests that were kept.
func (s *session) record(rec *load.Record, err error, throttled float64) error {
	if rec == nil {
		return s.failed(err)
	}
	kept := rec.Kept
	rec.Kept = nil
	r := &wire.Record{Record: rec, Throttled: throttled}
	if err != nil {
		r.Err = err.Error()
	}
	if err := s.Send(&wire.Message{Record: r, Last: kept == nil}); err != nil || kept == nil {
		return err
	}
	requests := make([]dyno.Request, 0, batch)
	for q, err := range kept {
		if err != nil {
			return err
		}
		if requests = append(requests, q); len(requests) == batch {
			if err := s.Send(&wire.Message{Requests: requests}); err != nil {
				return err
			}
			requests = requests[:0]
		}
	}
	return s.Send(&wire.Message{Requests: requests, Last: true})
}

// throttledSeconds returns how long the agent's own control group has been throttled so far.
func throttledSeconds() float64 {
	a, err := cgroup.OpenAccount("/proc", os.Getpid(), false)
	if err != nil {
		return 0
	}
	defer a.Close()
	t, err := a.Throttling()
	if err != nil {
		return 0
	}
	return t.Seconds
}
