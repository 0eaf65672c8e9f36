package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dynolab/dyno"
)

const (
	mib      = 1 << 20
	leastGC  = 4 * mib // the runtime's least goal
	markRate = 400e6   // bytes of live heap marked in a second
)

// A service is what answers, invented: enough of one that collections, latency
// and memory belong together as they do in a real one.
type service struct {
	median  time.Duration // of the service time, undisturbed
	spread  float64       // of its logarithm
	cpu     float64       // seconds a request
	alloc   float64       // bytes a request
	live    float64       // bytes
	leak    float64       // bytes a second
	gogc    float64       // as GOGC
	rate    float64       // requests a second: of an open load, or about what a closed one reaches
	window  time.Duration
	rushes  []rush
	clients int
	closed  bool
}

// A rush is a time in which the service allocates, and takes, so many times more.
type rush struct {
	from, to    time.Duration
	alloc, slow float64
}

func (s *service) rush(at time.Duration) (alloc, slow float64) {
	for _, r := range s.rushes {
		if at >= r.from && at < r.to {
			return r.alloc, r.slow
		}
	}
	return 1, 1
}

// liveAt is the live heap at a time.
func (s *service) liveAt(at time.Duration) float64 { return s.live + s.leak*at.Seconds() }

// goal is what the pacer would aim at.
func (s *service) goal(live float64) float64 {
	return max(leastGC, live*(1+s.gogc/100), live+mib/2)
}

// collections are those of the window, by the pacer's rule.
func (s *service) collections(rng *rand.Rand) (cs []dyno.Collection) {
	at := time.Duration(rng.Float64() * 0.2 * float64(time.Second))
	for n := 4; at < s.window; n++ {
		live := s.liveAt(at)
		goal := s.goal(live)
		alloc, slow := s.rush(at)
		mark := time.Duration(live / markRate * slow * (0.8 + 0.4*rng.Float64()) * float64(time.Second))
		c := dyno.Collection{
			N: n, Start: at, End: at + mark, Uncertainty: 50 * time.Microsecond,
			SweepTerm: stop(rng), MarkTerm: stop(rng),
			Background: mark / 2, Assist: time.Duration(float64(mark) * 0.05 * alloc * rng.Float64()),
			HeapStart: mib * math.Floor(goal*0.95/mib), HeapEnd: mib * math.Floor(goal/mib),
			Live: live * (1 + 0.005*rng.NormFloat64()), Goal: goal,
		}
		cs = append(cs, c)
		pause := (goal - live) / (s.alloc * s.rate * alloc) * (0.9 + 0.2*rng.Float64())
		at += mark + time.Duration(pause*float64(time.Second)) + 10*time.Microsecond
	}
	return cs
}

// stop is the length of a stop of the world: some tens of microseconds, seldom
// milliseconds.
func stop(rng *rand.Rand) time.Duration {
	us := 25 * math.Exp(0.6*rng.NormFloat64())
	if rng.IntN(2000) == 0 {
		us *= 60
	}
	return time.Duration(us * float64(time.Microsecond))
}

// requests yields the requests of the window, each client's in order, about in the
// order in which they are done.
func (s *service) requests(rng *rand.Rand, steps []string, cs []dyno.Collection, yield func(dyno.Request) bool) {
	free := make([]time.Duration, s.clients) // when each client has its answer
	next, median := 0, float64(s.median)
	gap := float64(time.Second) / s.rate
	for i := 0; ; i++ {
		due := time.Duration(float64(i) * gap)
		client := i % s.clients
		if s.closed {
			for c := range free {
				if free[c] < free[client] {
					client = c
				}
			}
			due = free[client]
		}
		if due >= s.window {
			return
		}
		sent := max(due, free[client])
		for next < len(cs) && cs[next].End < sent {
			next++
		}
		_, slow := s.rush(sent)
		service := median * slow * math.Exp(s.spread*rng.NormFloat64())
		if next < len(cs) && cs[next].Start <= sent {
			c := &cs[next]
			service *= 1.6
			if wait := c.Start + c.SweepTerm - sent; wait > 0 {
				service += float64(wait)
			}
			if rng.IntN(8) == 0 { // had to mark
				service += float64(c.End-c.Start) / 8 * rng.ExpFloat64()
			}
		}
		done := sent + time.Duration(service)
		free[client] = done
		r := dyno.Request{Client: client, Step: steps[i%len(steps)], Due: due, Sent: sent, Done: done, Status: 200, Bytes: 540 + int64(i&15)}
		if rng.IntN(200_000) == 0 {
			r.Status, r.Bytes, r.Failed = 503, 0, true
		}
		if !yield(r) {
			return
		}
	}
}
