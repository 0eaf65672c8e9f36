package load

import (
	"sync"
	"time"

	"github.com/dynolab/dyno/load/schedule"
)

// A source hands due times to free clients. Those that no client is free for stay
// in the schedule, a queue that takes no memory.
type source struct {
	start, limit time.Duration // on the clock; nothing is sent after limit

	mu    sync.Mutex
	next  schedule.Times
	ahead time.Duration // taken from next, and not yet claimed
	has   bool          // there is such a time
	over  bool
	late  int64 // claimed, due and not sent
}

// Claim implements [pace.Schedule].
func (s *source) Claim() (at time.Duration, ok bool) { return s.ClaimBy(never) }

// ClaimBy implements [pace.Schedule].
func (s *source) ClaimBy(now time.Duration) (at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.has && !s.over {
		s.ahead, s.has = s.next()
		s.over = !s.has
	}
	at = s.start + s.ahead
	if !s.has || at > now {
		return at, false
	}
	s.has = false
	return at, true
}

// Drop implements [pace.Schedule].
func (s *source) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.late++
}

// unsent counts the requests due by now and not sent. It may be called once, after
// the last claim.
func (s *source) unsent(now time.Duration) int64 {
	if s.has && s.start+s.ahead <= now {
		s.late++
	}
	for {
		d, ok := s.next()
		if !ok || s.start+d > now {
			return s.late
		}
		s.late++
	}
}
