package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
)

func (v *view) steady() (layout.Section, bool) {
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
		figureRow{"late, %", func(s *compare.Setting) string { return share(float64(s.Steady.Late)) }},
		figureRow{"modes, " + mode.Unit, func(s *compare.Setting) string {
			return each(s.Steady, func(i int) string { return mode.Format(s.Steady.Modes[i].At) })
		}},
		figureRow{"  requests in them, %", func(s *compare.Setting) string {
			if len(s.Steady.Modes) < 2 {
				return ""
			}
			return each(s.Steady, func(i int) string { return share(s.Steady.Modes[i].Frac) })
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

func (v *view) driftRows(name string, of func(*timeline.Steady) *timeline.Drift) []figureRow {
	var hourly, counted []dyno.Number
	for i := range v.Settings {
		if s := v.Settings[i].Steady; s != nil && of(s) != nil {
			d := of(s)
			hourly, counted = append(hourly, d.Slope, d.Lo, d.Hi), append(counted, d.PerMillion)
		}
	}
	drift, perMillion := driftScale(hourly...), driftScale(counted...)
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
		row("    would have been seen", func(d *timeline.Drift) string { return known(drift, float64(d.Detectable)) }),
		row("  "+perMillion.Unit+" per million requests", func(d *timeline.Drift) string { return signedOrNone(perMillion, d.PerMillion) }),
	}
}

func signedOrNone(s layout.Scale, x dyno.Number) string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return s.Signed(float64(x))
}

// driftScale prints about two digits.
func driftScale(xs ...dyno.Number) layout.Scale {
	greatest := 0.0
	for _, x := range xs {
		if !math.IsNaN(float64(x)) {
			greatest = max(greatest, math.Abs(float64(x)))
		}
	}
	s := layout.ScaleOf("drift-sec", greatest)
	s.Decimals = 2
	for x := greatest / s.Factor; x >= 10 && s.Decimals > 0; x /= 10 {
		s.Decimals--
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
			parts = append(parts, p.name+" "+moved(p.Drift, time.Duration(float64(s.Window)*float64(time.Second))))
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
			modes = append(modes, fmt.Sprintf("%s (%s%%)", sc.With(m.At), share(m.Frac)))
		}
		said = append(said, fmt.Sprintf("response times have %s modes: %s", numeral(n), list(modes)))
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
	over := dyno.Number(window.Hours())
	part := func(by dyno.Number) string {
		frac := math.Abs(float64(by / d.Level))
		if frac > 10 {
			return layout.Change(frac)
		}
		return share(frac) + "%"
	}
	drifted := func(by dyno.Number) string { return driftScale(by).With(math.Abs(float64(by))) }
	in := "in " + plainly(window)
	switch d.Verdict {
	case timeline.TimesSteady:
		if math.IsNaN(float64(d.Lo)) {
			return "does not drift"
		}
		return "moved by less than " + part(max(-d.Lo, d.Lo, -d.Hi, d.Hi)*over) + " " + in
	case timeline.TimesDrifting:
		verb := "rises"
		if d.Slope < 0 {
			verb = "falls"
		}
		return fmt.Sprintf("%s by %s an hour, %s per million requests (by %s %s)", verb, drifted(d.Slope), drifted(d.PerMillion), part(d.Slope*over), in)
	case timeline.TimesStepped:
		verb := "rose"
		if d.Shift < 0 {
			verb = "fell"
		}
		at := time.Duration(float64(d.At) * float64(time.Second))
		return fmt.Sprintf("%s by %s until %s, and is level since", verb, drifted(d.Shift), plainly(at))
	}
	if !(d.Detectable > 0 && d.Detectable*over < d.Level) { // not even a doubling
		return "cannot be told (" + steadyWhy(d.Why) + ")"
	}
	return fmt.Sprintf("cannot be told (%s; a change by less than %s %s would not have been seen)", steadyWhy(d.Why), part(d.Detectable*over), in)
}

// plainly prints whole seconds, without those parts at the end that are 0: 5h, 1m.
func plainly(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
