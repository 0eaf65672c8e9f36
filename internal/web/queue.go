package web

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	mostHeavy = 2               // requests that read much at the same time, at most one of each run
	heavyTime = 2 * time.Minute // after which a waiting request is refused
)

// A queue admits requests that read much. A slow run cannot take all places, since
// only one request of each run is admitted.
type queue struct {
	runs   sync.Map // path of a run → chan struct{} with room for one request
	places chan struct{}
}

// enter waits for a place in the queue. It fails if the client goes away or waits too
// long.
func (s *Site) enter(r *http.Request, run string) (leave func(), err error) {
	q := &s.queue
	ctx, cancel := context.WithTimeout(r.Context(), heavyTime)
	defer cancel()
	one, _ := q.runs.LoadOrStore(run, make(chan struct{}, 1))
	own := one.(chan struct{})
	late := refuse(http.StatusServiceUnavailable, "The server is still making other pages (consider: to try again).")
	select {
	case own <- struct{}{}:
	case <-ctx.Done():
		return nil, late
	}
	select {
	case q.places <- struct{}{}:
	case <-ctx.Done():
		<-own
		return nil, late
	}
	return func() {
		<-q.places
		<-own
	}, nil
}
