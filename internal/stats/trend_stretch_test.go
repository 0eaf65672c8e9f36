package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A leak of what a series with a step, or one that has flattened, says to be
// detectable does not pass for level in another of its kind.
func TestTrendStretch(t *testing.T) {
	for w, world := range []struct {
		name string
		f    func(a, x float64) float64
	}{
		{"step at 0.4", func(a, x float64) float64 { return a * step(x, 0.4) }},
		{"step down at 0.4", func(a, x float64) float64 { return -a * step(x, 0.4) }},
		{"step at 0.8", func(a, x float64) float64 { return a * step(x, 0.8) }},
		{"step down at 0.8", func(a, x float64) float64 { return -a * step(x, 0.8) }},
		{"ramp to 0.3", func(a, x float64) float64 { return a * min(1, x/0.3) }},
		{"approach, tau 0.1", func(a, x float64) float64 { return a * (1 - math.Exp(-x/0.1)) }},
	} {
		for n, count := range trendLengths(40) {
			if n < 20 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", world.name, n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(6100+w), uint64(n)))
				x, at := instants(r, n, true)
				passed, named, least := 0, 0, 0.0
				for i := range count {
					a := between(r, 10, 1000)
					draw := func(leak float64) Trend {
						y := make([]float64, n)
						noises[i%len(noises)](r, x, y)
						for i := range y {
							y[i] += world.f(a, x[i]) + leak*(at[i]-at[0])
						}
						return TrendOf(at, y)
					}
					said := draw(0)
					if said.Shape != Stepped && said.Shape != Flattening {
						continue
					}
					named++
					least += math.Log(60 * said.Detectable)
					if s := draw(said.Detectable).Shape; s != Growing && s != Untold {
						passed++
					}
				}
				t.Logf("%d of %d are named; a leak of %.3g in the window passes in %.2f %%", named, count, math.Exp(least/float64(named)), 100*float64(passed)/float64(named))
				if most := 0.05 * float64(named); float64(passed) > most+3*math.Sqrt(most) {
					t.Errorf("%d of %d pass for level, want at most 5 %%", passed, named)
				}
			})
		}
	}
}

// A step and a cache that fills leave as much to see as the level stretch beside them.
func TestTrendStretchSees(t *testing.T) {
	level := TrendOf(readings(600, 1, func(float64) float64 { return 0 })).Detectable
	for _, x := range []struct {
		name  string
		f     func(sec float64) float64
		shape Shape
		times float64 // that of a level series, at most
	}{
		{"early step", func(s float64) float64 { return 1000 * step(s, 100) }, Stepped, 2},
		{"late step", func(s float64) float64 { return 1000 * step(s, 500) }, Stepped, 2},
		{"cache that fills", func(s float64) float64 { return 10 * min(s, 150) }, Flattening, 3},
	} {
		got := TrendOf(readings(600, 1, x.f))
		if got.Shape != x.shape || !(got.Detectable < x.times*level) || !(got.Lo < 0 && got.Hi > 0) {
			t.Errorf("%s: %+v, level %v", x.name, got, level)
		}
	}
	got := TrendOf(readings(600, 1, func(s float64) float64 { return 1000*step(s, 100) + 0.3*s }))
	if got.Shape != Untold || got.Reason.Kind == "" {
		t.Errorf("a leak after a step: %+v", got)
	}
}

// Bursts of requests each make a goroutine wait for ever, at a rate that wanders by 2 %:
// nearly no noise, and no end of the growth.
func TestTrendWanderingLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(8100, 1))
	grows := 0
	for range 200 {
		at, value := make([]float64, 100), make([]float64, 100)
		wander, n := 0.0, 12.0
		for i := range at {
			wander = 0.9*wander + 0.0087*r.NormFloat64()
			n += 1 + wander
			at[i], value[i] = float64(i), math.Floor(n)
		}
		if TrendOf(at, value).Shape == Growing {
			grows++
		}
	}
	if grows < 185 {
		t.Errorf("%d of 200 are called growing, want 185", grows)
	}
}
