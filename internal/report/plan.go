package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Plan writes a dyno.yaml, which run -f reads, and the order of trials.
func Plan(w io.Writer, e *dyno.Experiment) error {
	text, err := findings.PlanText(e)
	if err != nil {
		return err
	}
	trials := dyno.InOrder(e.Trials())
	order := layout.Count(len(trials), "trial")
	if len(trials) != 1 {
		order += " in this order"
	}
	fmt.Fprintf(w, "%s\n# %s:\n", text, order)
	widest := 0
	for _, t := range trials {
		widest = max(widest, utf8.RuneCountInString(t.Setting.String()))
	}
	for _, t := range trials {
		purpose := ""
		if t.For != "" {
			purpose = "for " + t.For
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("# %4d  block %-3d %-*s  %s", t.N, t.Block, widest, t.Setting.String(), purpose), " "))
	}
	return nil
}
