package compare

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

// GateAlpha is the error of a gate against what is worse: that of each comparison of a
// primary metric of a service, whatever the number of looks and of other comparisons. Of
// benchmarks it is dyno.Bench.Error.
const GateAlpha = 0.001

// looks are those of verdicts, and those of a gate, in a run that has so many blocks.
func (o *Options) looks(blocks int) (verdicts, gate []int) {
	if o.Sequential {
		verdicts, gate = stats.RunLooks, stats.GateLooks
	}
	if o.extended(blocks) {
		verdicts = stats.MoreLooks(verdicts, o.Ends, blocks, dyno.MostMore)
		gate = stats.MoreLooks(gate, o.Ends, blocks, dyno.MostMore)
	}
	return verdicts, gate
}

func (o *Options) extended(blocks int) bool {
	n := len(o.Ends)
	return n > 0 && blocks > o.Ends[n-1]
}

// FewestGateBlocks is the least number of blocks in which a gate of a service can find
// anything. In fewer it lets everything pass.
func (t *Table) FewestGateBlocks() int { return fewestGateBlocks(len(t.gateLooks)) }

// FewestGateBlocks is that of a run whose number of blocks is given.
func FewestGateBlocks() int { return fewestGateBlocks(1) }

func fewestGateBlocks(looks int) int {
	n := 1
	for math.Ldexp(float64(max(looks, 1)), 1-n) > GateAlpha {
		n++
	}
	return n
}

// Least is the least number of blocks in which a run that decides itself how many it takes
// can meet the demands.
func (d Demands) Least() int {
	if d.NotWorse {
		return fewestGateBlocks(len(stats.GateLooks))
	}
	return stats.RunLooks[0]
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

// gate compares setting j with the baseline as [stats.CompareRanks] does, which is exact
// whatever the noise: in each block the order of the settings is a lot. The t test of
// verdicts is not so far out: if who is launched first is always slower, six blocks that
// agree by chance have any p-value. Each look has as many values as there are in the
// blocks up to it.
func (t *Table) gate(blocks [][]float64, j int) stats.Comparison {
	var values, logs []float64
	positive := true
	looks := make([]int, 0, len(t.gateLooks))
	look := func(block int) {
		for len(looks) < cap(looks) && t.gateLooks[len(looks)] == block {
			looks = append(looks, len(values))
		}
	}
	for i, row := range blocks {
		if x, y := row[0], row[j]; !math.IsNaN(x) && !math.IsNaN(y) {
			values, logs = append(values, y-x), append(logs, math.Log(y)-math.Log(x))
			positive = positive && x > 0 && y > 0
		}
		look(i + 1)
	}
	for len(looks) < cap(looks) { // to come
		looks = append(looks, len(values))
	}
	if positive {
		return stats.CompareRanks(logs, true, looks)
	}
	return stats.CompareRanks(values, false, looks)
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
// may be worse, what is worse is so for the gate. It is true at looks only, as who looks
// more often finds more. How long a run may take is for the caller.
func (t *Table) Decided(d Demands) bool {
	if !slices.Contains(t.Looks, t.ran) {
		return false
	}
	if t.ran == t.Looks[len(t.Looks)-1] {
		return true
	}
	if slices.ContainsFunc(t.Thresholds, func(j Judgement) bool { return j.Threshold.Change && j.Outcome == Unclear }) {
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
