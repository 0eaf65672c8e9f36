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
	part         Part          // whose times they are

	mu   sync.Mutex
	next schedule.Times
	over bool
	late int64 // claimed, due and not sent
	n    int64 // claimed
}

// claim returns the next due time and its number, from 0, in the schedule of all generators.
func (s *source) claim() (n int64, at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, 0, false
	}
	at, ok = s.next()
	s.over = !ok
	n = s.n*int64(s.part.of()) + int64(s.part.Index)
	s.n++
	return n, s.start + at, ok
}

// drop says that the last claimed time, and all that follow, will not be used.
func (s *source) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.late++
}

// unsent counts the requests due by now and not sent. It may be called once, after
// the last claim.
func (s *source) unsent(now time.Duration) int64 {
	for {
		d, ok := s.next()
		if !ok || s.start+d > now {
			return s.late
		}
		s.late++
	}
}
