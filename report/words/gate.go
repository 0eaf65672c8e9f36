package words

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
)

// Looks says, for the end of a clause, after how many blocks a run of a service could have
// ended; "" if it did not decide that itself.
func Looks(t *compare.Table) string {
	if t.Looks == nil {
		return ""
	}
	var after []string
	for _, n := range slices.Compact(slices.Clone(t.Looks)) {
		after = append(after, strconv.Itoa(n))
	}
	if t.Extended {
		return fmt.Sprintf(" and for looks after %s blocks, as the run was extended (at most %d times)", List(after), dyno.MostMore)
	}
	return fmt.Sprintf(" and for looks after %s blocks, where the run could have ended", List(after))
}

// Spared says what a gate against what is worse lets pass in a run of a service; "" if
// there is nothing to say.
func Spared(t *compare.Table) string {
	if t.Kind != compare.OfService {
		return ""
	}
	if least := t.FewestGateBlocks(); t.Blocks < least {
		cure := fmt.Sprintf("--repeat %d", least)
		switch {
		case t.Extended:
			cure = fmt.Sprintf("--resume DIR --more %d", least-t.Blocks)
		case t.Looks != nil:
			cure = "a longer --within"
		}
		return fmt.Sprintf("--fail-worse lets everything pass in %s: at an error of %v it takes %d (consider: %s)",
			layout.Count(t.Blocks, "block"), dyno.Fraction(compare.GateAlpha), least, cure)
	}
	n := t.Spared()
	if n == 0 {
		return ""
	}
	are := "are"
	if n == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s of primary metrics %s worse, but not surely enough for --fail-worse, whose error is %v",
		layout.Count(n, "comparison"), are, dyno.Fraction(compare.GateAlpha))
}
