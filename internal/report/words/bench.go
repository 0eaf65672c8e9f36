package words

import (
	"fmt"
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// SameCode says how many benchmarks were not run, as they are the same code in all settings; "" if none.
func SameCode(t *compare.Table) string {
	n := 0
	for _, functions := range t.SameCode {
		n += len(functions)
	}
	what := layout.Count(n, "benchmark function") + " in " + layout.Count(len(t.SameCode), "package")
	switch {
	case n == 0:
		return ""
	case len(t.Benchmarks) == 0 && n == 1:
		return "Nothing can have changed: the only benchmark is the same code in all settings, and was not run (consider: --all, to run it nevertheless)."
	case len(t.Benchmarks) == 0:
		return fmt.Sprintf("Nothing can have changed: all of %s are the same code in all settings, and were not run (consider: --all, to run them nevertheless).", what)
	case n == 1:
		return what + " is the same code in all settings, and was not run (--all runs it)."
	}
	return what + " are the same code in all settings, and were not run (--all runs them)."
}

// TooFew says which benchmarks have not the blocks without which no change can be told, however great it is: n blocks that agree have the
// p-value 2^(1-n), as often as there are looks. It is "" if all have them, but for those that fail.
func TooFew(t *compare.Table) string {
	least := 1
	for looks := float64(max(1, len(t.Looks))); looks*math.Ldexp(2, -least) > t.Error && least < 64; {
		least++
	}
	if t.Anytime {
		least = stats.FewestGateBlocks(t.Error)
	}
	few, all, most := t.Fewer(least)
	cure := "a longer --duration"
	if t.Looks == nil {
		cure = fmt.Sprintf("--blocks %d or more, with a --duration long enough for them", least)
	}
	coarse := ""
	if n := t.Coarse(); n > 0 {
		coarse = fmt.Sprintf(" The intervals of %s with fewer than %d blocks suppose that noise has one mode.", layout.Count(n, "benchmark"), stats.RankBlocks)
	}
	switch {
	case most == 0 || most >= least && few == 0:
		return ""
	case most >= least:
		return fmt.Sprintf("Of %s %d had no time for the %d blocks that an error of %s per comparison takes, so they cannot show any change (consider: %s, or fewer benchmarks with --bench).%s",
			layout.Count(all, "benchmark"), few, least, dyno.Fraction(t.Error), cure, coarse)
	}
	return fmt.Sprintf("%s cannot show any change, however great: an error of %s per comparison takes %d (consider: %s, or fewer benchmarks with --bench).%s",
		layout.Count(most, "block"), dyno.Fraction(t.Error), least, cure, coarse)
}
