package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sliceNoises are what the slices of one process meet besides white noise of deviation 1, slice by slice.
var sliceNoises = []struct {
	name string
	make func(r *rand.Rand) func(i int) float64
}{
	{"white", func(*rand.Rand) func(int) float64 { return func(int) float64 { return 0 } }},
	{"linear drift of 0.5 a slice", func(*rand.Rand) func(int) float64 { return func(i int) float64 { return 0.5 * float64(i) } }},
	{"random walk, 0.7 a slice", func(r *rand.Rand) func(int) float64 {
		x := 0.0
		return func(int) float64 { x += 0.7 * r.NormFloat64(); return x }
	}},
	{"autocorrelated, 0.8", func(r *rand.Rand) func(int) float64 {
		x := r.NormFloat64()
		return func(int) float64 { x = 0.8*x + 0.6*r.NormFloat64(); return x }
	}},
	{"bursts of 1 to 8 slices, 5", func(r *rand.Rand) func(int) float64 {
		left := 0
		return func(int) float64 {
			if left > 0 {
				left--
				return 5
			} else if r.IntN(20) == 0 {
				left = r.IntN(8)
				return 5
			}
			return 0
		}
	}},
	{"a sine of four slices, amplitude 2", func(r *rand.Rand) func(int) float64 {
		phase := 2 * math.Pi * r.Float64()
		return func(i int) float64 { return 2 * math.Sin(math.Pi/2*float64(i)+phase) }
	}},
}

// The order of slices that doc/method/turns.md takes (every second pair mirrors the one before, at random) keeps its
// promise where a strict ABBA does not, and costs no width.
func TestSliceOrders(t *testing.T) {
	runs := often(400, 4000)
	for n, d := range sliceNoises {
		line := fmt.Sprintf("| %s |", d.name)
		for m, order := range []string{"ABBA", "ABBA or BAAB", "random", "four"} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(m)))
			covered, width := 0, 0.0
			for range runs {
				half, in := slicesOnce(r, d.make(r), order)
				width += half / float64(runs)
				if in {
					covered++
				}
			}
			share := float64(covered) / float64(runs)
			line += fmt.Sprintf(" %.1f %%, %.2f |", 100*share, width)
			if order == "ABBA or BAAB" && n < len(sliceNoises)-1 && 1-share > atMost(0.06, runs) {
				t.Errorf("%s, %s: covers in %.1f %%", d.name, order, 100*share)
			}
		}
		t.Log(line)
	}
}

// slicesOnce is the half-width of the interval of 48 pairs of slices without a difference, and whether it covers 0.
func slicesOnce(r *rand.Rand, at func(int) float64, order string) (half float64, in bool) {
	const pairs = 48
	var diffs []float64
	first := 1.0
	for p := range pairs {
		switch {
		case order == "ABBA":
			first = 1 - 2*float64(p%2)
		case order == "random" || p%2 == 0:
			first = 1 - 2*float64(r.IntN(2))
		default:
			first = -first
		}
		a, b := at(2*p)+r.NormFloat64(), at(2*p+1)+r.NormFloat64()
		diffs = append(diffs, first*(a-b))
	}
	if order == "four" {
		for i := range pairs / 2 {
			diffs[i] = (diffs[2*i] + diffs[2*i+1]) / 2
		}
		diffs = diffs[:pairs/2]
	}
	mean, squares := 0.0, 0.0
	for _, d := range diffs {
		mean += d / float64(len(diffs))
	}
	for _, d := range diffs {
		squares += (d - mean) * (d - mean)
	}
	n := float64(len(diffs))
	half = quantileT(0.05, n-1) * math.Sqrt(squares/(n-1)/n)
	return half, math.Abs(mean) <= half
}
