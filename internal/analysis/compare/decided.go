package compare

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// GateAlpha is the error of a gate against what is worse: that of each comparison of a
// primary metric of a service, whatever the number of looks and of other comparisons. Of
// benchmarks it is dyno.Bench.Error.
const GateAlpha = 0.001

// FewestBlocks is the least number of blocks in which a change of a service can be found.
const FewestBlocks = stats.FewestBlocks

// FewestBenchBlocks is the least number of blocks that can tell a change of a benchmark.
func FewestBenchBlocks() int { return stats.BenchLooks[0] }

// FewestGateBlocks is the least number of blocks in which a gate of a service can find
// anything. In fewer it lets everything pass.
func FewestGateBlocks() int { return stats.FewestGateBlocks(GateAlpha) }

// Least is the least number of blocks in which a run that decides itself how many it takes
// can meet the demands.
func (d Demands) Least() int {
	if d.NotWorse {
		return FewestGateBlocks()
	}
	return FewestBlocks
}

// blocksRun is the number of blocks that results are of: the greatest, as a block may have
// none that finished.
func blocksRun(rs []*dyno.Result) (n int) {
	for _, r := range rs {
		if r.Trial.For == "" {
			n = max(n, r.Trial.Block)
		}
	}
	return n
}

// gate compares setting j with the baseline by signed ranks, which are exact
// whatever the noise: in each block the order of the settings is a lot. The t test of
// verdicts is not so far out: blocks that agree by chance have any p-value.
func (t *Table) gate(blocks [][]float64, j int) stats.Comparison {
	var values, logs []float64
	positive := true
	for _, row := range blocks {
		if x, y := row[0], row[j]; !math.IsNaN(x) && !math.IsNaN(y) {
			values, logs = append(values, y-x), append(logs, math.Log(y)-math.Log(x))
			positive = positive && x > 0 && y > 0
		}
	}
	if positive {
		return stats.GateRanks(logs, true)
	}
	return stats.GateRanks(values, false)
}

// Worse counts the comparisons that a gate finds worse. Of benchmarks they are all that
// are worse. Of a service they are those of primary metrics, as what is measured beside
// them is many numbers that nobody asked for, and a gate that fails by one of them soon
// is switched off; who cares for another metric gives it a threshold. Such a comparison
// is worse at an error of GateAlpha, and among all others too, as its verdict says.
func (t *Table) Worse() int {
	if t.Kind == OfBenchmarks {
		return t.verdicts(stats.Worse)
	}
	return t.primary(func(row Row, v *Versus) bool { return v.Verdict == stats.Worse && t.gated(row, v) == stats.Worse })
}

// Spared counts the comparisons of primary metrics of a service that are worse, but not
// for a gate.
func (t *Table) Spared() int {
	return t.primary(func(row Row, v *Versus) bool { return v.Verdict == stats.Worse && t.gated(row, v) != stats.Worse })
}

// primary counts the comparisons of primary metrics of a service for which f is true.
func (t *Table) primary(f func(Row, *Versus) bool) (n int) {
	for i := range t.Settings {
		for _, row := range t.Rows {
			if v, ok := t.Settings[i].Versus[row.Key]; ok && row.Primary && f(row, &v) {
				n++
			}
		}
	}
	return n
}

// gated is a gate's verdict.
func (t *Table) gated(row Row, v *Versus) stats.Verdict {
	c := v.Gate
	c.Adjusted = c.Single()
	return c.Verdict(t.rule(GateAlpha, row.Metric))
}

func (t *Table) rule(alpha float64, m dyno.Metric) stats.Rule {
	rule := stats.Rule{Alpha: alpha, Negligible: t.Negligible, Better: m.Better}
	if t.Negligible == 0 {
		rule.Negligible = -1
	}
	return rule
}

// Decided reports whether a run of a service that decides itself how many blocks it takes
// needs no more of them: each comparison of a primary metric has a verdict, or more blocks
// would tell nothing that matters of it; so has each threshold of a change; and if nothing
// may be worse, what is worse is so for the gate. It may be asked after every block. How long a
// run may take is for the caller.
func (t *Table) Decided(d Demands) bool {
	switch {
	case !t.Sequential || t.ran < FewestBlocks:
		return false
	case t.ran >= dyno.MostBlocks:
		return true
	case slices.ContainsFunc(t.Thresholds, func(j Judgement) bool { return j.Threshold.Change && j.Outcome == Unclear }):
		return false
	}
	return t.primary(func(row Row, v *Versus) bool {
		if d.NotWorse && v.Verdict == stats.Worse && t.gated(row, v) != stats.Worse {
			return true
		}
		return !t.enough(v)
	}) == 0
}

// enough reports whether a comparison of a primary metric needs no more blocks: it has a
// verdict, its interval is no wider than twice the negligible change and holds 1, or it has
// nothing to compare, which more of the same does not cure. A narrow interval beside 1 is
// not enough, see [benchRun.enough].
func (t *Table) enough(v *Versus) bool {
	switch {
	case v.Verdict != stats.Unclear, v.Note.Kind != "", v.Comparison.N == 0:
		return true
	}
	return math.Log(v.Hi/v.Lo)/2 <= math.Log1p(t.Negligible) && v.Lo <= 1 && 1 <= v.Hi // false for NaN
}
