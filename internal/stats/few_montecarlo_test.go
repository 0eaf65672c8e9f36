package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Intervals of three to five blocks hold in 95 % of runs, whatever noise with one mode, and in more than the chance that all blocks lie
// on one side leaves where it has two.
func TestFewCover(t *testing.T) {
	runs := often(20_000, 400_000)
	for _, x := range []struct {
		name  string
		draw  func(r *rand.Rand) float64
		modes int
	}{
		{"normal", normal, 1},
		{"uniform", func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }, 1},
		{"student 3 df", student3, 1},
		{"Cauchy", func(r *rand.Rand) float64 { return r.NormFloat64() / r.NormFloat64() }, 1},
		{"Laplace", func(r *rand.Rand) float64 { return r.ExpFloat64() * float64(2*r.IntN(2)-1) }, 1},
		{"of two widths", func(r *rand.Rand) float64 { return r.NormFloat64() * math.Pow(10, float64(r.IntN(2))) }, 1},
		{"uniform of two widths", func(r *rand.Rand) float64 { return (2*r.Float64() - 1) * math.Pow(3, float64(r.IntN(2))) }, 1},
		{"two modes", func(r *rand.Rand) float64 { return 5*float64(2*r.IntN(2)-1) + r.NormFloat64() }, 2},
	} {
		for n := FewBlocks; n < RankBlocks; n++ {
			held := 0
			r := rand.New(rand.NewPCG(7, uint64(n)))
			d := make([]float64, n)
			for range runs {
				for i := range d {
					d[i] = 0.01 * x.draw(r)
				}
				if c := CompareRanks(d, true, nil); c.Lo <= 1 && 1 <= c.Hi {
					held++
				}
			}
			got, want := float64(held)/float64(runs), 0.95
			if x.modes > 1 {
				want = 1 - math.Ldexp(1, 1-n)
			}
			t.Logf("%-21s %d blocks: %.1f %%", x.name, n, 100*got)
			if got < want-3*math.Sqrt(want*(1-want)/float64(runs)) {
				t.Errorf("%s, %d blocks: %.2f %% of the intervals hold, want %.2f", x.name, n, 100*got, 100*want)
			}
		}
	}
}
