package load

import (
	"iter"
	"math/rand/v2"
	"time"
)

// A Schedule yields when each request is due, counted from the start, never
// decreasing. It is pure: ranging over it twice gives the same times.
type Schedule = iter.Seq[time.Duration]

// Constant yields rate requests per second for ever, evenly spaced, the first
// at 0. The rate must be positive.
func Constant(rate float64) Schedule {
	return func(yield func(time.Duration) bool) {
		// Each from the start, so that rounding does not add up.
		for i := 0; yield(time.Duration(float64(i) / rate * float64(time.Second))); i++ {
		}
	}
}

// Poisson yields rate requests per second for ever, as very many independent
// users send them: with exponential gaps. The same seed and stream give the
// same schedule; different streams of a seed are independent. The rate must be
// positive.
func Poisson(rate float64, seed, stream uint64) Schedule {
	return func(yield func(time.Duration) bool) {
		rng := rand.New(rand.NewPCG(seed, stream))
		at := rng.ExpFloat64() / rate
		for yield(time.Duration(at * float64(time.Second))) {
			at += rng.ExpFloat64() / rate
		}
	}
}

// Until yields the times of s that are before d.
func Until(s Schedule, d time.Duration) Schedule {
	return func(yield func(time.Duration) bool) {
		for due := range s {
			if due >= d || !yield(due) {
				return
			}
		}
	}
}

// First yields the first n times of s.
func First(s Schedule, n int) Schedule {
	return func(yield func(time.Duration) bool) {
		if n <= 0 {
			return
		}
		left := n
		for due := range s {
			if left--; !yield(due) || left == 0 {
				return
			}
		}
	}
}
