package words

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

var shareNouns = map[string]string{"cpu-sec/req": "CPU time", "alloc-B/req": "memory allocated", "mutex-wait-sec/req": "waiting for locks"}

// functions says which functions of a setting surely changed though totals do not show it.
func functions(s *compare.Setting) string {
	var parts []string
	for _, f := range s.Functions[:min(len(s.Functions), mostSites)] {
		sc := layout.ScaleOf(f.Metric, math.Abs(float64(f.Change)))
		rose := "rose"
		if f.Change < 0 {
			rose = "fell"
		}
		parts = append(parts, fmt.Sprintf("%s in %s surely %s by %s %s", shareNouns[f.Metric], f.Func, rose,
			sc.With(math.Abs(float64(f.Change))), sc.Interval(float64(f.Lo), float64(f.Hi))))
	}
	return List(parts)
}

// samePoint is the distance below which reports print both ends of an interval alike.
const samePoint = 5e-4

// Alike explains changes that are unclear beside an interval of one point; "" if there are none.
func Alike(t *compare.Table) string {
	var parts []string
	blocks := 0
	for i := range t.Settings {
		for _, m := range t.Rows {
			x := t.Settings[i].Versus[m.Name]
			if x.Verdict != stats.Unclear || x.Note.Kind != "" || x.Comparison.N < 2 || !(x.Hi-x.Lo <= samePoint) || !(math.Abs(x.Ratio-1) > samePoint) {
				continue
			}
			if noun := MetricNoun(m.Name) + " of " + t.Settings[i].Setting.Label(); len(parts) < mostSites {
				parts = append(parts, noun)
			}
			blocks = x.Comparison.N
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("An interval of one point (%s): %s show the same change, so only the signs count; chance alone gives as many equal signs in %s of cases, not adjusted for other comparisons.",
		List(parts), layout.Count(blocks, "block"), strconv.FormatFloat(100*math.Pow(2, float64(1-blocks)), 'g', 3, 64)+"%")
}

// Place is a function with its file and line, shortened in the middle.
func Place(p compare.Place) string {
	where := p.Func
	if p.File != "" {
		where += fmt.Sprintf(" (%s:%d)", path.Base(p.File), p.Line)
	}
	return layout.Middle(where, 60)
}

// Cause says how a cause belongs to the change of a primary metric, the first of those that it may explain, with the
// places that changed most. Of statements all these metrics are said.
func Cause(c compare.Cause, all []string) string {
	text, of := causeNoun(c), all[0]
	if c.Class != compare.ClassStatements && c.Class != compare.ClassServer {
		all = all[:1]
	}
	primary, _ := layout.UnitOf(of)
	switch {
	case c.Metric == of && c.Offset && len(c.Places) > 0:
		text = fmt.Sprintf("functions changed by more than %s did, as others went the other way", primary)
	case c.Metric == of && !math.IsNaN(float64(c.Share)) && len(c.Places) > 0:
		text = fmt.Sprintf("%s of the change in %s is in functions", Share(c), primary)
	case c.Offset:
		text += fmt.Sprintf(" is all of the change in %s, and more, which something else offset", primary)
	case !math.IsNaN(float64(c.Share)):
		text += fmt.Sprintf(" is %s of the change in %s", Share(c), primary)
	case c.Metric != of:
		text = Together(c, all)
	}
	var places []string
	for _, p := range c.Places[:min(len(c.Places), 2)] {
		places = append(places, changed(c, p))
	}
	if places != nil {
		text += ": " + strings.Join(places, ", ")
	}
	return text
}

// Delayed says which needs of a setting have a relay with another delay than in the baseline; "" if none has.
func Delayed(base, s dyno.Setting) string {
	var parts []string
	for _, l := range s {
		need, is := strings.CutSuffix(strings.TrimPrefix(l.Factor, "needs."), ".delay")
		if was, _ := base.Get(l.Factor); is && strings.HasPrefix(l.Factor, "needs.") && was != l.Value {
			parts = append(parts, fmt.Sprintf("as asked, the relay before %s adds %s, not %s, to each message", need, l.Value, was))
		}
	}
	return strings.Join(parts, "; ")
}

// changed names a place and by how much it changed; a statement with its number or time per request in both.
func changed(c compare.Cause, p compare.Place) string {
	if c.Class == compare.ClassStatements || c.Class == compare.ClassServer {
		now := float64(p.From + p.Change)
		sc := layout.ScaleOf(c.Metric, float64(p.From), now)
		return fmt.Sprintf("\"%s\" %s → %s per request", Place(p), sc.Format(float64(p.From)), sc.With(now))
	}
	return Place(p) + " " + layout.ScaleOf(c.Metric, math.Abs(float64(p.Change))).SignedWith(float64(p.Change))
}

// causeNoun names a cause, with how much it changed.
func causeNoun(c compare.Cause) string {
	text, named := nouns[c.Metric]
	var figures []string
	if !named {
		label, _ := layout.UnitOf(c.Metric)
		text, figures = string(c.Class), append(figures, label)
	}
	if !math.IsNaN(float64(c.Lo)) {
		figures = append(figures, layout.Change(math.Sqrt(float64(c.Lo*c.Hi)))) // the middle of the interval, of log ratios
	}
	if figures != nil {
		text += " (" + strings.Join(figures, " ") + ")"
	}
	return text
}

// Together says which primary metrics changed together with a metric whose share is not known. That one is
// the cause of the other was not measured.
func Together(c compare.Cause, of []string) string {
	rose, fell := "rose", "fell"
	if c.Now < c.Base {
		rose, fell = fell, rose
	}
	var with, against []string
	for _, metric := range of {
		label, _ := layout.UnitOf(metric)
		if metric == "req/s" { // the only one of which less is worse
			against = append(against, label)
		} else {
			with = append(with, label)
		}
	}
	switch noun := causeNoun(c); {
	case with == nil:
		return fmt.Sprintf("%s %s as %s %s", List(against), fell, noun, rose)
	case against == nil:
		return fmt.Sprintf("%s %s together", List(append(with, noun)), rose)
	default:
		return fmt.Sprintf("%s %s together, and %s %s", List(append(with, noun)), rose, List(against), fell)
	}
}

// tenths are shares in words, for those without an interval.
var tenths = []string{"a small part", "about a tenth", "about a fifth", "about three tenths", "about two fifths", "about half",
	"about three fifths", "about seven tenths", "about four fifths", "about nine tenths", "nearly all"}

// Share is the share of a cause, as well as it is known.
func Share(c compare.Cause) string {
	per := func(x dyno.Number) string { return fmt.Sprintf("%.0f%%", 100*float64(x)) }
	switch {
	case c.Least >= 0.95:
		return "all"
	case !math.IsNaN(float64(c.Least)) && c.Share >= 0.995:
		return fmt.Sprintf("all [%s, %s]", per(c.Least), per(c.Most))
	case !math.IsNaN(float64(c.Least)):
		return fmt.Sprintf("%s [%s, %s]", per(c.Share), per(c.Least), per(c.Most))
	}
	return tenths[int(math.Round(10*max(0, min(float64(c.Share), 1))))]
}

// Likely names what would account for most of the changes of a setting, if it were sure, and how many more blocks that may take.
func Likely(setting string, class compare.Class, metric string, ratio float64, more int) string {
	label, _ := layout.UnitOf(metric)
	return fmt.Sprintf("Why, %s: no cause is sure; %s (%s %s) is nearest, and %s may show it.", setting, class, label, layout.Change(ratio), layout.Count(more, "more block"))
}

// NoCause says of settings that nothing was found which accounts for their changes, which are of memory alone or not, and what may find it.
func NoCause(settings []string, profiled, memory bool) string {
	text := "Why, " + strings.Join(settings, ", ") + ": no cause was found"
	switch {
	case profiled:
		return text + "."
	case memory:
		return text + " (consider: --profile heap)."
	}
	return text + " (consider: --profile cpu)."
}
