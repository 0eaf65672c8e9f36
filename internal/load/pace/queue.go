// Package pace waits for the moments at which requests are due, and gives them to clients.
package pace

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Schedule hands out due times, each once, in order. Several goroutines call it.
type Schedule interface {
	// Claim is the next due time; false if there are no more. It may wait until the next one is known.
	Claim() (d Due, ok bool)
	// ClaimBy is the next due time if it is not after now; false if it is, or is not known.
	ClaimBy(now time.Duration) (d Due, ok bool)
	// Drop says that the last claimed time, and all that follow, will not be used.
	Drop()
}

// A Due is when a request of a load is due, and its number in it, from 0.
type Due struct {
	N  int64
	At time.Duration
}

// A Queue hands a schedule's due times to free clients.
//
// It has no dispatcher, so no hand-over lies between the clock and the request: the
// client with the token takes the next due time, waits for it, passes the token on
// and sends. The token goes to the client that became free last, whose connection
// is warm. A client that becomes free when something is due already takes it without the
// token: waking another one would cost more than a fast request does.
type Queue struct {
	Schedule
	Limit time.Duration        // nothing is sent after it
	Zero  time.Time            // of the clock on which times are
	Now   func() time.Duration // on it
	Pacer Pacer

	count  atomic.Uint32        // of due times that were taken
	recent [recent]atomic.Int64 // the last of them

	mu    sync.Mutex
	taken bool            // a client has the token
	idle  []chan struct{} // clients that wait for it, the last one next
}

// A client waits at least for the nap if so many recent due times were closer than half of it: waking takes
// as long, and costs more than a fast request does, so one wakes for several.
const (
	nap    = 50 * time.Microsecond
	recent = 16
)

// NewWake returns the channel that a client waits with; see [Queue.Take].
func NewWake() chan struct{} { return make(chan struct{}, 1) }

// Take waits for the client's turn and then for the next due time. It returns
// false if no request is due, or it may not be sent any more.
func (q *Queue) Take(ctx context.Context, wake chan struct{}) (d Due, ok bool) {
	if now := q.Now(); now <= q.Limit && ctx.Err() == nil {
		if d, ok = q.ClaimBy(now); ok {
			q.note(d.At)
			return d, true
		}
	}
	if !q.acquire(ctx, wake) {
		return d, false
	}
	defer q.release()
	if d, ok = q.Claim(); !ok {
		return d, false
	}
	ok = q.Pacer.Wait(ctx, q.Zero.Add(q.moment(d.At))) && q.Now() <= q.Limit
	if !ok && q.Now() >= d.At {
		q.Drop()
	}
	return d, ok
}

// moment returns when to wake for a due time. The caller holds the token.
func (q *Queue) moment(due time.Duration) time.Duration {
	before := q.note(due)
	if now := q.Now(); before > 0 && due-before < recent*nap/2 && due > now {
		return max(due, now+nap)
	}
	return due
}

// note notes a due time that was taken, and returns an earlier one.
func (q *Queue) note(due time.Duration) (before time.Duration) {
	return time.Duration(q.recent[q.count.Add(1)%recent].Swap(int64(due)))
}

// acquire waits for the token. wake is the client's own and holds one element.
func (q *Queue) acquire(ctx context.Context, wake chan struct{}) bool {
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

func (q *Queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.idle); n > 0 {
		q.idle[n-1] <- struct{}{}
		q.idle = q.idle[:n-1]
		return
	}
	q.taken = false
}
