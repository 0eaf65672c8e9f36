package words

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
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

// samePoint is how near the ends of an interval are that reports print alike.
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
		List(parts), layout.Count(blocks, "block"), dyno.Fraction(math.Pow(2, float64(1-blocks))))
}

// Place is a function with its file and line, shortened in the middle.
func Place(p compare.Place) string {
	where := p.Func
	if p.File != "" {
		where += fmt.Sprintf(" (%s:%d)", path.Base(p.File), p.Line)
	}
	return layout.Middle(where, 60)
}

// Cause says how a cause belongs to the change of a primary metric, with the places that changed most.
func Cause(c compare.Cause, of string) string {
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
	primary, _ := layout.UnitOf(of)
	switch {
	case c.Metric == of && !math.IsNaN(float64(c.Share)) && len(c.Places) > 0:
		text = fmt.Sprintf("%.0f%% of the change in %s is in functions", 100*float64(c.Share), primary)
	case !math.IsNaN(float64(c.Share)):
		text += fmt.Sprintf(" is %.0f%% of the change in %s", 100*float64(c.Share), primary)
	case c.Metric != of:
		text = primary + " changed with " + text
	}
	var places []string
	for _, p := range c.Places[:min(len(c.Places), 2)] {
		sc := layout.ScaleOf(c.Metric, math.Abs(float64(p.Change)))
		places = append(places, Place(p)+" "+sc.SignedWith(float64(p.Change)))
	}
	if places != nil {
		text += ": " + strings.Join(places, ", ")
	}
	return text
}
