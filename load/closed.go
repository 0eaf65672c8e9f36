package load

import (
	"context"
	"time"
)

// closed plays the loop of one client: its next request when the last is
// answered. It ends when until has come (never, if zero), when there are no
// more requests to measure, or with ctx. Without measured, nothing is counted.
func (r *runner) closed(ctx context.Context, c *client, until time.Time, measured bool) error {
	taken := 0
	for {
		for _, s := range r.scenario.loop {
			if ctx.Err() != nil || !until.IsZero() && !time.Now().Before(until) {
				return nil
			}
			if measured && s.measured && !r.take(&taken) {
				return nil
			}
			o := c.do(ctx, s)
			if o.cause != "" && ctx.Err() != nil {
				return nil
			}
			if measured {
				if err := r.note(c, s, due{at: o.sent}, o); err != nil {
					return err
				}
			}
			c.backOff(ctx, o.cause != "")
		}
		c.count()
	}
}

// take reports whether the client may send one more request that is measured;
// taken is how many it has sent.
func (r *runner) take(taken *int) bool {
	*taken++
	switch {
	case r.load.RequestsPerClient > 0:
		return *taken <= r.load.RequestsPerClient
	case r.load.Requests > 0:
		return r.tickets.Add(-1) >= 0
	}
	return true
}

// The pause of a client after its second failure in a row, and the longest.
const (
	leastBackOff = time.Millisecond
	mostBackOff  = 100 * time.Millisecond
)

// backOff lets a client rest after failures in a row, twice as long each time.
// A refused connection takes microseconds: without a rest, a closed load on a
// dead service would be a busy loop that takes the CPU from the very service
// that is trying to come back, and counts millions of failures. A failure on
// its own is followed by no rest, so that one bad answer in a hundred does not
// change the load.
func (c *client) backOff(ctx context.Context, failed bool) {
	if !failed {
		c.failures = 0
		return
	}
	c.failures++
	if c.failures < 2 {
		return
	}
	t := time.NewTimer(min(leastBackOff<<min(c.failures-2, 10), mostBackOff))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
