package tables

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// Leak is the table of what grows without an end.
func (v *View) Leak() (layout.Section, bool) {
	var rates, requests []float64
	found := false
	for i := range v.Settings {
		l := v.Settings[i].Leak
		if l == nil {
			continue
		}
		found = true
		if m := l.Memory; m != nil {
			rates = append(rates, LeakFigures(m, m.Slope, m.Lo, m.Hi, m.Detectable)...)
			requests = append(requests, LeakFigures(m, m.Per, math.NaN(), math.NaN(), m.DetectablePer)...)
		}
	}
	if !found {
		return layout.Section{}, false
	}
	rate, per := words.Coarse(layout.ScaleOf("leak-B", rates...)), words.Coarse(layout.ScaleOf("leak-B", requests...))
	s := v.figures("Leaks", func(s *compare.Setting) bool { return s.Leak != nil }, v.leakRows(rate, per))
	for i := range v.Settings {
		if l := v.Settings[i].Leak; l != nil {
			name, service := v.leakSubject(i)
			s.Notes = append(s.Notes, words.LeakNotes(name, service, l)...)
		}
	}
	return s, true
}

func (v *View) leakRows(rate, per layout.Scale) []figureRow {
	memory := func(text func(m *leak.Grown) string) func(s *compare.Setting) string {
		return func(s *compare.Setting) string {
			if m := s.Leak.Memory; m != nil {
				return text(m)
			}
			return ""
		}
	}
	rows := []figureRow{
		{"memory", memory(func(m *leak.Grown) string { return string(m.Verdict) })},
		{"  growth, " + rate.Unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Slope) })},
		{"  95% interval", memory(func(m *leak.Grown) string { return rate.Interval(m.Lo, m.Hi) })},
		{"  smallest detectable, " + rate.Unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Detectable) })},
		{"  growth per 1,000 requests, " + per.Unit, memory(func(m *leak.Grown) string { return known(per, m.Per) })},
		{"  smallest detectable, " + per.Unit, memory(func(m *leak.Grown) string { return known(per, m.DetectablePer) })},
	}
	for _, name := range []string{"goroutines", "threads", "fds"} {
		other := func(text func(g *leak.Grown) string) func(s *compare.Setting) string {
			return func(s *compare.Setting) string {
				if g := otherOf(s, name); g != nil {
					return text(g)
				}
				return ""
			}
		}
		if !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool {
			g := otherOf(&s, name)
			return g != nil && g.Verdict != leak.NoLeak
		}) {
			continue
		}
		rows = append(rows,
			figureRow{words.LeakNouns[name], other(func(g *leak.Grown) string { return string(g.Verdict) })},
			figureRow{"  growth, 1/h", other(func(g *leak.Grown) string { return words.Tally(g.Slope) })})
	}
	return rows
}

// LeakFigures are the figures that choose the unit: without a leak, noise has no say.
func LeakFigures(m *leak.Grown, slope, lo, hi, detectable float64) []float64 {
	if m.Verdict == leak.Leaking {
		return slices.DeleteFunc([]float64{slope, lo, hi}, math.IsNaN)
	}
	return []float64{detectable}
}

// otherOf returns the growth of a setting's goroutines, threads or descriptors, or nil.
func otherOf(s *compare.Setting, name string) *leak.Grown {
	if s.Leak != nil {
		for _, o := range s.Leak.Others {
			if o.Name == name {
				return o.Grown
			}
		}
	}
	return nil
}

// Leaks says what leaks of setting i.
func (v *View) Leaks(i int, l *leak.Leak) []string {
	name, service := v.leakSubject(i)
	return words.Leaks(name, service, l)
}

// leakSubject begins a sentence about a part of setting i, and one about the setting itself.
func (v *View) leakSubject(i int) (name, service string) {
	if len(v.Settings) > 1 {
		return v.lead(i), v.SettingName(i)
	}
	return "", "The service"
}
