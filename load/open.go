package load

import (
	"context"
	"github.com/dynolab/dyno/load/schedule"
	"slices"
	"sync"
	"time"
)

// open plays a schedule of some length with all clients, of the run's own time. It ends
// when every request is answered, when the clients are catchUp behind its length, or with
// ctx. It sets r.unsent to the number of requests due by then and not sent. Unless
// measured, nothing is counted.
//
// A request that is late because no client was free is sent as soon as one is, whoever's
// turn it is: it would be so without turns, and its latency runs on.
func (r *runner) open(ctx context.Context, s schedule.Times, length, catchUp time.Duration, measured bool) error {
	if r.loops != nil {
		return r.loops.open(ctx, s, length, catchUp, measured)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pace := r.pacer(ctx)
	defer pace.close()
	start := r.begins()
	s, length = r.turn.layOut(s, start, length)
	q := &queue{src: source{start: start, limit: start + length + catchUp, part: r.options.Part, next: s}, pace: pace, clock: r.clock}
	if measured {
		r.rec.begin(start)
	}
	err := r.each(ctx, func(ctx context.Context, c *client) error {
		c.ready, c.done = start, start
		for {
			n, at, ok := q.take(ctx, c.wake)
			if !ok {
				return nil
			}
			step := r.scenario.Loop[0].Pick(n, c.vars)
			o := c.do(ctx, step)
			if o.cause != "" && ctx.Err() != nil {
				return nil
			}
			if measured {
				if err := r.note(c, step, due{at, c.ready}, o); err != nil {
					cancel(err) // wakes the pacer, too
					return err
				}
			}
			c.took(at, o)
			c.vars.NextLoop()
		}
	})
	if measured {
		r.unsent = q.src.unsent(r.now())
	}
	return err
}

// A queue hands a schedule's due times to free clients.
//
// It has no dispatcher, so no hand-over lies between the clock and the request: the
// client with the token takes the next due time, waits for it, passes the token on
// and sends. The token goes to the client that became free last, whose connection
// is warm.
type queue struct {
	src   source // the client with the token claims from it
	pace  pacer
	clock clock

	mu    sync.Mutex
	taken bool            // a client has the token
	idle  []chan struct{} // clients that wait for it, the last one next
}

// take waits for the client's turn and then for the next due time, which has the number n. It returns
// false if no request is due, or it may not be sent any more.
func (q *queue) take(ctx context.Context, wake chan struct{}) (n int64, due time.Duration, ok bool) {
	if !q.acquire(ctx, wake) {
		return n, due, false
	}
	defer q.release()
	if n, due, ok = q.src.claim(); !ok {
		return n, due, false
	}
	ok = q.pace.wait(ctx, q.clock.at(due)) && q.clock.now() <= q.src.limit
	if !ok && q.clock.now() >= due {
		q.src.drop()
	}
	return n, due, ok
}

// acquire waits for the token. wake is the client's own and holds one element.
func (q *queue) acquire(ctx context.Context, wake chan struct{}) bool {
	q.mu.Lock()
	if !q.taken {
		q.taken = true
		q.mu.Unlock()
		return true
	}
	q.idle = append(q.idle, wake)
	q.mu.Unlock()
	select {
	case <-wake:
		return true
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.idle, wake)
	if i >= 0 {
		q.idle = slices.Delete(q.idle, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // it came meanwhile
		<-wake
		q.release()
	}
	return false
}

func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.idle); n > 0 {
		q.idle[n-1] <- struct{}{}
		q.idle = q.idle[:n-1]
		return
	}
	q.taken = false
}

// A pacer waits for points in time, for one goroutine at a time.
type pacer interface {
	// wait returns true at the time, false if ctx has ended.
	wait(ctx context.Context, until time.Time) bool
	close()
}

// A timerPacer uses Go's timers, which are up to 1.1 ms late on Linux (golang/go#53824).
type timerPacer struct{}

func (timerPacer) wait(ctx context.Context, until time.Time) bool {
	if ctx.Err() != nil {
		return false
	}
	d := time.Until(until)
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (timerPacer) close() {}
