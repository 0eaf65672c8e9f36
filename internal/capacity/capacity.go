// Package capacity finds the highest rate at which a service holds an objective: it decides which rate to
// measure next, when that is enough, and what the answer is.
//
// It owns the search, the estimate and its interval. It measures nothing and writes nothing: its caller does,
// by the function that [Run] is given. Sentences are package report/knee's.
//
// An objective is a share of requests that may be beyond a limit: p99 < 30ms allows 1 % slower than 30 ms.
// Its capacity is the highest rate at which, once the queue has settled, the share is no larger.
package capacity

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/dynolab/dyno"
)

// A Count is how many requests there were, and how many of them were beyond a limit.
type Count struct{ N, Beyond float64 }

func (c Count) share() float64 { return c.Beyond / c.N }

// A Window is what was measured at one rate, with a queue of its own.
type Window struct {
	Rate   float64 // requests per second that were due
	Length time.Duration
	Whole  []Count   // of each objective
	Parts  [][]Count // of each objective, in consecutive parts of the window of about equal length; may be empty
	Seen   []float64 // of each objective, for people: the percentile in seconds, or the share of failures; NaN if not known
	Behind bool      // the service took less than the rate: no objective is held
	// Limited: the generator could not send this rate, so that the window says nothing of the service.
	Limited bool
	Died    bool // the service ended by itself under this load, so it is Behind

	Steal, Others float64 // shares of the machine's CPU time: withheld by the hypervisor, used by other processes; NaN if not known
	Disturbed     bool    // these were so large that the window is measured again
	Warnings      dyno.Warnings
}

// A Problem is what is asked of each setting.
type Problem struct {
	Objectives []Objective
	From       float64       // requests per second of the first window
	Most       float64       // the highest rate that may be tried; 0: any
	Precision  float64       // half the width of the interval that is wanted, as a fraction of the capacity
	Within     time.Duration // most time for the windows of a setting, with what is around them
	Longer     time.Duration // the same while the answer is crude; 0: it is Within
	Seed       uint64        // orders the settings of each round
}

// windowLimits is how many times the longest limit a window lasts at least. In an overloaded service the queue grows
// by the overload times the window; in a window of so many limits it passes one if the overload is 2 %.
const windowLimits = 50

// slowest is the longest limit.
func (p *Problem) slowest() (limit time.Duration) {
	for _, o := range p.Objectives {
		limit = max(limit, o.Limit)
	}
	return limit
}

// LeastWithin is the shortest time in which a search makes sense: three windows of the longest limit.
func (p *Problem) LeastWithin() time.Duration { return 3 * windowLimits * p.slowest() }

// Bounds of a window's length.
const (
	leastWindow = 5 * time.Second
	mostWindow  = 20 * time.Second
	leastRough  = time.Second // of a window that only tells whether a rate is far off
	mostRough   = 5 * time.Second
)

// least is the lowest rate that is tried.
const least = 0.5

// Measure measures a setting, counted from 0, at a rate in a window of some length. It returns how long
// that took with all around it.
type Measure func(ctx context.Context, setting int, rate float64, length time.Duration) (w Window, took time.Duration, err error)

// Run searches the capacities of several settings in rounds: each has one window, in random order, so that drift of the
// machine meets all alike. An error of measure, which may be the context's, ends it; what was found so far is
// in the searches.
func Run(ctx context.Context, p Problem, settings int, measure Measure) ([]*Search, error) {
	searches := make([]*Search, settings)
	for i := range searches {
		searches[i] = &Search{Problem: p}
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	for left := settings; left > 0; {
		left = 0
		for _, i := range rng.Perm(settings) {
			s := searches[i]
			rate, length, ok := s.Next()
			if !ok {
				continue
			}
			left++
			w, took, err := measure(ctx, i, rate, length)
			if err != nil {
				return searches, err
			}
			s.Add(w, took)
		}
	}
	return searches, nil
}
