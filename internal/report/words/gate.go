package words

import (
	"fmt"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Spared says what a gate against what is worse lets pass in a run of a service; "" if
// there is nothing to say.
func Spared(t *compare.Table) string {
	if t.Kind != compare.OfService {
		return ""
	}
	if least := compare.FewestGateBlocks(); t.Blocks < least {
		return fmt.Sprintf("--fail-worse lets everything pass in %s: at an error of %v it takes %d (consider: --resume DIR --more %d)",
			layout.Count(t.Blocks, "block"), dyno.Fraction(compare.GateAlpha), least, least-t.Blocks)
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

// Robust says which metrics decide where the plan says "robust", and why response times are among them or not. seen is as
// findings.Robust has it.
func Robust(seen []certify.Limit) string {
	const always = "robust: what decides is CPU time, allocated bytes and allocations per request, and peak memory, as these show on a busy machine, too"
	if len(seen) == 0 {
		return always + "; response times do not, as no certificate of this service, machine and load says that half of its runs find 10% (consider: dyno certify)"
	}
	var parts []string
	for _, l := range seen {
		parts = append(parts, fmt.Sprintf("%s (%v)", Noun(l.Metric), dyno.Fraction(l.Size)))
	}
	return always + "; and " + List(parts) + ", as the certificate says that half of its runs find so small a change here"
}
