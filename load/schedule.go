package load

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dynolab/dyno"
)

// A Schedule returns when the next request is due, counted from the start, never
// decreasing; false when there is none any more. The same arguments make the
// same schedule.
type Schedule func() (due time.Duration, ok bool)

// Constant is what is due at a rate, evenly spaced, the first at 0.
func Constant(rate dyno.Rate) Schedule {
	i := -1
	return func() (time.Duration, bool) {
		i++ // each from the start, so that rounding does not add up
		return rate.Due(float64(i))
	}
}

// Poisson is what is due at a rate if very many independent users send it: with
// exponential gaps, in a Poisson process whose intensity is the rate (Çinlar's
// inversion: a process of intensity 1 in the time that the integral of the rate
// is). Different streams of a seed are independent.
func Poisson(rate dyno.Rate, seed, stream uint64) Schedule {
	rng := rand.New(rand.NewPCG(seed, stream))
	at := 0.0
	return func() (time.Duration, bool) {
		at += rng.ExpFloat64()
		return rate.Due(at)
	}
}

// Until has the times of s that are before d.
func Until(s Schedule, d time.Duration) Schedule {
	return func() (time.Duration, bool) {
		due, ok := s()
		return due, ok && due < d
	}
}

// First has the first n times of s.
func First(s Schedule, n int) Schedule {
	return func() (time.Duration, bool) {
		if n--; n < 0 {
			return 0, false
		}
		return s()
	}
}

// A source hands the due times of a schedule to loops, or to a queue, that have
// a client free. Requests that are due while none is free stay in the schedule, a queue of any length that
// takes no memory.
type source struct {
	start, limit time.Duration // on the clock; nothing is sent after limit

	mu   sync.Mutex
	next Schedule
	over bool
	late int64 // claimed, due and not sent
}

// claim takes the next due time. It returns false if there is none.
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

// drop says that the time that was claimed last, and all that is left, will not
// be used.
func (s *source) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.late++
}

// unsent is how many requests are due by now and were not sent. It may be called
// once, after the last claim.
func (s *source) unsent(now time.Duration) int64 {
	for {
		d, ok := s.next()
		if !ok || s.start+d > now {
			return s.late
		}
		s.late++
	}
}
