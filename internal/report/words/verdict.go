package words

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A Verdict compares a setting with the baseline in the primary metrics.
type Verdict struct {
	advice.Stand
	Setting                        dyno.Setting
	Text                           string // all of it in a sentence
	better, worse, unclear, untold string // the lists in words
	failed                         string // that more requests failed than of the baseline, or ""
}

// Verdicts compares each setting with the baseline, in the order of the table. The two most
// telling changes have figures. Without a comparison it is nil.
func Verdicts(t *compare.Table) []Verdict { return verdicts(t, false) }

// verdicts returns the verdict on each setting. Plain ones have no figures.
func verdicts(t *compare.Table, plain bool) []Verdict {
	if t.Trials == 0 || len(t.Settings) < 2 || t.Settings[0].Trials == 0 {
		return nil
	}
	var vs []Verdict
	for i := 1; i < len(t.Settings); i++ {
		vs = append(vs, verdictOf(t, i, plain))
	}
	return vs
}

func verdictOf(t *compare.Table, i int, plain bool) Verdict {
	s := &t.Settings[i]
	v := Verdict{Stand: advice.StandOf(t, i), Setting: s.Setting, failed: failedMore(t, i)}
	if s.Trials == 0 {
		v.Text = fmt.Sprintf("No trial of %s finished; only its failure is known.", s.Setting.Label())
		if len(t.FailedOf(i)) == 0 {
			v.Text = fmt.Sprintf("No trial of %s was run.", s.Setting.Label())
		}
		return v
	}
	v.say(t, i, plain)
	return v
}

// failedMore says how many requests failed or were never sent, if the share is greater than the baseline's.
func failedMore(t *compare.Table, i int) string {
	now, then, more, _ := advice.FailedMore(t, i)
	if !more {
		return ""
	}
	base := "none"
	if then > 0 {
		base = fmt.Sprintf("%.0f", then)
	}
	return fmt.Sprintf("%.0f of its requests failed or were never sent, against %s of %s", now, base, t.Settings[0].Setting.Label())
}

func (v *Verdict) say(t *compare.Table, i int, plain bool) {
	telling := map[string]bool{}
	for _, names := range [][]string{v.Better, v.Worse, v.Differs} {
		most := 1
		if len(v.Better) == 0 || len(v.Worse) == 0 {
			most = 2
		}
		for _, name := range names[:min(most, len(names))] {
			telling[name] = true
		}
	}
	changes := func(names []string) string {
		if plain {
			return plainNouns(names)
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, MetricNoun(name)+" ("+figures(t, i, name, telling[name])+")")
		}
		return List(parts)
	}
	v.better, v.worse, v.unclear, v.untold = changes(v.Better), changes(v.Worse), plainNouns(v.Unclear), plainNouns(v.Untold)
	var said []string
	for _, p := range []struct{ before, what string }{
		{"", functions(&t.Settings[i])}, {"better in ", v.better}, {"worse in ", v.worse}, {"different in ", changes(v.Differs)},
		{"the same within " + dyno.Fraction(t.Negligible).String() + " in ", plainNouns(v.Same)},
		{"unclear in ", v.unclear}, {"not compared in ", v.untold}, {"", v.failed},
	} {
		if p.what != "" {
			said = append(said, p.before+p.what)
		}
	}
	if said == nil {
		said = []string{"no primary metric was measured for both"}
	}
	v.Text = fmt.Sprintf("%s against %s: %s.", v.Setting.Label(), t.Settings[0].Setting.Label(), strings.Join(said, "; "))
}

func figures(t *compare.Table, i int, name string, both bool) string {
	text := much(t.Settings[i].Versus[name].Ratio)
	if !both {
		return text
	}
	now, then := t.Settings[i].Values[name].Center, t.Settings[0].Values[name].Center
	sc := layout.ScaleOf(name, now, then)
	return fmt.Sprintf("%s, %s instead of %s", text, sc.With(now), sc.With(then))
}
