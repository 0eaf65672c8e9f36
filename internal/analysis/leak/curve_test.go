package leak

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

var curveTrials = flag.Int("curve", 6, "simulated trials of each size, window and GOGC of the leak's power curve")

// A simulated service: its requests come at a rate, allocate garbage, and keep what live
// says. Its collector starts when the heap has reached the goal of GOGC, and marks at a
// speed; what is allocated meanwhile counts as live (gcController in runtime/mgcpacer.go).
type simulated struct {
	gogc    float64
	garbage float64                   // bytes a second
	live    func(sec float64) float64 // kept, requests under way not counted
	under   float64                   // what requests under way hold, in the mean
}

const markSpeed = 300 << 20 // bytes a second, of one of two busy CPUs

func (s simulated) trial(rng *rand.Rand, window time.Duration) *Growth {
	sec := window.Seconds()
	var live, known [2][]float64
	grown := func(t, from float64) float64 { return s.live(t) - s.live(from) }
	at, marked := 0.0, s.live(0)
	const step = 0.005
	for t := step; t <= sec; t += step {
		heap := marked + s.garbage*(t-at) + max(0, grown(t, at))
		goal := max(leastHeap*s.gogc/100, marked*(1+s.gogc/100))
		if heap < goal {
			continue
		}
		held := s.under * rng.ExpFloat64()
		truly := s.live(t) + held
		marked = truly + s.garbage*truly/markSpeed*(0.5+rng.Float64())
		at = t
		live[0], live[1] = append(live[0], t), append(live[1], marked)
		known[0], known[1] = append(known[0], t), append(known[1], truly)
	}
	r := lasting(window, s.live(0), s.live(sec)+float64(rng.IntN(32<<10)))
	r.Values = dyno.Values{{Metric: "gc-cycles", Value: float64(len(live[0]))}}
	return NewGrowth(r, nil, readings{"heap-live-B": live, "heap-true-B": known}.series, Profiles{})
}

// service is one of the ordinary kind: some MB live, some MB a second of garbage.
func service(rng *rand.Rand, gogc float64) simulated {
	base := (3 + 20*rng.Float64()*rng.Float64()) * mib
	return simulated{gogc: gogc, garbage: (2 + 30*rng.Float64()*rng.Float64()) * mib, under: 0.02 * mib, live: flat(base)}
}

// A leak that is large is found as surely as one that is small, though it leaves the
// fewer collections the larger it is.
func TestLeakPowerHasNoHole(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	for _, gogc := range []float64{50, 100, 200, 400} {
		for _, window := range []time.Duration{time.Minute, 3 * time.Minute, 10 * time.Minute} {
			line, best := "", 0
			for _, hourly := range []float64{0.1, 1, 10, 100, 1000, 10000} {
				found := 0
				for range *curveTrials {
					s := service(rng, gogc)
					base, rate := s.live(0), hourly*mib/3600
					s.live = ramp(base, rate)
					if s.trial(rng, window).Memory.Verdict == Leaking {
						found++
					}
				}
				line += fmt.Sprintf("%8.0f %%", 100*float64(found)/float64(*curveTrials))
				if found < best-*curveTrials/6 {
					t.Errorf("GOGC=%v, %v: %v MiB/h is found in %d of %d, less in %d", gogc, window, hourly, found, *curveTrials, best)
				}
				best = max(best, found)
			}
			t.Logf("GOGC=%-3v %5v %s", gogc, window, line)
		}
	}
}

// healthy are ten kinds of service that keep memory and do not leak, in a window of so
// many seconds.
var healthy = []struct {
	name string
	live func(rng *rand.Rand, base, sec float64) func(float64) float64
}{
	{"steady", func(_ *rand.Rand, base, _ float64) func(float64) float64 { return flat(base) }},
	{"cache that fills", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, full := sizeOf(rng), sec*(0.05+0.65*rng.Float64())
		return func(t float64) float64 { return base + size*min(1, t/full) }
	}},
	{"cache with random keys", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, tau := sizeOf(rng), sec*(0.03+0.27*rng.Float64())
		return func(t float64) float64 { return base + size*-math.Expm1(-t/tau) }
	}},
	{"table that is loaded", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, at := sizeOf(rng), sec*rng.Float64()
		return func(t float64) float64 { return base + size*step(t, at) }
	}},
	{"two tables", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, first, second := sizeOf(rng), sec*rng.Float64()/2, sec*(0.5+rng.Float64()/2)
		return func(t float64) float64 { return base + size*(step(t, first)+step(t, second)) }
	}},
	{"map that doubles", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, last := sizeOf(rng), sec*(0.2+0.4*rng.Float64())
		return func(t float64) float64 {
			x := 1 / 16.0
			for at := last; at > sec/100; at /= 2 {
				if t >= at {
					return base + size*x*math.Exp2(4+math.Log2(at/last))
				}
			}
			return base
		}
	}},
	{"entries that expire", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, ttl := sizeOf(rng), sec*(0.02+0.4*rng.Float64())
		return func(t float64) float64 { return base + size*min(1, t/ttl) }
	}},
	{"saw of a batch", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, period := sizeOf(rng), sec*(0.02+0.2*rng.Float64())
		return func(t float64) float64 { return base + size*math.Mod(t, period)/period }
	}},
	{"pool that is given up at rest", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size, tau := sizeOf(rng), sec*rng.Float64()
		return func(t float64) float64 {
			if t >= sec-0.1 {
				return base
			}
			return base + size*-math.Expm1(-t/tau)
		}
	}},
	{"queue under load", func(rng *rand.Rand, base, sec float64) func(float64) float64 {
		size := sizeOf(rng)
		return func(t float64) float64 {
			if t >= sec-0.1 {
				return base
			}
			return base + size*t/sec
		}
	}},
}

func step(t, at float64) float64 {
	if t < at {
		return 0
	}
	return 1
}

// sizeOf is 1 MiB to 1 GiB, as many of each size.
func sizeOf(rng *rand.Rand) float64 { return mib * math.Exp2(10*rng.Float64()) }

// priceOf is the share of trials in which growth that ends near the end of the window passes for a leak
// (doc/method/leaks.md); any other kind may have the 1 in 1,000 of a false alarm.
var priceOf = map[string]float64{"cache that fills": 0.007, "map that doubles": 0.007, "saw of a batch": 0.003}

// A service that does not leak is not accused, however few its collections are.
func TestHealthyServicesAreNotAccused(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	accused, trials := 0, 0
	for _, kind := range healthy {
		n, level := 0, 0
		for range 8 * *curveTrials {
			for _, window := range []time.Duration{time.Minute, 3 * time.Minute} {
				s := service(rng, []float64{50, 100, 200, 400, 800}[rng.IntN(5)])
				s.live = kind.live(rng, s.live(0), window.Seconds())
				switch s.trial(rng, window).Memory.Verdict {
				case Leaking:
					n++
				case NoLeak:
					level++
				}
				trials++
			}
		}
		accused += n
		of := 16 * *curveTrials
		t.Logf("%-30s %3d accused, %3d level, of %d", kind.name, n, level, of)
		expected := cmp.Or(priceOf[kind.name], 0.001) * float64(of)
		if float64(n) > expected+3*math.Sqrt(expected) {
			t.Errorf("%s: %d of %d trials without a leak are said to leak, where %.1f may", kind.name, n, of, expected)
		}
	}
	t.Logf("%d of %d accused", accused, trials)
}
