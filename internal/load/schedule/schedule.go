// Package schedule says when the requests of an open load are due. It is pure: a seed and a rate decide.
package schedule

import (
	"math/rand/v2"
	"time"

	"github.com/dynolab/dyno"
)

// Times returns when the next request is due since the start, never
// decreasing; false when there are no more.
type Times func() (due time.Duration, ok bool)

// Constant spaces requests evenly at a rate, the first at 0.
func Constant(rate dyno.Rate) Times {
	i := -1
	return func() (time.Duration, bool) {
		i++ // each from the start, so that rounding does not add up
		return rate.Due(float64(i))
	}
}

// Poisson draws requests of very many independent users: exponential gaps, at a
// rate that may change (Çinlar's inversion of its integral). Streams of a seed are
// independent.
func Poisson(rate dyno.Rate, seed, stream uint64) Times {
	rng := rand.New(rand.NewPCG(seed, stream))
	at := 0.0
	return func() (time.Duration, bool) {
		at += rng.ExpFloat64()
		return rate.Due(at)
	}
}

// Recorded has the times of a recording, since its first, which pass pace times as fast.
func Recorded(times []time.Duration, pace float64) Times {
	i := -1
	return func() (time.Duration, bool) {
		if i++; i >= len(times) {
			return 0, false
		}
		return time.Duration(float64(times[i]) / pace), true
	}
}

// Until is s up to but without d.
func Until(s Times, d time.Duration) Times {
	return func() (time.Duration, bool) {
		due, ok := s()
		return due, ok && due < d
	}
}

// First is the first n times of s.
func First(s Times, n int) Times {
	return func() (time.Duration, bool) {
		if n--; n < 0 {
			return 0, false
		}
		return s()
	}
}

// Every is each n-th time of s, from the i-th on, counted from 0: those for i = 0 to n-1 are s together.
func Every(s Times, i, n int) Times {
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
