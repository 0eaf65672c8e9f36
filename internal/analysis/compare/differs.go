package compare

import (
	"math"

	"github.com/dynolab/dyno/internal/stats"
)

// Differs is the verdict of two runs of different times whose figures differ by more than the
// noise within each of them. What the machine did between them is in the change and in no
// interval, so it is neither better nor worse.
const Differs stats.Verdict = "differs"

// Apart takes the verdicts better and worse out of a table of two runs of different times: these
// comparisons are [Differs].
func (t *Table) Apart() {
	for i := range t.Settings {
		for key, v := range t.Settings[i].Versus {
			if v.Verdict == stats.Better || v.Verdict == stats.Worse {
				v.Verdict = Differs
				t.Settings[i].Versus[key] = v
			}
		}
	}
}

// Magnitude is the distance of a ratio from 1 as a logarithm, infinite if a zero allows no ratio.
func Magnitude(ratio float64) float64 {
	if math.IsNaN(ratio) {
		return math.Inf(1)
	}
	return math.Abs(math.Log(ratio))
}
