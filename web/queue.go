package web

import (
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

// enter waits for a place in the queue. If the client goes away or waits too long,
// it answers the request and reports false.
func (s *Site) enter(w http.ResponseWriter, r *http.Request, run string) (leave func(), ok bool) {
	q := &s.prepared().queue
	late := time.NewTimer(heavyTime)
	defer late.Stop()
	wait := func(place chan struct{}) bool {
		select {
		case place <- struct{}{}:
			return true
		case <-r.Context().Done():
		case <-late.C:
			w.Header().Set("Retry-After", "30")
			http.Error(w, "other pages are being made, and take long (consider: to try again)", http.StatusServiceUnavailable)
		}
		return false
	}
	one, _ := q.runs.LoadOrStore(run, make(chan struct{}, 1))
	own := one.(chan struct{})
	if !wait(own) {
		return nil, false
	}
	if !wait(q.places) {
		<-own
		return nil, false
	}
	return func() {
		<-q.places
		<-own
	}, true
}
