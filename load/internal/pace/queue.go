// Package pace waits for the moments at which requests are due, and gives them to clients.
package pace

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Queue hands a schedule's due times to free clients.
//
// It has no dispatcher, so no hand-over lies between the clock and the request: the
// client with the token takes the next due time, waits for it, passes the token on
// and sends. The token goes to the client that became free last, whose connection
// is warm.
type Queue struct {
	Claim func() (at time.Duration, ok bool) // the next due time; the client with the token calls it
	Drop  func()                             // says that the last claimed time will not be used
	Limit time.Duration                      // nothing is sent after it
	Zero  time.Time                          // of the clock on which these are
	Now   func() time.Duration               // on it
	Pacer Pacer

	mu    sync.Mutex
	taken bool            // a client has the token
	idle  []chan struct{} // clients that wait for it, the last one next
}

// NewWake is what a client waits with; see [Queue.Take].
func NewWake() chan struct{} { return make(chan struct{}, 1) }

// Take waits for the client's turn and then for the next due time. It returns
// false if no request is due, or it may not be sent any more.
func (q *Queue) Take(ctx context.Context, wake chan struct{}) (due time.Duration, ok bool) {
	if !q.acquire(ctx, wake) {
		return due, false
	}
	defer q.release()
	if due, ok = q.Claim(); !ok {
		return due, false
	}
	ok = q.Pacer.Wait(ctx, q.Zero.Add(due)) && q.Now() <= q.Limit
	if !ok && q.Now() >= due {
		q.Drop()
	}
	return due, ok
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
