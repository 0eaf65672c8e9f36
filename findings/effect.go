package findings

import (
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/stats"
)

// tabulate adds to a table what is to be said of settings without effect: first those that are not the plan's.
func tabulate(results []*dyno.Result, o compare.Options) *Table {
	t := compare.Tabulate(results, o)
	var all []dyno.Override
	for _, r := range results {
		all = append(all, r.Overridden...)
	}
	var first []compare.Doubt
	for _, line := range how.Overridden(all) {
		first = append(first, compare.Doubt{Kind: dyno.WarnOverridden, Said: []string{line}})
	}
	t.Doubts = slices.Concat(first, t.Doubts, noEffect(t))
	return t
}

// noEffect returns doubts about settings that differ from the baseline only in what the program itself reads,
// if no metric shows a difference.
func noEffect(t *Table) (ds []compare.Doubt) {
	if t.Blocks < stats.MedianTrials {
		return nil
	}
	for i := 1; i < len(t.Settings); i++ {
		s := &t.Settings[i]
		names := dyno.ProgramReads(t.Settings[0].Setting, s.Setting)
		changed := len(s.Functions) > 0
		for _, v := range s.Versus {
			changed = changed || v.Verdict == stats.Better || v.Verdict == stats.Worse
		}
		if names != nil && len(s.Versus) > 0 && !changed {
			ds = append(ds, compare.Doubt{Kind: dyno.WarnNoEffect, Said: append([]string{t.Settings[0].Setting.String(), s.Setting.String()}, names...)})
		}
	}
	return ds
}
