package analysis

import (
	"math"

	"github.com/dynolab/dyno"
)

// sampled tells of samples that are too short, or of too little.
func (run *benchRun) sampled(d *benchData, row *Benchmark, say sayer) {
	if row.Blocks == 0 || row.N == 0 || len(row.Units) == 0 || row.Units[0].Name != "sec/op" {
		return
	}
	shortest := math.Inf(1)
	for _, x := range run.table.Settings {
		if c, ok := x.Values[row.Units[0].Key]; ok {
			shortest = min(shortest, c.Center*float64(row.N))
		}
	}
	if shortest >= 0 && shortest < shortSample {
		say(pitShort, "a sample of %s takes %s", count(float64(row.N), "iteration"), nice(shortest))
		return
	}
	launches, samples := 0, 0
	for _, block := range d.blocks {
		if block[0] != nil {
			for _, l := range block[0].Launches {
				if len(l) > 0 {
					launches++
					samples += len(l)
				}
			}
		}
	}
	if row.N == 1 && launches > 0 && samples <= fewSamples*launches {
		say(pitFew, "%s an iteration, %s a launch", nice(run.table.Settings[0].Values[row.Units[0].Key].Center), count(math.Round(float64(samples)/float64(launches)), "sample"))
	}
}

// noise tells of what blurs sec/op: between launches, or between samples.
func (run *benchRun) noise(d *benchData, row *Benchmark, say sayer) {
	if row.Blocks == 0 {
		return
	}
	for i := range run.settings[1:] {
		between, within, pair, launches := d.spread(i + 1)
		switch {
		case launches < launchesLeast:
		case between >= launchSpread && between >= launchTimes*within:
			say(pitMemory, "launches deviate by %s, and their samples explain %s", percent(between), percent(within))
			return
		case pair > pairSpread:
			say(pitNoisy, "half of the pairs of samples deviate by more than %s", percent(pair))
			return
		}
	}
}

// spread tells of setting i beside the baseline how the launches' medians deviate, how
// much of that their samples explain, and how far a pair is from its launch's median
// at the median: log ratios all, so about fractions.
func (d *benchData) spread(i int) (between, within, pair float64, launches int) {
	var medians, errors, far []float64
	for _, block := range d.blocks {
		if !positive(block[0], block[i]) {
			continue
		}
		for _, pairs := range pairValues(block[0], block[i], "sec/op", true) {
			if len(pairs) < 3 {
				continue // a median of two tells nothing of how they deviate
			}
			m := median(pairs)
			medians = append(medians, m)
			for _, x := range pairs {
				far = append(far, math.Abs(x-m))
			}
			// The median of n normal numbers deviates by √(π/2n) of what they do.
			errors = append(errors, deviation(pairs)*math.Sqrt(math.Pi/2/float64(len(pairs))))
		}
	}
	if len(medians) == 0 {
		return 0, 0, 0, 0
	}
	return deviation(medians), median(errors), median(far), len(medians)
}

// positive reports whether all pairs of a block have logarithms.
func positive(base, other *dyno.Benchmark) bool {
	ok := true
	eachPair(base, other, "sec/op", func(_ int, x, y float64) { ok = ok && x > 0 && y > 0 })
	return ok
}
