package web

import (
	"net/http"
	"sync"
	"time"
)

const (
	mostHeavy = 2               // requests that read much at once, of one run only one
	heavyTime = 2 * time.Minute // until one that waits for that is refused
)

// turns see to it that of one run, which may take long to read, not two requests are
// answered at once, so that there is a place for others.
type turns struct {
	mu sync.Mutex
	of map[string]*turn // by path of the run
}

type turn struct {
	taken chan struct{}
	users int // who have it or wait for it
}

// take returns the turn of a run, to be given back.
func (t *turns) take(run string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	if t.of[run] == nil {
		t.of[run] = &turn{taken: make(chan struct{}, 1)}
	}
	t.of[run].users++
	return t.of[run]
}

func (t *turns) giveBack(run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[run].users--; t.of[run].users == 0 {
		delete(t.of, run)
	}
}

// enter waits for a place among the requests that read much. It reports false, and
// has answered, if the asker has gone meanwhile, or has waited for long.
func (s *Site) enter(w http.ResponseWriter, r *http.Request, run string) (leave func(), ok bool) {
	s.prepared()
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
	own := s.turns.take(run)
	if !wait(own.taken) {
		s.turns.giveBack(run)
		return nil, false
	}
	if !wait(s.heavy) {
		<-own.taken
		s.turns.giveBack(run)
		return nil, false
	}
	return func() {
		<-s.heavy
		<-own.taken
		s.turns.giveBack(run)
	}, true
}
