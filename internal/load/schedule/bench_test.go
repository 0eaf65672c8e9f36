package schedule

import (
	"testing"

	"github.com/dynolab/dyno"
)

// BenchmarkEvery is what one of 100 generators pays for each due time of the whole load.
func BenchmarkEvery(b *testing.B) {
	rate := dyno.PerSecond(1e6)
	for name, s := range map[string]Times{"constant": Constant(rate), "poisson": Poisson(rate, 1, 0)} {
		b.Run(name, func(b *testing.B) {
			next := Every(s, 0, 100)
			for b.Loop() {
				next()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/due")
		})
	}
}
