package conform

import (
	"math/rand/v2"
	"time"

	"github.com/dynolab/dyno"
)

// due are the times of a schedule, made without package load.
func due(l dyno.Load) (all []time.Duration) {
	rng := rand.New(rand.NewPCG(l.Seed, 0))
	n := 0.0
	for i := 0; ; i++ {
		if l.Arrival == "poisson" {
			n += rng.ExpFloat64()
		} else {
			n = float64(i)
		}
		at, ok := l.Rate.Due(n)
		if !ok || at >= time.Duration(l.Duration) {
			return all
		}
		all = append(all, at)
	}
}
