package tables

import (
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// Steady is the table of how response times moved.
func (v *View) Steady() (layout.Section, bool) {
	var modes []float64
	found := false
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil {
			// The share that was late is a metric, and one mode is the median: they alone
			// take no table.
			found = found || s.P50 != nil || s.P99 != nil || len(s.Modes) > 1
			for _, m := range s.Modes {
				modes = append(modes, m.At)
			}
		}
	}
	if !found {
		return layout.Section{}, false
	}
	mode := layout.ScaleOf("-sec", modes...)
	rows := append(v.driftRows("p50", func(s *timeline.Steady) *timeline.Drift { return s.P50 }),
		v.driftRows("p99", func(s *timeline.Steady) *timeline.Drift { return s.P99 })...)
	rows = append(rows,
		figureRow{"late, %", func(s *compare.Setting) string { return layout.Share(float64(s.Steady.Late)) }},
		figureRow{"modes, " + mode.Unit, func(s *compare.Setting) string {
			return each(s.Steady, func(i int) string { return mode.Format(s.Steady.Modes[i].At) })
		}},
		figureRow{"  requests in them, %", func(s *compare.Setting) string {
			if len(s.Steady.Modes) < 2 {
				return ""
			}
			return each(s.Steady, func(i int) string { return layout.Share(s.Steady.Modes[i].Frac) })
		}})
	out := v.figures("Steadiness of response times", func(s *compare.Setting) bool { return s.Steady != nil }, rows)
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil {
			if said := words.Steady(s); said != "" {
				out.Notes = append(out.Notes, words.Sentence(v.lead(i), said))
			}
		}
	}
	return out, true
}

func each(s *timeline.Steady, f func(i int) string) string {
	var parts []string
	for i := range s.Modes {
		parts = append(parts, f(i))
	}
	return strings.Join(parts, ", ")
}

func (v *View) driftRows(name string, of func(*timeline.Steady) *timeline.Drift) []figureRow {
	var hourly, counted []dyno.Number
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil && of(s) != nil {
			d := of(s)
			hourly, counted = append(hourly, d.Slope, d.Lo, d.Hi), append(counted, d.PerMillion)
		}
	}
	drift, perMillion := words.DriftScale(hourly...), words.DriftScale(counted...)
	row := func(label string, text func(d *timeline.Drift) string) figureRow {
		return figureRow{label, func(s *compare.Setting) string {
			if d := of(s.Steady); d != nil {
				return text(d)
			}
			return ""
		}}
	}
	return []figureRow{
		row(name, func(d *timeline.Drift) string { return string(d.Verdict) }),
		row("  drift, "+drift.Unit+"/h", func(d *timeline.Drift) string { return signedOrNone(drift, d.Slope) }),
		row("    95% interval", func(d *timeline.Drift) string { return drift.SignedInterval(float64(d.Lo), float64(d.Hi)) }),
		row("    smallest detectable", func(d *timeline.Drift) string { return known(drift, float64(d.Detectable)) }),
		row("  "+perMillion.Unit+" per million requests", func(d *timeline.Drift) string { return signedOrNone(perMillion, d.PerMillion) }),
	}
}

func signedOrNone(s layout.Scale, x dyno.Number) string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return s.Signed(float64(x))
}
