package load

import (
	"iter"
	"math/rand/v2"
	"time"

	"github.com/dynolab/dyno"
)

// A Schedule yields when each request is due, counted from the start, never
// decreasing. It is pure: ranging over it twice gives the same times.
type Schedule = iter.Seq[time.Duration]

// Constant yields what is due at a rate, evenly spaced, the first at 0.
func Constant(rate dyno.Rate) Schedule {
	return func(yield func(time.Duration) bool) {
		// Each from the start, so that rounding does not add up.
		for i := 0; ; i++ {
			if due, ok := rate.Due(float64(i)); !ok || !yield(due) {
				return
			}
		}
	}
}

// Poisson yields what is due at a rate if very many independent users send it:
// with exponential gaps, in a Poisson process whose intensity is the rate
// (Çinlar's inversion: a process of intensity 1 in the time that the integral
// of the rate is). The same seed and stream give the same schedule; different
// streams of a seed are independent.
func Poisson(rate dyno.Rate, seed, stream uint64) Schedule {
	return func(yield func(time.Duration) bool) {
		rng := rand.New(rand.NewPCG(seed, stream))
		for at := rng.ExpFloat64(); ; at += rng.ExpFloat64() {
			if due, ok := rate.Due(at); !ok || !yield(due) {
				return
			}
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
