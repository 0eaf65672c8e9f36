package load

import (
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/schedule"
)

// A source hands due times to free clients. Those that no client is free for stay
// in the schedule, a queue that takes no memory.
type source struct {
	start, limit time.Duration // on the clock; nothing is sent after limit
	part         Part          // whose times they are

	mu    sync.Mutex
	next  schedule.Times
	ahead time.Duration // taken from next, and not yet claimed
	has   bool          // there is such a time
	over  bool
	late  int64 // claimed, due and not sent
	n     int64 // claimed
}

// Claim implements [pace.Schedule].
func (s *source) Claim() (pace.Due, bool) { return s.ClaimBy(never) }

// ClaimBy implements [pace.Schedule]. Due times have the numbers that they have in the schedule of all
// generators.
func (s *source) ClaimBy(now time.Duration) (d pace.Due, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.has && !s.over {
		s.ahead, s.has = s.next()
		s.over = !s.has
	}
	d.At = s.start + s.ahead
	if !s.has || d.At > now {
		return d, false
	}
	s.has = false
	d.N = s.n*int64(s.part.of()) + int64(s.part.Index)
	s.n++
	return d, true
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
