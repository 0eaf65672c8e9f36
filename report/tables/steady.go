package tables

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
)

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
		figureRow{"late, %", func(s *compare.Setting) string { return Share(s.Steady.Late) }},
		figureRow{"modes, " + mode.Unit, func(s *compare.Setting) string {
			return each(s.Steady, func(i int) string { return mode.Format(s.Steady.Modes[i].At) })
		}},
		figureRow{"  requests in them, %", func(s *compare.Setting) string {
			if len(s.Steady.Modes) < 2 {
				return ""
			}
			return each(s.Steady, func(i int) string { return Share(s.Steady.Modes[i].Frac) })
		}})
	out := v.figures("Steadiness of response times", func(s *compare.Setting) bool { return s.Steady != nil }, rows)
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil {
			if said := steadySentence(s); said != "" {
				out.Notes = append(out.Notes, sentence(v.lead(i), said))
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
	var hourly, counted []float64
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil && of(s) != nil {
			d := of(s)
			hourly, counted = append(hourly, d.Slope*3600, d.Lo*3600, d.Hi*3600), append(counted, d.PerRequest*1e6)
		}
	}
	drift, perMillion := driftScale(hourly), driftScale(counted)
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
		row("  drift, "+drift.Unit+"/h", func(d *timeline.Drift) string { return signedOrNone(drift, d.Slope*3600) }),
		row("    95% interval", func(d *timeline.Drift) string { return drift.SignedInterval(d.Lo*3600, d.Hi*3600) }),
		row("    would have been seen", func(d *timeline.Drift) string { return known(drift, d.Detectable*3600) }),
		row("  "+perMillion.Unit+" per million requests", func(d *timeline.Drift) string { return signedOrNone(perMillion, d.PerRequest*1e6) }),
	}
}

func signedOrNone(s layout.Scale, x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return s.Signed(x)
}

// driftScale prints about two digits.
func driftScale(xs []float64) layout.Scale {
	s := layout.ScaleOf("drift-sec", xs...)
	greatest := 0.0
	for _, x := range xs {
		if !math.IsNaN(x) {
			greatest = max(greatest, math.Abs(x)/s.Factor)
		}
	}
	switch {
	case greatest >= 100:
		s.Decimals = 0
	case greatest >= 10:
		s.Decimals = 1
	default:
		s.Decimals = 2
	}
	return s
}

// steadySentence is "" if there is no more to say than the table does.
func steadySentence(s *timeline.Steady) string {
	var said []string
	if s.P50 != nil && s.P99 != nil {
		var parts []string
		lead := "response times are steady: "
		for _, p := range []struct {
			name string
			*timeline.Drift
		}{{"p50", s.P50}, {"p99", s.P99}} {
			switch p.Verdict {
			case timeline.TimesDrifting, timeline.TimesStepped:
				lead = "response times are not steady: "
			case timeline.TimesUnclear:
				if lead == "response times are steady: " {
					lead = "it is unclear whether response times are steady: "
				}
			}
			parts = append(parts, p.name+" "+moved(p.Drift, s.Window))
		}
		said = append(said, lead+strings.Join(parts, ", "))
	}
	switch n := len(s.Modes); {
	case n > 1:
		sc := layout.ScaleOf("-sec", s.Modes[0].At)
		var modes []string
		for _, m := range s.Modes {
			if sc = layout.ScaleOf("-sec", m.At); sc.Decimals > 1 {
				sc.Decimals = 1
			}
			modes = append(modes, fmt.Sprintf("%s (%s%%)", sc.With(m.At), Share(m.Frac)))
		}
		said = append(said, fmt.Sprintf("response times have %s modes: %s", numeral(n), words.List(modes)))
	case n == 1 && said != nil:
		said = append(said, "no second mode")
	}
	if said == nil {
		return ""
	}
	return strings.Join(said, "; ") + "."
}

func numeral(n int) string {
	if words := []string{"two", "three", "four", "five"}; n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprint(n)
}

func moved(d *timeline.Drift, window time.Duration) string {
	over := window.Seconds()
	part := func(by float64) string {
		if by = math.Abs(by) / d.Level; by > 10 {
			return layout.Change(by)
		}
		return Share(by) + "%"
	}
	in := "in " + Plainly(window)
	switch d.Verdict {
	case timeline.TimesSteady:
		if math.IsNaN(d.Lo) {
			return "does not drift"
		}
		return "moved by less than " + part(max(math.Abs(d.Lo), math.Abs(d.Hi))*over) + " " + in
	case timeline.TimesDrifting:
		verb := "rises"
		if d.Slope < 0 {
			verb = "falls"
		}
		hourly := driftScale([]float64{d.Slope * 3600})
		requests := driftScale([]float64{d.PerRequest * 1e6})
		return fmt.Sprintf("%s by %s an hour, %s per million requests (by %s %s)",
			verb, hourly.With(math.Abs(d.Slope)*3600), requests.With(math.Abs(d.PerRequest)*1e6), part(d.Slope*over), in)
	case timeline.TimesStepped:
		verb := "rose"
		if d.Shift < 0 {
			verb = "fell"
		}
		at := time.Duration(d.At * float64(time.Second))
		return fmt.Sprintf("%s by %s until %s, and is level since", verb, driftScale([]float64{d.Shift}).With(math.Abs(d.Shift)), Plainly(at))
	}
	if !(d.Detectable > 0 && d.Detectable*over < d.Level) { // not even a doubling
		return "cannot be told (" + words.SteadyWhy(d.Why) + ")"
	}
	return fmt.Sprintf("cannot be told (%s; a change by less than %s %s would not have been seen)", words.SteadyWhy(d.Why), part(d.Detectable*over), in)
}

// plainly prints whole seconds, without those parts at the end that are 0: 5h, 1m.
func Plainly(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
