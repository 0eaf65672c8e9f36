package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// mostChoices is the number of settings whose gain and price an advice gives.
const mostChoices = 3

// Advice says which setting to choose, and why, in a few sentences; "" where there is nothing to compare.
// package compare has the rule.
func Advice(t *compare.Table) string { return advise(t, Verdicts(t), false) }

// Advised is an advice with its words; nil where there is nothing to compare.
func Advised(t *compare.Table) *advice.Advice {
	a := advice.Of(t)
	if a != nil {
		a.Text = Advice(t)
	}
	return a
}

func advise(t *compare.Table, vs []Verdict, plain bool) string {
	a := advice.Of(t)
	if a == nil {
		return ""
	}
	base := t.Settings[0].Setting.Label()
	switch a.Kind {
	case advice.None:
		return noAdvice(t, a.Lacks)
	case advice.Choose:
		return choose(t, a, vs)
	case advice.Allowed:
		return allowed(t, a)
	case advice.Broken:
		return brokenBy(t, base)
	case advice.Mend:
		return mend(t, base, &a.Choices[0])
	case advice.Wait:
		c := &a.Choices[0]
		v := &vs[c.Setting-1]
		if c.Price != "" {
			return fmt.Sprintf("No recommendation: %s has %s for %s, but %s.", label(t, c), gainOf(t, c), priceOf(t, c), doubtful(t, c))
		}
		return fmt.Sprintf("No recommendation: %s is better in %s and not shown to be worse in a primary metric, but %s.", v.Setting.Label(), v.better, doubtful(t, c))
	case advice.Trade:
		return trade(t, a.Choices)
	case advice.Keep:
		if len(t.Settings) == 2 && a.Choices[0].Kind == advice.ChoiceWorse {
			return fmt.Sprintf("Keep %s: %s, and in no primary metric shown to be better.", base, losses(t, a.Choices, plain)[0])
		}
		if !slices.ContainsFunc(a.Choices, func(c advice.Choice) bool { return c.Kind != advice.ChoiceWorse }) {
			return fmt.Sprintf("Keep %s: no other setting is shown to be better in a primary metric, and %s.", base, List(losses(t, a.Choices, plain)))
		}
		return fmt.Sprintf("Keep %s. %s.", base, strings.Join(losses(t, a.Choices, plain), ". "))
	case advice.Unclear:
		unclear, all := unclearOf(vs)
		return fmt.Sprintf("No recommendation: %s, but may yet be worth it: %d of %d comparisons of primary metrics are unclear.", List(losses(t, a.Choices, plain)), unclear, all)
	case advice.Same:
		return fmt.Sprintf("No setting differs from %s by more than %s in a primary metric: the choice makes no difference here.", base, dyno.Fraction(t.Negligible))
	case advice.Untold:
		return "No recommendation: no primary metric could be compared."
	}
	return nothingShown(t, vs, plain)
}

// noAdvice says why there is no advice.
func noAdvice(t *compare.Table, lacks []advice.Lack) string {
	var why []string
	for _, l := range lacks {
		switch l.Kind {
		case advice.LackApart:
			return "No verdict: the runs were made at different times, and what the machine did between them is in every change and in no interval (consider: one run of both, with --vary)."
		case advice.LackPlanned:
			why = append(why, "only "+Partial(t, l.N, l.Of))
		case advice.LackSaturated:
			why = append(why, fmt.Sprintf("dyno may itself have been the limit in %s", layout.Count(l.N, "trial")))
		}
	}
	return "No recommendation: " + List(why) + "."
}

func choose(t *compare.Table, a *advice.Advice, vs []Verdict) string {
	c := &a.Choices[0]
	best := vs[c.Setting-1]
	text := fmt.Sprintf("Recommended: %s. It is better in %s, ", best.Setting.Label(), best.better)
	if c.Price == "" {
		text += "and worse in no primary metric"
	} else {
		text += "at the small price of " + priceOf(t, c)
	}
	switch {
	case c.Risks != nil:
		text += fmt.Sprintf("; it is unclear in %s (at worst %s)", best.unclear, List(worstOf(c)))
	case best.unclear != "":
		text += fmt.Sprintf("; it is unclear in %s, but by less than %v", best.unclear, advice.Bearable)
	}
	if best.failed != "" {
		text += "; " + best.failed
	}
	text += "."
	if a.AllBreak {
		text += fmt.Sprintf(" All settings break %s.", thresholds(advice.Breaks(t, 0)))
	}
	var names []string
	for _, c := range a.Choices[1:] {
		if c.Against == nil && c.Price == "" && (c.Kind == advice.ChoiceGain || c.Kind == advice.ChoiceRisk) {
			names = append(names, label(t, &c))
		}
	}
	if names == nil {
		return text
	}
	are := "is"
	if len(names) > 1 {
		are = "are"
	}
	return text + fmt.Sprintf(" %s %s also better in something and not shown to be worse in anything; settings were compared with the baseline, not with each other.", List(names), are)
}

// brokenBy says why no setting is recommended where the baseline breaks a threshold.
func brokenBy(t *compare.Table, base string) string {
	text := fmt.Sprintf("No recommendation: %s breaks %s", base, thresholds(advice.Breaks(t, 0)))
	var but []string
	for i := 1; i < len(t.Settings); i++ {
		c := advice.ChoiceOf(t, i)
		switch breaks := advice.Breaks(t, i); {
		case len(breaks) > 0:
			but = append(but, fmt.Sprintf("%s breaks %s", label(t, &c), thresholds(breaks)))
		case c.Against != nil:
			but = append(but, label(t, &c)+": "+doubtful(t, &c))
		}
	}
	if len(but) == 0 || len(but) > mostChoices {
		return text + ", and no other setting is sure to keep every threshold."
	}
	return text + "; " + strings.Join(but, "; ") + "."
}

// mend says what is wrong with the baseline and not with a setting, and what that costs.
func mend(t *compare.Table, base string, c *advice.Choice) string {
	var has []string
	for _, o := range c.Mends {
		switch o.Kind {
		case advice.ObjectLeaks:
			has = append(has, "leaks memory")
		case advice.ObjectFails:
			has = append(has, "has more requests that fail")
		case advice.ObjectCrashes:
			has = append(has, "has "+layout.Count(o.N, "trial")+" that failed")
		}
	}
	text := fmt.Sprintf("%s %s, and %s does not", base, List(has), label(t, c))
	switch {
	case c.Price != "":
		return fmt.Sprintf("A trade-off: %s. Its price is %s.", text, priceOf(t, c))
	case c.Gain != "":
		return fmt.Sprintf("Recommended: %s. %s. It is worse in no primary metric, and has %s.", label(t, c), text, gainOf(t, c))
	}
	return fmt.Sprintf("Recommended: %s. %s. It is shown to be worse in no primary metric.", label(t, c), text)
}

// allowed recommends the setting that keeps the thresholds, whatever else it costs.
func allowed(t *compare.Table, a *advice.Advice) string {
	c := &a.Choices[0]
	text := fmt.Sprintf("Recommended: %s. It keeps every threshold, and %s breaks %s", label(t, c), t.Settings[0].Setting.Label(), thresholds(advice.Breaks(t, 0)))
	if c.Price != "" {
		text += ". Its price is " + priceOf(t, c)
	}
	return text + "."
}

func trade(t *compare.Table, choices []advice.Choice) string {
	var offers, dear, barred []string
	more := 0
	for i := range choices {
		switch c := &choices[i]; c.Kind {
		case advice.ChoiceTrade:
			if len(offers) == mostChoices {
				more++
				break
			}
			offers = append(offers, fmt.Sprintf("%s if %s is worth %s", label(t, c), gainOf(t, c), priceOf(t, c)))
		case advice.ChoiceBar:
			barred = append(barred, label(t, c)+": "+doubtful(t, c))
		case advice.ChoiceDear:
			dear = append(dear, label(t, c))
		}
	}
	text := fmt.Sprintf("A trade-off: choose %s; otherwise keep %s.", strings.Join(offers, ", or "), t.Settings[0].Setting.Label())
	if may := risks(t, &choices[0]); may != "" {
		text += fmt.Sprintf(" For %s, %s.", label(t, &choices[0]), may)
	}
	if more > 0 {
		text += fmt.Sprintf(" Beside these: %s, in the tables.", layout.Count(more, "more trade-off"))
	}
	if len(dear) > 1 {
		text += fmt.Sprintf(" %s cost more than they gain.", List(dear))
	} else if dear != nil {
		text += fmt.Sprintf(" %s costs more than it gains.", dear[0])
	}
	if barred != nil {
		text += " " + strings.Join(barred, "; ") + "."
	}
	return text
}

// losses says why settings are not a choice, a clause each, and how many more there are.
func losses(t *compare.Table, choices []advice.Choice, plain bool) (parts []string) {
	defer func() {
		if n := len(choices) - mostChoices; n > 0 && len(parts) > 0 {
			parts = append(parts, layout.Count(n, "more setting")+" of the table are no better")
		}
	}()
	for i := range choices[:min(len(choices), mostChoices)] {
		c := &choices[i]
		switch c.Kind {
		case advice.ChoiceDear:
			parts = append(parts, fmt.Sprintf("%s costs more than it gains: %s, but %s", label(t, c), gainOf(t, c), priceOf(t, c)))
		case advice.ChoiceBar:
			if c.Gain == "" {
				parts = append(parts, label(t, c)+": "+doubtful(t, c))
				break
			}
			parts = append(parts, fmt.Sprintf("%s has %s, but %s", label(t, c), gainOf(t, c), doubtful(t, c)))
		case advice.ChoiceWorse:
			worse := label(t, c) + " is worse"
			if !plain { // the verdicts say in what
				worse += " in " + plainNouns(advice.StandOf(t, c.Setting).Worse)
			}
			parts = append(parts, worse)
		}
	}
	return parts
}

// doubtful says what speaks or may speak against a setting that gains something.
func doubtful(t *compare.Table, c *advice.Choice) string {
	var but []string
	for _, o := range c.Against {
		switch o.Kind {
		case advice.ObjectBreaks:
			but = append(but, "it breaks "+thresholds(o.Thresholds))
		case advice.ObjectMayBreak:
			but = append(but, "it may break "+thresholds(o.Thresholds))
		case advice.ObjectFails:
			but = append(but, failedMore(t, c.Setting))
		case advice.ObjectLacks:
			but = append(but, "some trials lack "+plainNouns(o.Metrics))
		case advice.ObjectLeaks:
			but = append(but, "it leaks memory")
		case advice.ObjectCrashes:
			if o.All {
				but = append(but, "it finished no trial")
			} else {
				but = append(but, "it failed in "+layout.Count(o.N, "trial"))
			}
		}
	}
	if may := risks(t, c); may != "" && c.Kind == advice.ChoiceRisk {
		but = append(but, may)
	}
	return strings.Join(but, "; ")
}

// risks says what an unclear metric may cost; "" if nothing much.
func risks(t *compare.Table, c *advice.Choice) string {
	var more []int
	for _, r := range c.Risks {
		more = append(more, r.More)
	}
	if slices.Sort(more); more == nil {
		return ""
	}
	return "the trials do not rule out " + List(worstOf(c)) + settle(t, more, len(more)-1, "")
}

// worstOf are the metrics that are unclear, each at its worst.
func worstOf(c *advice.Choice) (worst []string) {
	for _, r := range c.Risks {
		text := MetricNoun(r.Metric)
		if !math.IsNaN(float64(r.Worst)) {
			text += " " + much(float64(r.Worst))
		}
		worst = append(worst, text)
	}
	return worst
}

func label(t *compare.Table, c *advice.Choice) string { return t.Settings[c.Setting].Setting.Label() }

// Dear says what a setting costs, if that is more than one could pay for its gain; "" if not.
func Dear(t *compare.Table, i int) string {
	if c := advice.ChoiceOf(t, i); c.Kind == advice.ChoiceDear {
		return priceOf(t, &c)
	}
	return ""
}

// gainOf and priceOf are the metrics that gain and cost most, with how much.
func gainOf(t *compare.Table, c *advice.Choice) string { return changeOf(t, c, c.Gain) }

func priceOf(t *compare.Table, c *advice.Choice) string {
	text := changeOf(t, c, c.Price)
	if c.More > 0 {
		text += fmt.Sprintf(" (and %s)", layout.Count(c.More, "more metric")+" worse")
	}
	return text
}

func changeOf(t *compare.Table, c *advice.Choice, metric string) string {
	return MetricNoun(metric) + " " + much(t.Settings[c.Setting].Versus[metric].Ratio)
}

func thresholds(ths []dyno.Threshold) string {
	var parts []string
	for _, th := range ths {
		parts = append(parts, th.String())
	}
	return List(parts)
}

// nothingShown says what would show something. A plain one leaves the functions that surely changed to the verdicts.
func nothingShown(t *compare.Table, vs []Verdict, plain bool) string {
	var more []int
	for _, v := range vs {
		for _, name := range v.Unclear {
			more = append(more, cmp.Or(t.Settings[v.At].Versus[name].MoreBlocks, math.MaxInt))
		}
	}
	slices.Sort(more)
	shown, total := "No setting is shown to be better or worse", " in total"
	if t.Blocks < stats.MedianTrials && more != nil {
		shown, total = fmt.Sprintf("Too few blocks for a verdict: %d of the %d that it takes", t.Blocks, stats.MedianTrials), ""
	}
	if i := slices.IndexFunc(t.Settings, func(s compare.Setting) bool { return len(s.Functions) > 0 }); i > 0 {
		shown += total + ", but a function surely changed"
		if !plain {
			shown = fmt.Sprintf("%s: %s; no setting is shown to be better or worse in total", t.Settings[i].Setting.Label(), functions(&t.Settings[i]))
		}
	}
	return fmt.Sprintf("%s%s.", shown, settle(t, more, (len(more)-1)/2, " half of the unclear verdicts"))
}

func unclearOf(vs []Verdict) (unclear, all int) {
	for _, v := range vs {
		unclear += len(v.Unclear)
		all += len(v.Unclear) + len(v.Better) + len(v.Worse) + len(v.Same)
	}
	return unclear, all
}

func plainNouns(metrics []string) string {
	var parts []string
	for _, m := range metrics {
		parts = append(parts, MetricNoun(m))
	}
	return List(parts)
}
