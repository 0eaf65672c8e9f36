package load

import (
	"context"
	"time"

	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/schedule"
)

// open plays a schedule of some length with all clients, of the run's own time. It ends
// when every request is answered, when the clients are catchUp behind its length, or with
// ctx. It sets r.unsent to the number of requests due by then and not sent, or of sessions
// not begun. Unless measured, nothing is counted.
//
// A request that is late because no client was free is sent as soon as one is, whoever's
// turn it is: it would be so without turns, and its latency runs on.
func (r *runner) open(ctx context.Context, s schedule.Times, length, catchUp time.Duration, measured bool) error {
	switch {
	case r.distant != nil:
		return r.distant.open(ctx, s, length, catchUp, measured)
	case r.loops != nil:
		return r.loops.open(ctx, s, length, catchUp, measured)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pacer := r.pacer(ctx)
	defer pacer.Close()
	start := r.begins()
	s, length = r.turn.LayOut(s, start, length)
	src := &source{start: start, limit: start + length + catchUp, part: r.options.Part, next: s}
	q := &pace.Queue{Schedule: src, Limit: src.limit, Now: r.now, Zero: r.zero, Pacer: pacer}
	if measured {
		r.rec.begin(start)
	}
	err := r.each(ctx, func(ctx context.Context, c *client) error {
		c.free.Reset(start)
		for {
			next, ok := q.Take(ctx, c.wake)
			if !ok {
				return nil
			}
			if err := r.session(ctx, c, next, measured); err != nil {
				cancel(err) // wakes the pacer, too
				return err
			}
			c.vars.NextLoop()
		}
	})
	if measured {
		r.unsent = src.unsent(r.now())
	}
	return err
}

// session plays the loop once. Its first step is due at a time of the schedule, each other one when
// the one before ended, or the rest between them. Steps after the first begin in turns of the run only.
func (r *runner) session(ctx context.Context, c *client, next pace.Due, measured bool) error {
	d, end := due{at: next.At, free: c.free.At}, next.At
	var began time.Duration
	for _, s := range r.scenario.Loop {
		if s.Rests() {
			c.rest(ctx, s, 0)
			end = r.now()
			d.at = end
			continue
		}
		if !d.follows {
			s = s.Pick(next.N, c.vars)
		} else {
			if d.at = r.turn.Next(d.at); d.at > r.now() && r.turn.Begin(ctx) {
				r.turn.End()
				d.at = r.now()
			}
			d.free = d.at
		}
		for i, st := range c.send(ctx, s, s.Width()) {
			o := &c.calls[i].out
			if o.cause != "" && ctx.Err() != nil {
				return nil
			}
			if measured {
				if err := r.note(c, st, d, o); err != nil {
					return err
				}
				d.follows = true // a session begins once, also with several requests at the same time
			}
			if began == 0 {
				began = o.sent
			}
			end = max(end, o.done)
		}
		d = due{at: end, follows: true}
	}
	c.free.Took(next.At, began, end)
	return nil
}
