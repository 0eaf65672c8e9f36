package words

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
)

// SteadySentence is "" if there is no more to say than the table does.
func Steady(s *timeline.Steady) string {
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
			modes = append(modes, fmt.Sprintf("%s (%s%%)", sc.With(m.At), layout.Share(m.Frac)))
		}
		said = append(said, fmt.Sprintf("response times have %s modes: %s", numeral(n), List(modes)))
	case n == 1 && said != nil:
		said = append(said, "no second mode")
	}
	if said == nil {
		return ""
	}
	return strings.Join(said, "; ") + "."
}

func moved(d *timeline.Drift, window time.Duration) string {
	over := window.Seconds()
	part := func(by float64) string {
		if by = math.Abs(by) / d.Level; by > 10 {
			return layout.Change(by)
		}
		return layout.Share(by) + "%"
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
		hourly := DriftScale([]float64{d.Slope * 3600})
		requests := DriftScale([]float64{d.PerRequest * 1e6})
		return fmt.Sprintf("%s by %s an hour, %s per million requests (by %s %s)",
			verb, hourly.With(math.Abs(d.Slope)*3600), requests.With(math.Abs(d.PerRequest)*1e6), part(d.Slope*over), in)
	case timeline.TimesStepped:
		verb := "rose"
		if d.Shift < 0 {
			verb = "fell"
		}
		at := time.Duration(d.At * float64(time.Second))
		return fmt.Sprintf("%s by %s until %s, and is level since", verb, DriftScale([]float64{d.Shift}).With(math.Abs(d.Shift)), Plainly(at))
	}
	if !(d.Detectable > 0 && d.Detectable*over < d.Level) { // not even a doubling
		return "cannot be told (" + SteadyWhy(d.Why) + ")"
	}
	return fmt.Sprintf("cannot be told (%s; a change by less than %s %s would not have been seen)", SteadyWhy(d.Why), part(d.Detectable*over), in)
}

func numeral(n int) string {
	if words := []string{"two", "three", "four", "five"}; n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprint(n)
}

// DriftScale prints about two digits.
func DriftScale(xs []float64) layout.Scale {
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

// Plainly prints whole seconds, without those parts at the end that are 0: 5h, 1m.
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
