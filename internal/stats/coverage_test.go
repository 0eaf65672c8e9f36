package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The 95 % intervals hold the truth in 93 to 98 % of experiments.
func TestCoverage(t *testing.T) {
	experiments := often(6000, 20000)
	for i, x := range trials {
		for _, blocks := range []int{6, 10, 20} {
			for _, settings := range []int{2, 5} {
				t.Run(fmt.Sprintf("%s/%d blocks/%d settings", x.name, blocks, settings), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(uint64(3000+i), uint64(100*blocks+settings)))
					var ratio, median covered
					m := make([][]float64, blocks)
					for b := range m {
						m[b] = make([]float64, settings)
					}
					one := make([]float64, blocks)
					for range experiments {
						for b, row := range m {
							for j := range row {
								row[j] = x.value(r) * float64(1+j) // true ratios 2, 3, …
							}
							one[b] = row[0]
						}
						for j, c := range fixed(m) {
							ratio.add(j+1, c.Lo <= float64(j+2) && float64(j+2) <= c.Hi)
						}
						s := Summarize(one)
						median.add(0, s.Lo <= x.median && x.median <= s.Hi)
					}
					ratio.check(t, "ratio of setting")
					median.check(t, "median of setting")
				})
			}
		}
	}
}

// The intervals hold also where one setting deviates more than the others and
// where the machine drifts.
func TestCoverageUnequal(t *testing.T) {
	experiments := often(3000, 8000)
	for _, blocks := range []int{6, 10, 20} {
		for noisy := range 2 {
			t.Run(fmt.Sprintf("%d blocks/setting %d x3", blocks, noisy), func(t *testing.T) {
				t.Parallel()
				w := null(blocks)
				w.metrics, w.noisy, w.times = 1, noisy, 3
				w.walk, w.slope, w.perBlock = 1, 0.5, true
				var ratio covered
				w.simulate(experiments, uint64(4000+blocks+noisy), func(m [][][]float64) {
					for j, c := range fixed(m[0]) {
						ratio.add(j+1, c.Lo <= 1 && 1 <= c.Hi)
					}
				})
				ratio.check(t, "ratio of setting")
			})
		}
	}
}
