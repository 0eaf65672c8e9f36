package certify

import (
	"math"
	"sort"
)

// A Base is what the service costs without a change, and what a change costs.
type Base struct {
	CPU      float64 `json:"cpu-sec/req"`
	P50      float64 `json:"p50-sec"`
	P99      float64 `json:"p99-sec"`
	RSS      float64 `json:"rss-peak-B"`
	Requests float64 `json:"requests"` // of a launch, set-up and warm-up not counted
	Spin     float64 `json:"spin-sec"` // CPU time of one round of the loop that is planted

	Quantile func(q float64) float64 `json:"-"` // of the latency in seconds; only Amount of Tail needs it
}

// An Amount is what makes a change: each request spins, retains bytes, holds a lock and, some of them,
// waits.
type Amount struct {
	Change
	Spins  uint64  `json:"spins,omitempty"` // rounds of the loop
	Retain int     `json:"retain-B,omitempty"`
	Hold   float64 `json:"hold-sec,omitempty"`
	Delay  float64 `json:"delay-sec,omitempty"`
	Share  float64 `json:"delayed-frac,omitempty"`
}

// delayed is the share of requests that wait where p99 is to be longer. Twice what is beyond p99 is
// enough to move it by any size, and leaves the median and the CPU time as they are.
const delayed = 0.02

// Amount returns what makes a change of a service. Durations are never negative.
func (b *Base) Amount(c Change) Amount {
	a := Amount{Change: c}
	switch c.Kind {
	case CPU:
		a.Spins = uint64(math.Round(c.Size * b.CPU / b.Spin))
	case Memory:
		a.Retain = int(math.Ceil(c.Size * b.RSS / b.Requests))
	case Lock:
		a.Hold = c.Size * b.P50
	case Tail:
		a.Delay, a.Share = max(0, b.delay(c.Size)), delayed
	}
	return a
}

// delay returns how long the delayed requests must wait so that p99 is longer by a size. If F is the
// share that takes longer than a time without the change, and x the new p99, then
//
//	0.98·F(x) + 0.02·F(x-delay) = 0.01
//
// as which requests are delayed does not depend on how long they take.
func (b *Base) delay(size float64) float64 {
	x := b.Quantile(0.99) * (1 + size)
	const steps = 1 << 16
	beyond := 1 - float64(sort.Search(steps, func(i int) bool { return b.Quantile(float64(i)/steps) > x }))/steps
	rest := (0.01 - (1-delayed)*beyond) / delayed // F(x-delay)
	return x - b.Quantile(1-rest)
}
