package certify

import (
	"math"
	"sort"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// A Base is what the service costs without a change, and what a change costs.
type Base struct {
	CPU      dyno.Number `json:"cpu-sec/req"`
	RSS      dyno.Number `json:"rss-peak-B"` // null if it is not measured
	Requests float64     `json:"requests"`   // of a launch, set-up and warm-up not counted
	Spin     float64     `json:"spin-sec"`   // CPU time of one round of the loop that is planted

	Quantile func(q float64) float64 `json:"-"` // of the latency in seconds; only Amount of Tail needs it
}

// CostOf returns the median CPU time of a request in the trials of a setting; NaN if it was not
// measured.
func CostOf(rs []*dyno.Result, setting dyno.Setting) float64 {
	return median(rs, setting, "cpu-sec/req")
}

func median(rs []*dyno.Result, setting dyno.Setting, metric string) float64 {
	var xs []float64
	for _, r := range rs {
		if x, ok := r.Values.Get(metric); ok && r.Trial.Setting.String() == setting.String() {
			xs = append(xs, x)
		}
	}
	return middle(xs)
}

// BaseOf returns what a service costs in the trials of a setting, of which there is at least one. spin
// is as Base has it.
func BaseOf(rs []*dyno.Result, setting dyno.Setting, spin float64) *Base {
	all, requests, trials := hist.New(), int64(0), 0
	for _, r := range rs {
		if r.Trial.Setting.String() == setting.String() && r.Latency != nil {
			all.Merge(r.Latency)
			requests += r.Sent.Requests
			trials++
		}
	}
	return &Base{
		CPU: dyno.Number(CostOf(rs, setting)), RSS: dyno.Number(median(rs, setting, "rss-peak-B")),
		Spin: spin, Requests: float64(requests) / float64(trials),
		Quantile: func(q float64) float64 { return all.Quantile(q).Seconds() },
	}
}

// An Amount is what makes a change: each request spins, retains bytes, holds a lock and, some of them,
// waits, and a goroutine burns.
type Amount struct {
	Change
	Spins  uint64  `json:"spins,omitempty"` // rounds of the loop
	Retain int     `json:"retain-B,omitempty"`
	Hold   float64 `json:"hold-sec,omitempty"`
	Delay  float64 `json:"delay-sec,omitempty"`
	Share  float64 `json:"delayed-frac,omitempty"`
	Burn   float64 `json:"burn-cpu-frac,omitempty"` // of one CPU, below 1
}

// delayed is the share of requests that wait where p99 is to be longer. Twice what is beyond p99 is
// enough to move it by any size, and leaves the median and the CPU time as they are.
const delayed = 0.02

// Amount returns what makes a change of a service. It is not ok where that cannot be said, or is
// nothing.
func (b *Base) Amount(c Change) (a Amount, ok bool) {
	a = Amount{Change: c}
	x := 0.0
	switch c.Kind {
	case Equal:
		return a, true
	case CPU:
		x = math.Round(c.Size * float64(b.CPU) / b.Spin)
		a.Spins = uint64(x)
	case Memory:
		x = math.Ceil(c.Size * float64(b.RSS) / b.Requests)
		a.Retain = int(x)
	case Lock:
		x = c.Size * float64(b.CPU)
		a.Hold = x
	case Burn:
		if x = c.Size; x >= 1 {
			return Amount{}, false
		}
		a.Burn = x
	case Tail:
		x = b.delay(c.Size)
		a.Delay, a.Share = x, delayed
	}
	if !(x > 0) || math.IsInf(x, 0) {
		return Amount{}, false
	}
	return a, true
}

// delay returns how long the delayed requests must wait so that p99 is longer by a size. If F is the
// share that takes longer than a time without the change, and x the new p99, then
//
//	0.98·F(x) + 0.02·F(x-delay) = 0.01
//
// as which requests are delayed does not depend on how long they take.
func (b *Base) delay(size float64) float64 {
	x := b.Quantile(0.99) * (1 + size)
	if x == 0 {
		return 0
	}
	const steps = 1 << 16
	beyond := 1 - float64(sort.Search(steps, func(i int) bool { return b.Quantile(float64(i)/steps) > x }))/steps
	rest := (0.01 - (1-delayed)*beyond) / delayed // F(x-delay)
	return x - b.Quantile(1-rest)
}
