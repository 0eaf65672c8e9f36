package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// binned counts values as dyno's histogram does: whole nanoseconds to three digits.
func binned(values []float64) []Bin {
	counts := map[[2]int64]int64{}
	for _, v := range values {
		n := max(int64(v), 0)
		shift := max(bits.Len64(uint64(n))-11, 0)
		lo := n >> shift << shift
		counts[[2]int64{lo, lo + 1<<shift}]++
	}
	var bins []Bin
	for b, c := range counts {
		bins = append(bins, Bin{float64(b[0]), float64(b[1]), c})
	}
	slices.SortFunc(bins, func(a, b Bin) int { return int(a.Lo - b.Lo) })
	return bins
}

func sample(n int, rng *rand.Rand, draw func(*rand.Rand) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = draw(rng)
	}
	return values
}

// gammaOf draws from a gamma distribution of a whole shape.
func gammaOf(rng *rand.Rand, shape int) float64 {
	sum := 0.0
	for range shape {
		sum += rng.ExpFloat64()
	}
	return sum
}

const ms = 1e6 // ns

// unimodal are distributions of one mode on the logarithmic scale, in nanoseconds.
var unimodal = map[string]func(*rand.Rand) float64{
	"log-normal":        func(r *rand.Rand) float64 { return ms * math.Exp(0.4*r.NormFloat64()) },
	"narrow log-normal": func(r *rand.Rand) float64 { return 20 * ms * math.Exp(0.002*r.NormFloat64()) },
	"wide log-normal":   func(r *rand.Rand) float64 { return ms * math.Exp(2*r.NormFloat64()) },
	"exponential":       func(r *rand.Rand) float64 { return ms * r.ExpFloat64() },
	"shifted":           func(r *rand.Rand) float64 { return ms * (5 + r.ExpFloat64()) },
	"gamma":             func(r *rand.Rand) float64 { return ms * gammaOf(r, 4) },
	"normal":            func(r *rand.Rand) float64 { return ms * (10 + r.NormFloat64()) },
	"Pareto":            func(r *rand.Rand) float64 { return 0.2 * ms / math.Pow(r.Float64(), 1/1.2) },
	"uniform":           func(r *rand.Rand) float64 { return ms * (1 + 9*r.Float64()) },
	"uniform of log":    func(r *rand.Rand) float64 { return ms * math.Exp(3*r.Float64()) },
	"Student": func(r *rand.Rand) float64 { // log of t with 2 degrees of freedom
		return ms * math.Exp(0.1*r.NormFloat64()/math.Sqrt(r.ExpFloat64()))
	},
	"two that overlap": func(r *rand.Rand) float64 {
		return ms * math.Exp(0.3*r.NormFloat64()+0.5*float64(r.IntN(2)))
	},
	"body and tail": func(r *rand.Rand) float64 { // no valley between them
		if r.Float64() < 0.1 {
			return ms * (1 + 4*r.ExpFloat64())
		}
		return ms * math.Exp(0.15*r.NormFloat64())
	},
	"whole ms": func(r *rand.Rand) float64 { return ms * math.Round(3*math.Exp(0.5*r.NormFloat64())) },
	"whole ms, cut": func(r *rand.Rand) float64 {
		return ms * math.Floor(3*math.Exp(0.5*r.NormFloat64()))
	},
	"whole ms of exponential": func(r *rand.Rand) float64 { return ms * math.Round(4*r.ExpFloat64()) },
	"whole ms of gamma":       func(r *rand.Rand) float64 { return ms * math.Round(5*gammaOf(r, 4)) },
	"few ns":                  func(r *rand.Rand) float64 { return 40 * math.Exp(0.3*r.NormFloat64()) },
}

// A distribution of one mode has one, whatever its shape, however it is counted.
func TestModesNoFalse(t *testing.T) {
	for name, draw := range unimodal {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(len(name))))
			sets := map[int]int{100: 60, 1000: 40, 10_000: 10, 100_000: 1}
			if *full {
				sets = map[int]int{100: 1000, 1000: 1000, 10_000: 400, 100_000: 60, 1_000_000: 6}
			}
			for n, times := range sets {
				for range times {
					if modes := Modes(binned(sample(n, rng, draw))); len(modes) != 1 || modes[0].Frac != 1 {
						t.Errorf("%d values have %d modes: %+v", n, len(modes), modes)
					}
				}
			}
		})
	}
}

// mixture draws from log-normal components of the same spread.
func mixture(spread float64, at, frac []float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		u, i := r.Float64(), 0
		for i < len(frac)-1 && u >= frac[i] {
			u -= frac[i]
			i++
		}
		return at[i] * math.Exp(spread*r.NormFloat64())
	}
}

func TestModesFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, of    int // found in all of so many
		spread   float64
		at, frac []float64
	}{
		{"twice as slow, 5 %", 5000, 100, 0.1, []float64{ms, 2 * ms}, []float64{0.95, 0.05}},
		{"twice as fast, 5 %", 5000, 100, 0.1, []float64{ms, 2 * ms}, []float64{0.05, 0.95}},
		{"twice as slow, 5 %, many", 100_000, 5, 0.12, []float64{ms, 2 * ms}, []float64{0.95, 0.05}},
		{"2 %", 20_000, 20, 0.1, []float64{ms, 8 * ms}, []float64{0.98, 0.02}},
		{"7 %", 2000, 100, 0.2, []float64{1.1 * ms, 8.4 * ms}, []float64{0.93, 0.07}},
		{"half", 200, 100, 0.1, []float64{ms, 2 * ms}, []float64{0.5, 0.5}},
		{"three", 5000, 20, 0.1, []float64{ms, 3 * ms, 30 * ms}, []float64{0.5, 0.4, 0.1}},
		{"near", 100_000, 5, 0.02, []float64{ms, 1.1 * ms}, []float64{0.7, 0.3}},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		missed := 0
		for range c.of {
			modes := Modes(binned(sample(c.n, rng, mixture(c.spread, c.at, c.frac))))
			if len(modes) != len(c.at) {
				missed++
				continue
			}
			for i, m := range modes {
				if math.Abs(math.Log(m.At/c.at[i])) > c.spread || math.Abs(m.Frac-c.frac[i]) > 4*math.Sqrt(c.frac[i]/float64(c.n))+0.002 {
					t.Errorf("%s: mode %+v, want %v with %v", c.name, m, c.at[i], c.frac[i])
				}
			}
		}
		if missed > 0 {
			t.Errorf("%s: missed in %d of %d", c.name, missed, c.of)
		}
	}
}

// What is significant and does not matter is none: a mode of less than 1 %, a
// shallow valley.
func TestModesThatDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, draw := range []func(*rand.Rand) float64{
		mixture(0.1, []float64{ms, 8 * ms}, []float64{0.993, 0.007}),
		mixture(0.1, []float64{ms, 1.25 * ms}, []float64{0.5, 0.5}),
		mixture(0.1, []float64{ms, 8 * ms, 20 * ms}, []float64{0.993, 0.004, 0.003}),
	} {
		if modes := Modes(binned(sample(300_000, rng, draw))); len(modes) != 1 {
			t.Errorf("%+v", modes)
		}
	}
}

func TestModesOfLittle(t *testing.T) {
	for _, c := range []struct {
		bins []Bin
		want []Mode
	}{
		{nil, nil},
		{[]Bin{{1, 2, 0}}, nil},
		{[]Bin{{1, 2, 1}}, []Mode{{At: math.Sqrt2, Frac: 1, Lo: 1, Hi: 2}}},
		{[]Bin{{0, 1, 5}}, []Mode{{Frac: 1, Hi: 1}}},
		{[]Bin{{0, 1, 5}, {1000, 1001, 5}}, nil},
		{[]Bin{{5, 5, 3}, {7, 7, 3}}, nil},
	} {
		got := Modes(c.bins)
		if len(got) > 1 || len(got) == 1 && (math.IsNaN(got[0].At) || math.IsNaN(got[0].Lo) || got[0].Frac != 1) {
			t.Errorf("%v: %+v", c.bins, got)
		}
		if c.want != nil && (math.Abs(got[0].At-c.want[0].At) > 1e-9 && c.want[0].At != 0 || got[0].Hi != c.want[0].Hi) {
			t.Errorf("%v: %+v, want %+v", c.bins, got, c.want)
		}
	}
}
