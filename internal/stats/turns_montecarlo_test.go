package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A turnOrder returns the settings that have their turns, round after round.
type turnOrder struct {
	name  string
	order func(r *rand.Rand, settings, rounds int) []int
}

// turnOrders are the orders that were weighed for blocks side by side.
var turnOrders = []turnOrder{
	{"mirrored at random", func(r *rand.Rand, settings, rounds int) (turns []int) {
		for range rounds / 2 {
			round := r.Perm(settings)
			turns = append(turns, round...)
			slices.Reverse(round)
			turns = append(turns, round...)
		}
		return turns
	}},
	{"at random", func(r *rand.Rand, settings, rounds int) (turns []int) {
		for range rounds {
			turns = append(turns, r.Perm(settings)...)
		}
		return turns
	}},
	{"twice mirrored at random", func(r *rand.Rand, settings, rounds int) (turns []int) { // ABBABAAB
		for range rounds / 4 {
			there := r.Perm(settings)
			back := slices.Clone(there)
			slices.Reverse(back)
			turns = slices.Concat(turns, there, back, back, there)
		}
		return turns
	}},
	{"always ABBA", func(_ *rand.Rand, settings, rounds int) (turns []int) {
		for n := range rounds {
			for i := range settings {
				if n%2 == 1 {
					i = settings - 1 - i
				}
				turns = append(turns, i)
			}
		}
		return turns
	}},
	{"always ABAB", func(_ *rand.Rand, settings, rounds int) (turns []int) {
		for range rounds {
			for i := range settings {
				turns = append(turns, i)
			}
		}
		return turns
	}},
}

// A disturbance fills in by how much turns cost more, about 0 and 1 in size.
type disturbance struct {
	name  string
	noise bool // without a shape that an order could follow
	fill  func(r *rand.Rand, x []float64)
}

// wave has so many turns a period. Its phase at the block's begin is given, as if a timer
// of the launch made it, or any if NaN.
func wave(period, phase float64) func(*rand.Rand, []float64) {
	return func(r *rand.Rand, x []float64) {
		at := phase
		if math.IsNaN(at) {
			at = r.Float64()
		}
		for i := range x {
			x[i] = math.Sqrt2 * math.Sin(2*math.Pi*(float64(i)/period+at))
		}
	}
}

func disturbances(settings, turns int) []disturbance {
	ds := []disturbance{
		{"white", true, each(normal)},
		{"Student's t, 3 df", true, each(func(r *rand.Rand) float64 { return student3(r) / math.Sqrt(3) })},
		{"autocorrelated 0.8", true, func(r *rand.Rand, x []float64) {
			at := r.NormFloat64()
			for i := range x {
				at = 0.8*at + 0.6*r.NormFloat64()
				x[i] = at
			}
		}},
		{"drift", false, func(_ *rand.Rand, x []float64) {
			for i := range x {
				x[i] = math.Sqrt(12) * (float64(i)/float64(len(x)) - 0.5)
			}
		}},
		{"warming up", false, func(_ *rand.Rand, x []float64) { // falls by a factor of e in a tenth of the block
			for i := range x {
				x[i] = 5 * math.Exp(-10*float64(i)/float64(len(x)))
			}
		}},
		{"bursts", true, func(r *rand.Rand, x []float64) { // one turn in ten begins one, of five turns in the mean
			on := false
			for i := range x {
				x[i] = 0
				if on = on && r.IntN(5) > 0 || r.IntN(10) == 0; on {
					x[i] = 2
				}
			}
		}},
	}
	seen := map[float64]bool{}
	n := float64(settings)
	for _, period := range []float64{2, 3.3, 4, n, 2 * n, 7.3, 4 * n, float64(turns) / 3} {
		if seen[period] {
			continue
		}
		seen[period] = true
		ds = append(ds, disturbance{fmt.Sprintf("period of %.3g", period), false, wave(period, math.NaN())})
		for phase := range 8 {
			ds = append(ds, disturbance{fmt.Sprintf("locked period of %.3g", period), false, wave(period, float64(phase)/8)})
		}
	}
	return ds
}

// turnSize is what a disturbance makes of a turn's cost.
const turnSize = 0.1

// A block's log ratio is that of the totals of the turns of two settings. In random order,
// mirrored, it has no bias whatever disturbs it, what drifts is no noise, and the rest is no
// more noise than in an order at random; orders that are always the same keep step with some
// period.
func TestTurnOrders(t *testing.T) {
	blocks := often(400, 20000)
	const rounds = 40
	for _, settings := range []int{2, 3, 5} {
		for n, d := range disturbances(settings, settings*rounds) {
			said := fmt.Sprintf("%d settings, %-22s", settings, d.name)
			biases, sds := map[string]float64{}, map[string]float64{}
			for _, o := range turnOrders {
				r := rand.New(rand.NewPCG(8000+uint64(n), uint64(settings)))
				x := make([]float64, settings*rounds)
				ratios := make([]float64, blocks)
				for b := range ratios {
					d.fill(r, x)
					totals := make([]float64, settings)
					for i, who := range o.order(r, settings, rounds) {
						totals[who] += max(0, 1+turnSize*x[i])
					}
					ratios[b] = math.Log(totals[1] / totals[0])
				}
				bias, variance := meanVar(ratios)
				sd := math.Sqrt(variance)
				biases[o.name], sds[o.name] = bias, sd
				said += fmt.Sprintf("  %s: %+.2f ± %.2f %%", o.name, 100*bias, 100*sd)
			}
			t.Log(said)
			mirrored, random := sds["mirrored at random"], sds["at random"]
			if bias := math.Abs(biases["mirrored at random"]); bias > 4*mirrored/math.Sqrt(float64(blocks))+1e-9 {
				t.Errorf("%d settings, %s: mirrored at random, a bias of %v", settings, d.name, bias)
			}
			switch {
			case d.name == "drift" && mirrored > 1e-9, d.name == "warming up" && mirrored > random/3, d.noise && mirrored > 1.3*random:
				t.Errorf("%d settings, %s: mirrored at random %v, at random %v", settings, d.name, mirrored, random)
			}
			if d.name == "period of 4" && settings == 2 && sds["always ABBA"] < 0.1 {
				t.Errorf("always ABBA keeps no step with a period of 4 turns: %v", sds["always ABBA"])
			}
		}
	}
}
