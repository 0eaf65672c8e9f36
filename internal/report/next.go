package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// next says how to learn more. left are the passages that had no room.
func (v view) next(r *tables.Report, left []string) passage {
	tables := "All tables: the same command with --full"
	if r.Dir != "" {
		tables = "All tables: dyno report " + r.Dir + " --full"
	}
	if left != nil {
		tables += " (which also has " + words.List(left) + ")"
	}
	lines := []string{tables}
	switch more, unclear := v.worthwhile(); {
	case r.Dir == "":
	case v.Kind == compare.OfService && v.Ran() < v.Planned:
		lines = append([]string{fmt.Sprintf("The run is not complete: dyno run --resume %s goes on with it", r.Dir)}, lines...)
	case more > 0:
		what := "half the unclear verdicts"
		if unclear == 1 {
			what = "the unclear verdict"
		}
		lines = append([]string{fmt.Sprintf("%s may settle %s: dyno run --resume %s --more %d", layout.Count(more, "more block"), what, r.Dir, more)}, lines...)
	}
	return passage{lines: sentences(lines)}
}

// worthwhile is the number of blocks that would settle half of the unclear comparisons of primary
// metrics, and how many these are; 0 if there are none, or too many, or
// the advice is clear, or dyno itself was the limit.
func (v view) worthwhile() (blocks, unclear int) {
	a := advice.Of(v.Table)
	if a != nil && slices.ContainsFunc(a.Lacks, func(l advice.Lack) bool { return l.Kind == advice.LackSaturated }) {
		return 0, 0 // more of the same lacks the same
	}
	if a != nil && (a.Kind == advice.Keep || a.Kind == advice.Choose && len(a.Choices[0].Risks) == 0) {
		return 0, 0
	}
	var more []int
	for _, i := range v.Others() {
		for _, m := range v.Metrics(true) {
			if x, ok := v.Settings[i].Versus[m.Name]; ok && x.Verdict == stats.Unclear && x.Note.Kind == "" {
				more = append(more, cmp.Or(x.MoreBlocks, math.MaxInt))
			}
		}
	}
	if slices.Sort(more); more == nil || v.Kind != compare.OfService || v.Trials == 0 || !words.WorthMore(more[(len(more)-1)/2], v.Blocks) {
		return 0, 0
	}
	return more[(len(more)-1)/2], len(more)
}
