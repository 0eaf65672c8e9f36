package look

import (
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno/internal/stats"
)

// A sample is an answered request: when it was done since the load began, and its latency, in seconds.
type sample struct{ at, latency float64 }

// How a look is parted.
const (
	slice    = 0.1 // seconds, or longer if that has fewer requests than fewest
	fewest   = 20
	smoothed = 5   // slices: a stall in one of them is no drift
	parted   = 20  // slices, at least
	around   = 0.1 // of the level: what is less off is level
	strayed  = 4.0 // deviations: or what noise explains
)

// A course is how response times went.
type course int

const (
	level   course = iota
	falling        // to the end: the service gets faster, so it is not warm
	rising         // no warm-up makes that level
	unknown        // too few requests to tell, or the machine is disturbed
)

// steadyAfter returns after what time response times stay at the level that they have in the last half of a look.
func steadyAfter(samples []sample, length time.Duration) (after time.Duration, c course) {
	values, each := slicesOf(samples, length.Seconds())
	if len(values) < parted {
		return 0, unknown
	}
	smooth := make([]float64, len(values)-smoothed+1) // of which i ends with slice i+smoothed-1
	for i := range smooth {
		smooth[i] = stats.Median(values[i : i+smoothed])
	}
	half := values[len(values)/2:]
	at, noise := stats.Median(half), deviation(half)
	if math.IsInf(at, 0) { // answers come in bursts
		return 0, unknown
	}
	quarter := len(half) / 2
	drift := stats.Median(half[quarter:]) - stats.Median(half[:quarter])
	switch most := max(around/2*at, strayed*noise*math.Sqrt(2/float64(quarter))); {
	case drift > most:
		return 0, rising
	case drift < -most:
		return 0, falling
	}
	from := 0
	for i, v := range smooth {
		if math.Abs(v-at) > max(around*at, strayed*noise/math.Sqrt(smoothed/2)) {
			from = i + 1
		}
	}
	switch {
	case from == 0:
		return 0, level
	case from > len(values)/2:
		return 0, unknown
	}
	return time.Duration(float64(from+smoothed/2) * each * float64(time.Second)), level
}

// slicesOf are the mean latencies of equal parts of a look, without the slowest tenth of their requests, and how long such a part is.
func slicesOf(samples []sample, length float64) (values []float64, each float64) {
	if len(samples) == 0 {
		return nil, 0
	}
	each = max(slice, fewest*length/float64(len(samples)))
	parts := make([][]float64, int(length/each))
	for _, s := range samples {
		if i := int(s.at / each); i >= 0 && i < len(parts) {
			parts[i] = append(parts[i], s.latency)
		}
	}
	for _, part := range parts {
		if len(part) == 0 { // a stall: none was done
			values = append(values, math.Inf(1))
			continue
		}
		slices.Sort(part)
		part = part[:max(1, len(part)*9/10)]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		values = append(values, sum/float64(len(part)))
	}
	return values, each
}

// deviation estimates the standard deviation of values around whatever course they have, from the median of what two neighbours are
// apart (von Neumann 1941; the median as in Hampel 1974).
func deviation(values []float64) float64 {
	var apart []float64
	for i := 1; i < len(values); i++ {
		if d := math.Abs(values[i] - values[i-1]); !math.IsNaN(d) {
			apart = append(apart, d)
		}
	}
	return 1.4826 * stats.Median(apart) / math.Sqrt2
}
