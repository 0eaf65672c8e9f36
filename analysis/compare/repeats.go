package compare

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// FewestBenchBlocks is the least number of blocks that can tell a change of a benchmark.
func FewestBenchBlocks() int { return stats.BenchLooks[0] }

// FewestRepeats are the least repeats that can show a change of a service among so many
// settings, and that give an interval of each setting's own median.
func FewestRepeats(settings int) (change, median int) {
	primary := 0
	for _, m := range dyno.Metrics {
		if m.Primary {
			primary++
		}
	}
	return stats.Plan{Settings: settings, Tests: primary * (settings - 1)}.Least(), stats.MedianTrials
}
