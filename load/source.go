package load

import (
	"sync"
	"time"
)

// A source hands the due times of a schedule to the loops that have a client
// free. What is due while none is free stays in the schedule, which makes a
// queue of any length that takes no memory.
//
// Note: iter.Pull was tried; its coroutine may not be resumed by a goroutine
// that is locked to a thread.
type source struct {
	start, limit time.Duration // on the clock; nothing is sent after limit
	chunks       chan []time.Duration
	spare        chan []time.Duration

	mu    sync.Mutex
	chunk []time.Duration // what is left of it
	whole []time.Duration
	over  bool
	late  int64 // claimed and not sent
}

// chunkSize is how many due times are handed over at once.
const chunkSize = 256

func newSource(start, limit time.Duration) *source {
	return &source{start: start, limit: limit, chunks: make(chan []time.Duration, 2), spare: make(chan []time.Duration, 4)}
}

// feed plays a schedule into the source, until stop is closed.
func (s *source) feed(schedule Schedule, stop <-chan struct{}) {
	defer close(s.chunks)
	var chunk []time.Duration
	send := func() bool {
		select {
		case s.chunks <- chunk:
			return true
		case <-stop:
			return false
		}
	}
	for d := range schedule {
		if chunk == nil {
			select {
			case chunk = <-s.spare:
			default:
				chunk = make([]time.Duration, 0, chunkSize)
			}
		}
		if chunk = append(chunk, d); len(chunk) == chunkSize {
			if !send() {
				return
			}
			chunk = nil
		}
	}
	if len(chunk) > 0 {
		send()
	}
}

// next returns the next due time, from the start of the schedule. The caller
// holds s.mu.
func (s *source) next() (time.Duration, bool) {
	if len(s.chunk) == 0 {
		if s.whole != nil {
			select {
			case s.spare <- s.whole[:0]:
			default:
			}
		}
		s.whole = <-s.chunks
		s.chunk = s.whole
		if len(s.chunk) == 0 {
			return 0, false
		}
	}
	d := s.chunk[0]
	s.chunk = s.chunk[1:]
	return d, true
}

// claim takes the next due time for a loop with a free client. It returns false
// if there is none.
func (s *source) claim() (at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, false
	}
	at, ok = s.next()
	s.over = !ok
	return s.start + at, ok
}

// drop says that what was claimed, or is left, will not be sent.
func (s *source) drop(claimed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; claimed {
		s.late++
	}
}

// unsent is how many requests are due by now and were not sent. No loop may
// be at work.
func (s *source) unsent(now time.Duration) int64 {
	for {
		d, ok := s.next()
		if !ok || s.start+d > now {
			return s.late
		}
		s.late++
	}
}
