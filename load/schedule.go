package load

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dynolab/dyno"
)

// A Schedule returns when the next request is due since the start, never
// decreasing; false when there are no more.
type Schedule func() (due time.Duration, ok bool)

// Constant spaces requests evenly at a rate, the first at 0.
func Constant(rate dyno.Rate) Schedule {
	i := -1
	return func() (time.Duration, bool) {
		i++ // each from the start, so that rounding does not add up
		return rate.Due(float64(i))
	}
}

// Poisson draws requests of very many independent users: exponential gaps, at a
// rate that may change (Çinlar's inversion of its integral). Streams of a seed are
// independent.
func Poisson(rate dyno.Rate, seed, stream uint64) Schedule {
	rng := rand.New(rand.NewPCG(seed, stream))
	at := 0.0
	return func() (time.Duration, bool) {
		at += rng.ExpFloat64()
		return rate.Due(at)
	}
}

// Until is s up to but without d.
func Until(s Schedule, d time.Duration) Schedule {
	return func() (time.Duration, bool) {
		due, ok := s()
		return due, ok && due < d
	}
}

// First is the first n times of s.
func First(s Schedule, n int) Schedule {
	return func() (time.Duration, bool) {
		if n--; n < 0 {
			return 0, false
		}
		return s()
	}
}

// Every is each n-th time of s, from the i-th on, counted from 0: those for i = 0 to n-1 are s together.
func Every(s Schedule, i, n int) Schedule {
	if n == 1 {
		return s
	}
	skip := i
	return func() (due time.Duration, ok bool) {
		for range skip {
			if due, ok = s(); !ok {
				return due, false
			}
		}
		skip = n - 1
		return s()
	}
}

// A source hands due times to free clients. Those that no client is free for stay
// in the schedule, a queue that takes no memory.
type source struct {
	start, limit time.Duration // on the clock; nothing is sent after limit

	mu   sync.Mutex
	next Schedule
	over bool
	late int64 // claimed, due and not sent
}

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
