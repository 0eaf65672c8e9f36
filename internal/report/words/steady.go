package words

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Steady says whether response times were steady; "" if there is no more to say than the table does.
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
	over := dyno.Number(window.Hours())
	part := func(by dyno.Number) string {
		frac := math.Abs(float64(by / d.Level))
		if frac > 10 {
			return layout.Change(frac)
		}
		return layout.Share(frac) + "%"
	}
	drifted := func(by dyno.Number) string { return DriftScale(by).With(math.Abs(float64(by))) }
	in := "in " + Plainly(window)
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
		return fmt.Sprintf("%s by %s until %s, then stayed level", verb, drifted(d.Shift), Plainly(at))
	}
	if !(d.Detectable > 0 && d.Detectable*over < d.Level) { // not even a doubling
		return "is unclear (" + SteadyWhy(d.Why) + ")"
	}
	return fmt.Sprintf("is unclear (%s; a change below %s %s would not be detected)", SteadyWhy(d.Why), part(d.Detectable*over), in)
}

func numeral(n int) string {
	if words := []string{"two", "three", "four", "five"}; n-2 < len(words) {
		return words[n-2]
	}
	return fmt.Sprint(n)
}

// DriftScale prints about two digits.
func DriftScale(xs ...dyno.Number) layout.Scale {
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
