package compare

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// mostVain is after how many blocks without any pair a setting is given up in one
// benchmark: it does not have it, or always fails there.
const mostVain = 3

// over reports whether a benchmark gets no more blocks, settled or not.
func (run *benchRun) over(d *benchData) bool {
	most := run.bench.Blocks
	if run.looks != nil {
		most = run.looks[len(run.looks)-1]
	}
	return len(d.blocks) >= most || len(d.blocks) >= mostVain && len(run.pairings(d, "sec/op")) == 0
}

// A benchPairing is one setting against the baseline in one unit, or a lone setting itself.
type benchPairing struct {
	values []float64
	logs   bool
	alone  bool
}

// pairings are those that have values, or may still get some.
func (run *benchRun) pairings(d *benchData, unit string) (ps []benchPairing) {
	if len(run.settings) == 1 {
		ps = append(ps, benchPairing{d.centers(unit, 0), true, true})
	}
	for i := range run.settings[1:] {
		values, logs := d.values(unit, i+1)
		ps = append(ps, benchPairing{values, logs, false})
	}
	if len(d.blocks) >= mostVain {
		ps = slices.DeleteFunc(ps, func(p benchPairing) bool { return len(p.values) == 0 })
	}
	return ps
}

// settled reports whether more blocks would tell nothing more. A benchmark that was settled at an earlier look stays so: it was to get no
// more blocks. A look is reached when every comparison of sec/op has so many values; a block that failed has none.
func (run *benchRun) settled(d *benchData, units []Row) bool {
	times := run.pairings(d, "sec/op")
	if len(times) == 0 {
		return false
	}
	n := len(times[0].values)
	for _, p := range times {
		n = min(n, len(p.values))
	}
	looks := run.looks
	if looks == nil {
		looks = []int{run.bench.Blocks}
		if len(d.blocks) >= run.bench.Blocks {
			looks[0] = min(n, run.bench.Blocks) // some blocks may have failed
		}
	}
	for _, look := range looks {
		if look > n || look < 1 {
			break
		}
		open := func(u Row) bool {
			beside := u.Name != "sec/op"
			if beside && len(run.settings) == 1 {
				return false
			}
			return slices.ContainsFunc(run.pairings(d, u.Name), func(p benchPairing) bool { return !run.enough(p, look, beside) })
		}
		if !slices.ContainsFunc(units, open) { // sec/op is the first of them
			return true
		}
	}
	return false
}

// enough reports whether a comparison needs no more than its first so many blocks: it has a verdict, or its interval is narrow and holds 1.
// A narrow interval beside 1 is not enough: simulated, a true change of 3 % was left unclear in one run of seven (stats, rankRules). A unit
// beside sec/op may also be missing, never differ, or differ too rarely to have a size: allocs/op between 0 and 1 is now 0 and now 1.
func (run *benchRun) enough(p benchPairing, blocks int, beside bool) bool {
	values := p.values[:min(blocks, len(p.values))]
	if p.alone {
		s := stats.Summarize(values)
		return run.narrow(s.Lo, s.Hi)
	}
	if beside && !slices.ContainsFunc(values, func(v float64) bool { return v != 0 }) {
		return true
	}
	v := run.compare(values, p.logs, -1) // which side is better makes no difference to what is known
	if beside && (v.Ratio == 1 || v.Diff == 0) {
		return true
	}
	return v.Verdict != stats.Unclear || run.narrow(v.Lo, v.Hi) && v.Lo <= 1 && 1 <= v.Hi
}

func (run *benchRun) narrow(lo, hi float64) bool {
	return math.Log(hi/lo)/2 <= run.exact // false for NaN
}
