package load

import (
	"context"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/scenario"
)

// closed plays one client's loop: the next request follows the answer to the
// last. It ends at until (0: never) of the run's own time, when no request is left
// to measure, or with ctx. Unless measured, nothing is counted.
func (r *runner) closed(ctx context.Context, c *client, until time.Duration, measured bool) error {
	l := loopOf{until: until, measured: measured}
	for {
		for _, s := range r.scenario.Loop {
			if s.Rests() {
				if l.over(ctx, r) || measured && r.enough(l.taken) {
					return nil // no rest after the last request
				}
				c.rest(ctx, s, until)
				continue
			}
			failed, over, err := r.step(ctx, c, s, &l)
			if over || err != nil {
				return err
			}
			c.backOff(ctx, failed)
		}
		c.vars.NextLoop()
	}
}

// A loopOf is how far one client's loop is.
type loopOf struct {
	until    time.Duration
	measured bool
	taken    int // measured requests
}

func (l *loopOf) over(ctx context.Context, r *runner) bool {
	return ctx.Err() != nil || l.until > 0 && r.turn.OwnAt(r.now()) >= l.until
}

// step plays one step that sends, when it is the run's turn.
func (r *runner) step(ctx context.Context, c *client, s *scenario.Step, l *loopOf) (failed, over bool, err error) {
	if !r.turn.Begin(ctx) {
		return false, true, nil
	}
	defer r.turn.End()
	if l.over(ctx, r) {
		return false, true, nil
	}
	width := s.Width()
	if l.measured {
		if width = r.take(s, &l.taken); width == 0 {
			return false, true, nil
		}
	}
	for i, st := range c.send(ctx, s, width) {
		k := &c.calls[i]
		if k.out.cause != "" && ctx.Err() != nil {
			return false, true, nil
		}
		if l.measured {
			if err := r.note(c, st, due{at: k.out.sent}, &k.out); err != nil {
				return false, true, err
			}
		}
		if !l.measured {
			r.warm.Add(1)
			r.warmTook.Add(int64(k.out.done - k.out.sent))
		}
		failed = failed || k.out.cause != ""
	}
	return failed, false, nil
}

// take returns how many requests of a step the client may send now. taken counts
// the measured ones it has sent.
func (r *runner) take(s *scenario.Step, taken *int) int {
	some := false
	for n := range s.Width() {
		if !s.Counts(n) {
			continue
		}
		*taken++
		switch {
		case r.load.RequestsPerClient > 0 && *taken > r.load.RequestsPerClient,
			r.load.Requests > 0 && r.tickets.Add(-1) < 0:
			if !some { // or the loop would never end
				return 0
			}
			return n
		}
		some = true
	}
	return s.Width()
}

func (r *runner) enough(taken int) bool {
	return r.load.RequestsPerClient > 0 && taken >= r.load.RequestsPerClient ||
		r.load.Requests > 0 && r.tickets.Load() <= 0
}

// send sends a step's first width requests at the same time and returns their
// steps, in the order of c.calls, when all are answered.
func (c *client) send(ctx context.Context, s *scenario.Step, width int) []*scenario.Step {
	if len(s.Group) == 0 {
		s = s.Next()
		c.do(ctx, s)
		c.alone[0] = s
		return c.alone[:]
	}
	steps := s.Group[:width]
	var all sync.WaitGroup
	requests := make([]*http1.Request, width)
	errs := make([]error, width)
	// They share the client's variables, so they are rendered one by one.
	for i, st := range steps {
		requests[i] = c.prepare(&c.calls[i], st)
	}
	for i := range steps {
		if requests[i] == nil {
			continue
		}
		all.Go(func() {
			k := &c.calls[i]
			k.out.sent = c.r.now()
			errs[i] = k.link.Exchange(ctx, requests[i], &k.answer)
			k.out.done = c.r.now()
		})
	}
	all.Wait()
	for i, st := range steps {
		if requests[i] != nil {
			c.finish(ctx, &c.calls[i], st, requests[i], errs[i])
		}
	}
	return steps
}

func (c *client) rest(ctx context.Context, s *scenario.Step, until time.Duration) {
	d := s.RestTime(c.vars)
	if until > 0 {
		d = min(d, until-c.r.turn.OwnAt(c.r.now()))
	}
	c.r.turn.Rest(ctx, d)
}

// backOff makes a client rest after failures in a row.
func (c *client) backOff(ctx context.Context, failed bool) {
	if !failed {
		c.failures = 0
		return
	}
	c.failures++
	if d := pace.BackOff(c.failures); d > 0 {
		pace.Timer{}.Wait(ctx, time.Now().Add(d))
	}
}
