package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/leak"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
)

// A Verdict compares a setting with the baseline in the primary metrics. Each list begins with
// the greatest change.
type Verdict struct {
	Setting                        dyno.Setting
	Better, Worse, Same, Unclear   []string // metrics
	Untold                         []string // metrics that could not be compared, as notes of the table say, or that one of the two lacks
	Text                           string   // all of it in a sentence
	at                             int      // the setting's place in the table
	total                          float64  // of the changes for the better, as log ratios
	better, worse, unclear, untold string   // the lists in words
	failed                         string   // that more requests failed than of the baseline, or ""
	often                          bool     // so many more that it speaks against the setting
}

// Verdicts compares each setting with the baseline, in the order of the table. The two most
// telling changes have figures. Without a comparison it is nil.
func Verdicts(t *compare.Table) []Verdict { return verdicts(t, false) }

// verdicts are those of each setting; plain ones have no figures.
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
	v := Verdict{Setting: s.Setting, at: i}
	if s.Trials == 0 {
		v.Text = fmt.Sprintf("No trial of %s finished; only its failure is known.", s.Setting.Label())
		if !slices.ContainsFunc(t.Failed, func(f *dyno.Result) bool { return f.Trial.Setting.String() == s.Setting.String() }) {
			v.Text = fmt.Sprintf("No trial of %s was run.", s.Setting.Label())
		}
		return v
	}
	for _, m := range t.Rows {
		x := s.Versus[m.Name]
		_, now := s.Values[m.Name]
		_, then := t.Settings[0].Values[m.Name]
		if !m.Primary || !now && !then {
			continue
		}
		to := &v.Unclear
		switch {
		case x.Note.Kind != "" || !now || !then:
			to = &v.Untold
		case x.Verdict == stats.Better:
			to = &v.Better
			if !math.IsNaN(x.Ratio) {
				v.total += Magnitude(x.Ratio)
			}
		case x.Verdict == stats.Worse:
			to = &v.Worse
		case x.Verdict == stats.Same:
			to = &v.Same
		}
		*to = append(*to, m.Name)
	}
	for _, names := range [][]string{v.Better, v.Worse} {
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Compare(Magnitude(s.Versus[b].Ratio), Magnitude(s.Versus[a].Ratio))
		})
	}
	v.failed, v.often = failedMore(t, i)
	v.say(t, i, plain)
	return v
}

// bearableFailures is how much greater the share of failures of a recommended setting may be.
const bearableFailures = 1e-4

// failedMore says how many requests failed or were never sent, if the share is greater than
// the baseline's, and whether by more than bearableFailures.
func failedMore(t *compare.Table, i int) (text string, often bool) {
	of := func(s *compare.Setting) (n, share float64) {
		for _, metric := range []string{"failures", "unsent"} {
			for _, x := range s.Values[metric].Trials {
				n += x
			}
		}
		if s.Pooled == nil || n == 0 {
			return n, n
		}
		return n, n / (n + float64(s.Pooled.Requests))
	}
	now, share := of(&t.Settings[i])
	then, before := of(&t.Settings[0])
	if share <= before {
		return "", false
	}
	base := "none"
	if then > 0 {
		base = fmt.Sprintf("%.0f", then)
	}
	return fmt.Sprintf("%.0f of its requests failed or were never sent, against %s of %s", now, base, t.Settings[0].Setting.Label()), share-before > bearableFailures
}

func (v *Verdict) say(t *compare.Table, i int, plain bool) {
	telling := map[string]bool{}
	for _, names := range [][]string{v.Better, v.Worse} {
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
		{"", functions(&t.Settings[i])}, {"better in ", v.better}, {"worse in ", v.worse},
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

// Recommendation says what to do about the verdicts, in a few sentences, or ""
// where there is nothing to compare. The rule:
//
//   - None is made from a run of which planned trials are missing, trials failed,
//     or dyno may have been the limit in some: what is missing may be what speaks
//     against a setting. Then it says that, and which. Neither is one made from
//     runs that were not made side by side.
//   - A setting is recommended if it is surely better in at least one primary
//     metric, surely worse in none, in those that are unclear at worst 5 % worse
//     by their 95 % intervals, and if nothing else speaks against it: a primary
//     metric that some trial lacks, requests that failed, a leak (see [against]).
//     Of several, the one that is better in the most; then the one that is unclear
//     in the fewest; then the one whose changes for the better are the greatest
//     together. The others are named, as settings were compared with the baseline,
//     not with each other.
//   - Where settings are better in something and worse in nothing, but none of them
//     is all that, it names the one that would come first, what speaks or may speak
//     against it, and how many more blocks would settle that.
//   - Where every setting that is better in something is worse in something, it
//     says what is traded for what, and leaves the choice.
//   - Where settings are only worse, the baseline is to be kept, unless most comparisons
//     are unclear; where nothing is shown, it says that, and which functions surely
//     changed nevertheless.
//
// Secondary metrics have no say: who changes a setting for them knows why.
func Recommendation(t *compare.Table) string { return recommendation(t, Verdicts(t), false) }

func recommendation(t *compare.Table, vs []Verdict, plain bool) string {
	if vs == nil {
		return ""
	}
	if why := undecided(t); why != "" {
		return "No recommendation: " + why + "."
	}
	var gains, trades, losses []Verdict
	for _, v := range vs {
		switch {
		case len(v.Better) > 0 && len(v.Worse) == 0:
			gains = append(gains, v)
		case len(v.Better) > 0:
			trades = append(trades, v)
		case len(v.Worse) > 0:
			losses = append(losses, v)
		}
	}
	base := t.Settings[0].Setting.Label()
	switch {
	case len(gains) > 0:
		return recommend(t, gains)
	case len(trades) > 0 && plain:
		return tradeInShort(t, trades, base)
	case len(trades) > 0:
		return tradeOff(trades, base)
	case len(losses) > 0:
		var parts []string
		for _, v := range losses[:min(len(losses), 3)] {
			worse := v.Setting.Label() + " is worse"
			if !plain { // the verdicts say in what
				worse += " in " + plainNouns(v.Worse)
			}
			parts = append(parts, worse)
		}
		if unclear, all := unclearOf(vs); 2*unclear > all {
			return fmt.Sprintf("No recommendation: %s, but %d of %d comparisons of primary metrics are unclear%s.", List(parts), unclear, all, nearest(t, vs))
		}
		return fmt.Sprintf("Keep %s: no other setting is shown to be better in a primary metric, and %s.", base, List(parts))
	}
	return nothingShown(t, vs)
}

func undecided(t *compare.Table) string {
	saturated := 0
	for i := range t.Settings {
		saturated += len(t.Settings[i].Saturated)
	}
	var why []string
	if t.Separate {
		why = append(why, "the runs were not made side by side")
	}
	if done := t.Ran(); done < t.Planned {
		why = append(why, "only "+Partial(t, done, t.Planned))
	}
	if n := len(t.Failed); n > 0 {
		why = append(why, layout.Count(n, "trial")+" failed")
	}
	if saturated > 0 {
		why = append(why, fmt.Sprintf("dyno may itself have been the limit in %s", layout.Count(saturated, "trial")))
	}
	return List(why)
}

// bearable is how much worse a recommended setting may be in an unclear metric.
const bearable = 0.05

type risk struct {
	text  string
	worst float64 // as a ratio of at least 1
	more  int     // blocks that would settle it
}

// risks are the unclear metrics that may be worse by more than bearable, the greatest first.
func risks(t *compare.Table, v *Verdict) []risk {
	var all []risk
	for _, name := range v.Unclear {
		x := t.Settings[v.at].Versus[name]
		r := risk{MetricNoun(name), math.Inf(1), cmp.Or(x.MoreBlocks, math.MaxInt)}
		m, _ := dyno.MetricByName(name)
		switch {
		case m.Better < 0 && !math.IsNaN(x.Hi):
			r.worst, r.text = x.Hi, r.text+" "+much(x.Hi)
		case m.Better > 0 && x.Lo > 0:
			r.worst, r.text = 1/x.Lo, r.text+" "+much(x.Lo)
		}
		if r.worst > 1+bearable {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b risk) int { return cmp.Compare(b.worst, a.worst) })
	return all
}

// against is what speaks against a setting that is better in something.
func against(t *compare.Table, v *Verdict) (facts []string) {
	s, base := &t.Settings[v.at], &t.Settings[0]
	if v.often {
		facts = append(facts, v.failed)
	}
	var lacking []string
	for _, m := range t.Rows {
		now, then := s.Values[m.Name].Trials, base.Values[m.Name].Trials
		if m.Primary && len(now)+len(then) > 0 && (len(now) < s.Trials || len(then) < base.Trials || slices.Contains(v.Untold, m.Name)) {
			lacking = append(lacking, MetricNoun(m.Name))
		}
	}
	if lacking != nil {
		facts = append(facts, "some trials lack "+List(lacking))
	}
	leaks := func(s *compare.Setting) bool {
		return s.Leak != nil && (s.Leak.Memory != nil && s.Leak.Memory.Verdict == leak.Leaking || s.Leak.Outside != nil && s.Leak.Outside.Verdict == leak.Leaking)
	}
	if leaks(s) && !leaks(base) {
		facts = append(facts, "it leaks memory")
	}
	return facts
}

// Recommended is the setting that [Recommendation] recommends, nil if it recommends none.
func Recommended(t *compare.Table) dyno.Setting {
	vs := Verdicts(t)
	if vs == nil || undecided(t) != "" {
		return nil
	}
	gains := slices.DeleteFunc(slices.Clone(vs), func(v Verdict) bool { return len(v.Better) == 0 || len(v.Worse) > 0 })
	if _, safe := rank(t, gains); len(safe) > 0 {
		return safe[0].Setting
	}
	return nil
}

// rank sorts settings that are better in something and worse in nothing. Nothing speaks against a sound
// one, nor does an unclear metric against a safe one.
func rank(t *compare.Table, gains []Verdict) (sound, safe []Verdict) {
	better := func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(len(b.Better), len(a.Better)), cmp.Compare(len(a.Unclear), len(b.Unclear)), cmp.Compare(b.total, a.total))
	}
	slices.SortStableFunc(gains, better)
	sound = slices.DeleteFunc(slices.Clone(gains), func(v Verdict) bool { return len(against(t, &v)) > 0 })
	safe = slices.DeleteFunc(slices.Clone(sound), func(v Verdict) bool { return len(risks(t, &v)) > 0 })
	return sound, safe
}

func recommend(t *compare.Table, gains []Verdict) string {
	sound, safe := rank(t, gains)
	if len(safe) == 0 {
		return notYet(t, &append(sound, gains...)[0])
	}
	best := safe[0]
	text := fmt.Sprintf("Recommended: %s. It is better in %s, and worse in no primary metric", best.Setting.Label(), best.better)
	if best.unclear != "" {
		text += fmt.Sprintf("; it is unclear in %s, at worst %.0f%% worse", best.unclear, 100*bearable)
	}
	if best.failed != "" {
		text += "; " + best.failed
	}
	text += "."
	var names []string
	for _, v := range sound {
		if v.Setting.String() != best.Setting.String() {
			names = append(names, v.Setting.Label())
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

func notYet(t *compare.Table, v *Verdict) string {
	var parts []string
	var more []int
	for _, r := range risks(t, v) {
		parts = append(parts, r.text)
		more = append(more, r.more)
	}
	slices.Sort(more)
	but := against(t, v)
	if parts != nil {
		but = append(but, "the trials do not rule out "+List(parts)+settle(more, len(more)-1, ""))
	}
	return fmt.Sprintf("No recommendation: %s is better in %s and not shown to be worse in a primary metric, but %s.", v.Setting.Label(), v.better, strings.Join(but, "; "))
}

func tradeOff(trades []Verdict, base string) string {
	var parts []string
	for _, v := range trades[:min(len(trades), 3)] {
		parts = append(parts, fmt.Sprintf("%s gains in %s at the price of %s", v.Setting.Label(), v.better, v.worse))
	}
	text := "A trade-off for you to decide: " + strings.Join(parts, "; ")
	if more := len(trades) - 3; more > 0 {
		text += fmt.Sprintf("; %s", layout.Count(more, "more setting"))
	}
	return text + fmt.Sprintf(". No setting is shown to be better than %s without being worse in something.", base)
}

// tradeInShort names the greatest gain and the greatest price only, as the verdicts name the others. It
// advises to choose a setting only if nothing else speaks against it.
func tradeInShort(t *compare.Table, trades []Verdict, base string) string {
	greatest := func(v Verdict, metrics []string) string {
		return MetricNoun(metrics[0]) + " " + much(t.Settings[v.at].Versus[metrics[0]].Ratio)
	}
	if v := trades[0]; len(trades) == 1 && len(against(t, &v)) == 0 {
		return fmt.Sprintf("A trade-off: choose %s if %s is worth %s; otherwise keep %s.", v.Setting.Label(), greatest(v, v.Better), greatest(v, v.Worse), base)
	}
	trades = slices.Clone(trades)
	slices.SortStableFunc(trades, func(a, b Verdict) int { return cmp.Compare(b.total, a.total) })
	var parts []string
	for _, v := range trades[:min(len(trades), 3)] {
		parts = append(parts, fmt.Sprintf("%s has %s, but %s", v.Setting.Label(), greatest(v, v.Better), greatest(v, v.Worse)))
	}
	return fmt.Sprintf("A trade-off: no setting is shown to be better than %s without being worse in something. %s.", base, strings.Join(parts, "; "))
}

func nothingShown(t *compare.Table, vs []Verdict) string {
	unclear, same, untold := 0, 0, 0
	var more []int
	for i, v := range vs {
		unclear, same, untold = unclear+len(v.Unclear), same+len(v.Same), untold+len(v.Untold)
		for _, name := range v.Unclear {
			more = append(more, cmp.Or(t.Settings[i+1].Versus[name].MoreBlocks, math.MaxInt))
		}
	}
	if unclear == 0 && same == 0 {
		return "No recommendation: no primary metric could be compared."
	}
	if unclear == 0 && untold == 0 {
		return fmt.Sprintf("No setting differs from %s by more than %s in a primary metric: the choice makes no difference here.",
			t.Settings[0].Setting.Label(), dyno.Fraction(t.Negligible))
	}
	slices.Sort(more)
	shown := "No setting is shown to be better or worse"
	if i := slices.IndexFunc(t.Settings, func(s compare.Setting) bool { return len(s.Functions) > 0 }); i > 0 {
		shown = fmt.Sprintf("%s: %s; no setting is shown to be better or worse in total", t.Settings[i].Setting.Label(), functions(&t.Settings[i]))
	}
	return fmt.Sprintf("%s%s%s.", shown, settle(more, (len(more)-1)/2, " half of the unclear verdicts"), nearest(t, vs))
}

func unclearOf(vs []Verdict) (unclear, all int) {
	for _, v := range vs {
		unclear += len(v.Unclear)
		all += len(v.Unclear) + len(v.Better) + len(v.Worse) + len(v.Same)
	}
	return unclear, all
}

// nearest names, of the unclear comparisons that have probably changed, the one that the
// fewest more blocks would settle.
func nearest(t *compare.Table, vs []Verdict) (text string) {
	least := math.MaxInt
	for _, v := range vs {
		for _, name := range v.Unclear {
			x := t.Settings[v.at].Versus[name]
			if x.MoreBlocks <= 0 || x.MoreBlocks >= least || !(x.Lo > 1 || x.Hi < 1) || x.Lo == x.Hi {
				continue
			}
			least = x.MoreBlocks
			text = fmt.Sprintf(". Nearest to a verdict is %s of %s, probably %s [%s, %s]: %s", MetricNoun(name), v.Setting.Label(),
				much(x.Ratio), much(x.Lo), much(x.Hi), layout.Count(least, "more block"))
		}
	}
	return text
}

func plainNouns(metrics []string) string {
	var parts []string
	for _, m := range metrics {
		parts = append(parts, MetricNoun(m))
	}
	return List(parts)
}
