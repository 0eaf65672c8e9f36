package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A course writes one series; x is the time of each reading, from 0 to 1.
type course func(r *rand.Rand, x, y []float64)

// autoregressive is noise of variance 1/(1-phi²) at each reading; at phi 1, a walk.
func autoregressive(phi float64, f noise) course {
	return func(r *rand.Rand, _, y []float64) {
		v := 0.0
		if phi < 1 {
			v = f(r) / math.Sqrt(1-phi*phi)
		}
		for i := range y {
			y[i] += v
			v = phi*v + f(r)
		}
	}
}

var noises = []course{
	autoregressive(0, normal), autoregressive(0, student3), autoregressive(0.5, normal), autoregressive(0.8, normal),
}

// on adds what f gives to noise of one of four kinds. It is a to 1000 times the noise
// of a reading.
func on(f func(r *rand.Rand, a float64, n int) func(x float64) float64) course {
	return func(r *rand.Rand, x, y []float64) {
		noises[r.IntN(len(noises))](r, x, y)
		g := f(r, between(r, 1, 1000), len(y))
		for i := range y {
			y[i] += g(x[i])
		}
	}
}

// between is log-uniform.
func between(r *rand.Rand, lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }

func step(x, at float64) float64 {
	if x < at {
		return 0
	}
	return 1
}

func ramp(end float64) course {
	return on(func(_ *rand.Rand, a float64, _ int) func(float64) float64 {
		return func(x float64) float64 { return a * min(1, x/end) }
	})
}

func approach(tau float64) course {
	return on(func(_ *rand.Rand, a float64, _ int) func(float64) float64 {
		return func(x float64) float64 { return a * (1 - math.Exp(-x/tau)) }
	})
}

// tooth is a saw with a period of lo to hi of the window, but no less than two and a
// half readings, and at least one fall.
func tooth(lo, hi float64) course {
	return on(func(r *rand.Rand, a float64, n int) func(float64) float64 {
		least := 2.5 / float64(n)
		p, from := between(r, max(lo, least), max(hi, 2*least)), r.Float64()
		if p > 0.98 {
			from = 1 - (0.01+0.98*r.Float64())/p
		}
		return func(x float64) float64 { return a * math.Mod(from+x/p, 1) }
	})
}

// notGrowing are the worlds without steady growth.
var notGrowing = []struct {
	name   string
	course course
	often  float64 // where a false alarm cannot be had in less than 1 of 1,000: most of them, at any length
}{
	{"white noise", noises[0], 0},
	{"student 3 df", noises[1], 0},
	{"phi 0.5", noises[2], 0},
	{"phi 0.9", autoregressive(0.9, normal), 0},
	{"random walk", autoregressive(1, normal), 0},
	{"outliers", func(r *rand.Rand, x, y []float64) {
		for i := range y {
			y[i] = r.NormFloat64()
			if r.Float64() < 0.03 {
				y[i] += between(r, 10, 1000)
			}
		}
	}, 0},
	{"step", on(func(r *rand.Rand, a float64, _ int) func(float64) float64 {
		at := r.Float64()
		return func(x float64) float64 { return a * step(x, at) }
	}), 0},
	{"two steps", on(func(r *rand.Rand, a float64, _ int) func(float64) float64 {
		b, at, then := between(r, 1, 1000), r.Float64(), r.Float64()
		return func(x float64) float64 { return a*step(x, at) + b*step(x, then) }
	}), 0},
	{"two equal steps", on(func(r *rand.Rand, a float64, _ int) func(float64) float64 {
		at, then := r.Float64(), r.Float64()
		return func(x float64) float64 { return a*step(x, at) + a*step(x, then) }
	}), 0},
	{"ramp to 0.1", ramp(0.1), 0},
	{"ramp to 0.3", ramp(0.3), 0},
	{"ramp to 0.5", ramp(0.5), 0},
	{"ramp to 0.7", ramp(0.7), 0},
	{"ramp to 0.8", ramp(0.8), 0},
	{"ramp to 0.85", ramp(0.85), 0.025},
	{"ramp to 0.9", ramp(0.9), 0.1},
	{"ramp to 0.95", ramp(0.95), 0.45},
	{"approach, tau 0.1", approach(0.1), 0},
	{"approach, tau 0.3", approach(0.3), 0},
	{"approach, tau 0.5", approach(0.5), 0},
	{"approach, tau 1", approach(1), 0.002},
	{"approach, tau 2", approach(2), 0.5},
	{"saw, many teeth", tooth(0, 0.1), 0},
	{"saw, 3 to 10 teeth", tooth(0.1, 0.3), 0},
	{"saw, 1 to 4 teeth", tooth(0.25, 1), 0},
	{"saw, about 1 tooth", tooth(0.9, 1.1), 0},
	{"clean saw", func(r *rand.Rand, x, y []float64) {
		p, from, e := between(r, 2.5/float64(len(y)), 0.45), r.Float64(), between(r, 1e-6, 0.1)
		for i := range y {
			y[i] = math.Mod(from+x[i]/p, 1) + e*r.NormFloat64()
		}
	}, 0},
	{"oscillation", on(func(r *rand.Rand, a float64, n int) func(float64) float64 {
		p, from := between(r, max(0.02, 2.5/float64(n)), 1), 7*r.Float64()
		return func(x float64) float64 { return a * math.Sin(from+2*math.Pi*x/p) }
	}), 0},
	{"settling", on(func(r *rand.Rand, a float64, _ int) func(float64) float64 {
		a, tau := math.Copysign(a, r.Float64()-0.5), between(r, 0.01, 0.2)
		return func(x float64) float64 { return a * math.Exp(-x/tau) }
	}), 0},
	{"cache fills, then a saw", on(func(r *rand.Rand, a float64, n int) func(float64) float64 {
		full, b, p := 0.7*r.Float64(), between(r, 1, 100), between(r, max(0.02, 2.5/float64(n)), 0.5)
		return func(x float64) float64 { return a*min(1, x/full) + b*math.Mod(x/p, 1) }
	}), 0},
	{"whole MiB", func(r *rand.Rand, x, y []float64) {
		noises[r.IntN(len(noises))](r, x, y)
		q, from := between(r, 0.3, 30), r.Float64()
		for i := range y {
			y[i] = 1 << 20 * math.Round(y[i]/q+from)
		}
	}, 0},
	{"counts", func(r *rand.Rand, x, y []float64) {
		mean := between(r, 0.1, 30)
		for i := range y {
			y[i] = max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
		}
	}, 0},
	{"constant", func(r *rand.Rand, x, y []float64) {
		v := math.Round(between(r, 0.1, 1e9))
		for i := range y {
			y[i] = v
		}
	}, 0},
}

// instants are n times: regular, or with exponential gaps.
func instants(r *rand.Rand, n int, regular bool) (x, at []float64) {
	x, at = make([]float64, n), make([]float64, n)
	for i := range x {
		if i > 0 {
			x[i] = x[i-1] + 1
			if !regular {
				x[i] = x[i-1] + 0.05 + r.ExpFloat64()
			}
		}
	}
	for i := range x {
		x[i] /= x[n-1]
		at[i] = 1e6 + 60*x[i]
	}
	return x, at
}

// trendLengths are the readings of the simulated series, and how many of n.
func trendLengths(short int) map[int]int {
	if *full {
		return map[int]int{8: 10_000, 20: 10_000, 60: 10_000, 300: 10_000, 5000: 2000}
	}
	return map[int]int{8: short, 20: short, 60: short, 300: short}
}

// Of what does not grow steadily, at most 1 of 1,000 is said to.
func TestTrendFalseAlarms(t *testing.T) {
	for w, world := range notGrowing {
		for n, count := range trendLengths(100) {
			t.Run(fmt.Sprintf("%s/%d", world.name, n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(5000+w), uint64(n)))
				shapes := make(map[Shape]int)
				for i := range count {
					x, at := instants(r, n, i%2 == 0)
					y := make([]float64, n)
					world.course(r, x, y)
					shapes[TrendOf(at, y).Shape]++
				}
				t.Logf("of %d: %v", count, shapes)
				allowed := max(0.001, world.often) * float64(count)
				if got := float64(shapes[Growing]); got > allowed+3*math.Sqrt(allowed)+1 {
					t.Errorf("%v of %d are said to grow, want at most %.4g", got, count, allowed)
				}
			})
		}
	}
}

// growing are the worlds whose noise a leak is added to. Another series of the same
// noise has another phase.
var growing = []struct {
	name   string
	course course
	whole  bool // readings are whole numbers
	least  int  // readings, of a saw that can be seen in them
}{
	{"white noise", noises[0], false, 8},
	{"student 3 df", noises[1], false, 8},
	{"phi 0.5", noises[2], false, 8},
	{"phi 0.8", noises[3], false, 8},
	{"random walk", autoregressive(1, normal), false, 8},
	{"whole numbers", noises[0], true, 8},
	{"nothing, in whole numbers", func(r *rand.Rand, _, y []float64) {
		v := r.Float64()
		for i := range y {
			y[i] = 7.5 + v
		}
	}, true, 8},
	{"saw of 6 teeth", sawNoise(0.15), false, 20},
	{"saw of 20 teeth", sawNoise(0.05), false, 60},
}

func sawNoise(p float64) course {
	return func(r *rand.Rand, x, y []float64) {
		from := r.Float64()
		for i := range y {
			y[i] = math.Mod(from+x[i]/p, 1) + 0.02*r.NormFloat64()
		}
	}
}

// A leak of what one series says to be detectable is found in another of its kind.
func TestTrendPower(t *testing.T) {
	for w, world := range growing {
		for n, count := range trendLengths(200) {
			if n < world.least {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", world.name, n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(6000+w), uint64(n)))
				x, at := instants(r, n, true)
				found, leak := 0, 0.0
				least := 0.0
				for i := range count + 1 {
					y := make([]float64, n)
					world.course(r, x, y)
					leaking := make([]float64, n)
					for i, v := range y {
						leaking[i] = v + leak*(at[i]-at[0])
						if world.whole {
							leaking[i], y[i] = math.Floor(leaking[i]), math.Floor(y[i])
						}
					}
					if i > 0 && TrendOf(at, leaking).Shape == Growing {
						found++
					}
					leak = TrendOf(at, y).Detectable
					least += math.Log(60*leak) / float64(count+1)
				}
				got := float64(found) / float64(count)
				t.Logf("a leak of %.3g in the window is found in %.2f %% of %d", math.Exp(least), 100*got, count)
				if got < 0.95-3*math.Sqrt(0.05*0.95/float64(count)) {
					t.Errorf("found in %.3f, want 0.95", got)
				}
			})
		}
	}
}

// The 95 % interval of the slope holds 0 in 93 to 98 % of series without one.
func TestTrendCoverage(t *testing.T) {
	for _, n := range []int{30, 60, 300} {
		for _, phi := range []float64{0, 0.5, 0.8} {
			t.Run(fmt.Sprintf("phi %v/%d", phi, n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(7000, uint64(n)))
				x, at := instants(r, n, true)
				f, in := autoregressive(phi, normal), 0
				count := often(1000, 10_000)
				for range count {
					y := make([]float64, n)
					f(r, x, y)
					if got := TrendOf(at, y); got.Lo <= 0 && 0 <= got.Hi {
						in++
					}
				}
				got := float64(in) / float64(count)
				t.Logf("covers %.2f %%", 100*got)
				if got < 0.925 || got > 0.985 {
					t.Errorf("covers %.4f, want 0.93 to 0.98", got)
				}
			})
		}
	}
}
