package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
)

var nouns = map[string]string{
	"p50-sec":     "median latency",
	"p99-sec":     "p99 latency",
	"req/s":       "throughput",
	"cpu-sec/req": "CPU time per request",
	"rss-peak-B":  "peak memory",
}

func MetricNoun(metric string) string {
	if n, ok := nouns[metric]; ok {
		return n
	}
	return metric
}

// Noun is what a reader calls a metric: "p99 latency", or its name without the unit.
func Noun(metric string) string {
	if n, ok := nouns[metric]; ok {
		return n
	}
	label, _ := layout.UnitOf(metric)
	return label
}

// Sentences says in at most three sentences which settings changed the most, and what could not
// be told, of primary metrics only. It recommends nothing. Without a finished trial it is nil.
func Sentences(t *compare.Table) []string {
	switch {
	case t.Trials == 0 || len(t.Settings) == 0:
		return nil
	case len(t.Settings) == 1:
		return alone(t)
	}
	var found []string
	if s := silent(t); s != "" {
		found = append(found, s)
	}
	for _, i := range contrast(t, loudest(t)) {
		if len(found) < 2 {
			found = append(found, effect(t, i))
		}
	}
	rest := remainder(t)
	if n := untold(t); n > 0 {
		cause := "requests timed out or were never sent"
		if slices.ContainsFunc(t.Settings, func(s compare.Setting) bool { return s.Saturated != nil }) {
			cause = "dyno may itself have been the limit"
		}
		parts := []string{fmt.Sprintf("%s of primary metrics could not be made, as %s.", layout.Count(n, "comparison"), cause)}
		if rest != "" {
			parts = []string{strings.TrimSuffix(rest, "."), parts[0]}
		}
		rest = strings.Join(parts, "; ")
	}
	if rest != "" {
		found = append(found, rest)
	}
	return found
}

func untold(t *compare.Table) (n int) {
	for i := range t.Settings {
		for _, m := range t.Rows {
			if m.Primary && t.Settings[i].Versus[m.Name].Note.Kind != "" {
				n++
			}
		}
	}
	return n
}

func alone(t *compare.Table) []string {
	s := &t.Settings[0]
	var parts []string
	for _, p := range []struct{ metric, format string }{
		{"p50-sec", "the median latency is %s"}, {"p99-sec", "p99 %s"}, {"req/s", "throughput %s per second"}, {"rss-peak-B", "peak memory %s"},
	} {
		if x, ok := s.Values[p.metric]; ok && !x.Saturated {
			parts = append(parts, fmt.Sprintf(p.format, layout.ScaleOf(p.metric, x.Center).With(x.Center)))
		}
	}
	if parts == nil {
		return nil
	}
	of := ""
	if s.Trials > 1 {
		of = fmt.Sprintf(" (medians of %d trials)", s.Trials)
	}
	text := List(parts) + of + "."
	return []string{strings.ToUpper(text[:1]) + text[1:]}
}

func silent(t *compare.Table) string {
	var names []string
	for i := range t.Settings {
		if t.Settings[i].Trials == 0 {
			names = append(names, t.Settings[i].Setting.Label())
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Nothing is known of %s but how it failed: it has no finished trial.", names[0])
	}
	return fmt.Sprintf("Nothing is known of %s but how they failed: they have no finished trial.", List(names))
}

// changed lists the primary metrics that are better or worse, the greatest change first.
func changed(t *compare.Table, i int) []string {
	var names []string
	vs := t.Settings[i].Versus
	for _, m := range t.Rows {
		if v := vs[m.Name].Verdict; m.Primary && (v == stats.Better || v == stats.Worse) {
			names = append(names, m.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(Magnitude(vs[b].Ratio), Magnitude(vs[a].Ratio))
	})
	return names
}

// size is the distance of a ratio from 1, infinite if a zero allows no ratio.
func Magnitude(ratio float64) float64 {
	if math.IsNaN(ratio) {
		return math.Inf(1)
	}
	return math.Abs(math.Log(ratio))
}

func loudest(t *compare.Table) []int {
	var order []int
	loud := make([]float64, len(t.Settings))
	for i := range t.Settings {
		for _, name := range changed(t, i) {
			loud[i] += Magnitude(t.Settings[i].Versus[name].Ratio)
		}
		if loud[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loud[b], loud[a]) })
	return order
}

// contrast moves to the second place a setting that went the other way in some metric, so
// that the first two show both sides of a trade.
func contrast(t *compare.Table, order []int) []int {
	for n := 1; n < len(order); n++ {
		for _, name := range changed(t, order[n]) {
			a, b := t.Settings[order[0]].Versus[name], t.Settings[order[n]].Versus[name]
			if a.Verdict != b.Verdict && slices.Contains(changed(t, order[0]), name) {
				other := order[n]
				return slices.Insert(slices.Delete(order, n, n+1), 1, other)
			}
		}
	}
	return order
}

func effect(t *compare.Table, i int) string {
	s, base := &t.Settings[i], &t.Settings[0]
	var parts []string
	for n, name := range changed(t, i) {
		part := MetricNoun(name) + " is " + much(s.Versus[name].Ratio)
		if n > 0 {
			part = MetricNoun(name) + " " + much(s.Versus[name].Ratio)
		}
		if n < 2 {
			now, then := s.Values[name].Center, base.Values[name].Center
			sc := layout.ScaleOf(name, now, then)
			part += fmt.Sprintf(" (%s instead of %s)", sc.With(now), sc.With(then))
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s against %s: %s.", s.Setting, base.Setting, List(parts))
}

func much(ratio float64) string {
	percent := func(x float64) string {
		decimals := 1
		if x >= 0.0995 {
			decimals = 0
		}
		return strconv.FormatFloat(x*100, 'f', decimals, 64) + "%"
	}
	switch {
	case math.IsNaN(ratio):
		return "different"
	case ratio >= 2:
		return strconv.FormatFloat(ratio, 'f', 1, 64) + " times as high"
	case ratio >= 1:
		return percent(ratio-1) + " higher"
	}
	return percent(1-ratio) + " lower"
}

func remainder(t *compare.Table) string {
	var unclear, same []string
	var more []int // blocks that would settle an unclear one
	total := 0
	for i := range t.Settings {
		for _, m := range t.Rows {
			x, ok := t.Settings[i].Versus[m.Name]
			if !ok || !m.Primary || t.Settings[i].Trials == 0 || x.Note.Kind != "" {
				continue
			}
			total++
			what := MetricNoun(m.Name)
			if len(t.Settings) > 2 {
				what += " of " + t.Settings[i].Setting.Label()
			}
			switch x.Verdict {
			case stats.Unclear:
				unclear = append(unclear, what)
				more = append(more, cmp.Or(x.MoreBlocks, math.MaxInt))
			case stats.Same:
				same = append(same, what)
			}
		}
	}
	if len(unclear)+len(same) == 0 {
		return ""
	}
	margin := dyno.Fraction(t.Negligible)
	slices.Sort(more)
	if len(unclear) <= 3 && len(same) <= 3 {
		var parts []string
		if len(unclear) > 0 {
			parts = append(parts, "no difference could be shown or ruled out in "+List(unclear)+settle(more, len(more)-1, ""))
		}
		if len(same) > 0 {
			parts = append(parts, fmt.Sprintf("%s stayed the same within %s", List(same), margin))
		}
		text := strings.Join(parts, "; ") + "."
		return strings.ToUpper(text[:1]) + text[1:]
	}
	parts := []string{"none shows a change"}
	if n := total - len(unclear) - len(same); n > 0 {
		parts[0] = fmt.Sprintf("%d show a change", n)
		if n == 1 {
			parts[0] = "1 shows a change"
		}
	}
	if len(same) > 0 {
		parts = append(parts, fmt.Sprintf("%d stayed the same within %s", len(same), margin))
	}
	if len(unclear) > 0 {
		parts = append(parts, fmt.Sprintf("%d are unclear%s", len(unclear), settle(more, (len(more)-1)/2, " half of them")))
	}
	return fmt.Sprintf("Of the %d comparisons of primary metrics, %s.", total, List(parts))
}

// settle says how many more blocks would settle the first i+1 comparisons, or "".
func settle(more []int, i int, what string) string {
	if i < 0 || i >= len(more) || more[i] == math.MaxInt {
		return ""
	}
	return fmt.Sprintf(" (about %s would settle%s)", layout.Count(more[i], "more block"), cmp.Or(what, " it"))
}

func List(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
