package words

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
)

// SaturationCure is what to do when the generator is the limit.
const SaturationCure = "a lower rate, other concurrency, or more CPU for dyno"

// Warnings are the doubts of a table in words, those of the caller last.
func Warnings(t *compare.Table) (texts []string) {
	for i := range t.Doubts {
		texts = append(texts, doubt(t, &t.Doubts[i]))
	}
	return append(texts, t.Warnings.Texts()...)
}

func doubt(t *compare.Table, d *compare.Doubt) string {
	if d.Kind == dyno.WarnSaturated && d.Trials != nil {
		return saturatedDoubt(d)
	}
	switch d.Kind {
	case dyno.WarnPartial:
		return fmt.Sprintf("%d of %d planned trials were run", d.N, d.Of)
	case dyno.WarnNoTrial:
		s := &t.Settings[d.Setting]
		if s.Baseline && len(t.Settings) > 1 {
			return fmt.Sprintf("the baseline %s has no finished trial, so nothing can be compared", s.Setting)
		}
		return fmt.Sprintf("%s has no finished trial, so nothing is known of it but how it failed", s.Setting)
	case dyno.WarnNoInterval:
		if d.N == 1 {
			return "there is one block only: no change can be told from noise"
		}
		return fmt.Sprintf("medians have no 95%% interval: that takes %d blocks, and there are %d", d.Of, d.N)
	case dyno.WarnSeparate:
		return "the runs were not made side by side: what changed on the machine between them cannot be told from a difference of the settings"
	case dyno.WarnMixed:
		return fmt.Sprintf("the trials of %s did not all run the same program: %s", t.Settings[d.Setting].Setting.Label(), strings.Join(d.Said, "; "))
	}
	figures := ""
	if d.Trial != 0 {
		figures = fmt.Sprintf(" (figures of trial %d)", d.Trial)
	}
	return fmt.Sprintf("%d of %d trials: %s%s", d.N, d.Of, strings.Join(d.Said, "; "), figures)
}

// NotCompared says why a metric that was measured has no verdict; "" of no reason.
func NotCompared(r compare.Reason) string {
	switch {
	case r.Kind == "":
		return ""
	case r.Trial != 0:
		return fmt.Sprintf("not compared: trial %d has none, as requests that timed out or were never sent rank as the slowest", r.Trial)
	}
	return "not compared: " + r.Said
}

func saturatedDoubt(d *compare.Doubt) string {
	const most = 10 // trials that are named
	var names []string
	for _, n := range d.Trials[:min(len(d.Trials), most)] {
		names = append(names, strconv.Itoa(n))
	}
	if more := len(d.Trials) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	trials, their, what, figures := "trial", "its", "response times are", ""
	if len(d.Trials) > 1 {
		trials, their = "trials", "their"
	}
	if d.Closed {
		what = "response times and req/s are"
	}
	if d.Trial != 0 {
		figures = fmt.Sprintf("; figures of trial %d", d.Trial)
	}
	return fmt.Sprintf("dyno may itself have been the limit in %s %s (%s%s): %s %s not compared (consider: %s)",
		trials, strings.Join(names, ", "), d.Said[0], figures, their, what, SaturationCure)
}
