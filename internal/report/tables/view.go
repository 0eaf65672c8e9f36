// Package tables makes the sections of a report, a table each with its notes, for text,
// Markdown and the page alike. Every figure comes from the packages of analysis.
package tables

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Differs is the fraction by which service time has to differ from latency before both are shown.
const Differs = 0.05

const maxLevel = 16 // characters; a longer level of a setting of benchmarks has a key in tables

// A View is a table with names for its settings that fit into columns.
type View struct {
	*compare.Table
	Width int      // of the page in characters
	Keys  []string // "[1]" … where some setting's name is too long, else nil

	Labels   []string // of the settings, in sentences
	packages []string // of the benchmarks, each once, in order
	against  bool     // a baseline file comes after the table
}

// NewView returns a view for a page of width characters.
func NewView(t *compare.Table, width int) *View {
	v := &View{Table: t, Width: width}
	long := false
	for i := range t.Settings {
		s := t.Settings[i].Setting
		long = long || utf8.RuneCountInString(s.String()) > layout.MaxName
		name := s.Label()
		if t.Kind == compare.OfBenchmarks {
			name = benchLabel(s)
			long = long || slices.ContainsFunc(s, func(l dyno.Level) bool { return utf8.RuneCountInString(l.Value) > maxLevel })
		}
		v.Labels = append(v.Labels, name)
	}
	if long {
		for i := range t.Settings {
			v.Keys = append(v.Keys, fmt.Sprintf("[%d]", i+1))
		}
	}
	for _, b := range t.Benchmarks {
		if !slices.Contains(v.packages, b.Package) {
			v.packages = append(v.packages, b.Package)
		}
	}
	return v
}

// SettingName names setting i in a row.
func (v *View) SettingName(i int) string {
	if v.Keys != nil {
		return v.Keys[i]
	}
	return v.Labels[i]
}

// Named is SettingName by the setting's text.
func (v *View) Named(setting string) string {
	if i := v.Find(setting); i >= 0 {
		return v.SettingName(i)
	}
	return layout.Label(setting)
}

// head returns the headings of one column for each of the settings: a row for
// each factor where all settings have the same ones, as studies print them.
// The first column of the page is named by the factor.
func (v *View) head(settings []int) [][]string {
	if v.Keys != nil || !v.crossed() {
		h := []string{""}
		for _, i := range settings {
			h = append(h, v.SettingName(i))
		}
		return [][]string{h}
	}
	var rows [][]string
	for f, level := range v.Settings[0].Setting {
		h := []string{level.Factor}
		for _, i := range settings {
			h = append(h, levelName(v.Settings[i].Setting[f]))
		}
		rows = append(rows, h)
	}
	return rows
}

// crossed reports whether all settings give the same factors a level.
func (v *View) crossed() bool {
	first := v.Settings[0].Setting
	for i := range v.Settings {
		s := v.Settings[i].Setting
		if len(s) != len(first) {
			return false
		}
		for f := range s {
			if s[f].Factor != first[f].Factor {
				return false
			}
		}
	}
	return true
}

// missing says why setting i has no values.
func (v *View) missing(i int) string {
	if len(v.FailedOf(i)) > 0 {
		return "failed"
	}
	return "not run"
}

// absent is the cell of a setting that lacks a number.
func (v *View) absent(i int) layout.Cell {
	if v.Settings[i].Trials == 0 {
		return layout.Cell{Text: v.missing(i), Mark: layout.Bad}
	}
	return layout.Cell{Text: "-", Mark: layout.Faint}
}

// fit makes grids of the settings by build, as few as are needed for each to
// be as wide as the page or to have one setting. Settings in front stay
// together with each of the parts.
func (v *View) fit(front, settings []int, build func(settings []int) layout.Grid) []layout.Grid {
	for parts := 1; ; parts++ {
		size := max(1, (len(settings)+parts-1)/parts)
		var grids []layout.Grid
		wide := false
		for at := 0; at < max(1, len(settings)); at += size {
			part := append(append([]int(nil), front...), settings[at:min(at+size, len(settings))]...)
			g := build(part)
			wide = wide || g.Width() > v.Width
			grids = append(grids, g)
		}
		if !wide || size == 1 {
			return grids
		}
	}
}

func (v *View) all() []int {
	all := make([]int, len(v.Settings))
	for i := range all {
		all[i] = i
	}
	return all
}

// Study makes a table as studies print it, a column for each setting. text
// returns "" where a setting lacks the number.
func (v *View) Study(labels []string, text func(setting, row int) string) []layout.Grid {
	return v.fit(nil, v.all(), func(settings []int) layout.Grid {
		g := layout.Grid{Cols: layout.Columns(len(settings)), Head: v.head(settings)}
		for n, label := range labels {
			cs := layout.Cells(label)
			for _, i := range settings {
				c := layout.Cell{Text: text(i, n)}
				if c.Text == "" {
					c = v.absent(i)
				}
				cs = append(cs, c)
			}
			g.Rows = append(g.Rows, layout.Row{Cells: cs})
		}
		return g
	})
}

// Pooled is the table of response times.
func (v *View) Pooled() (layout.Section, bool) {
	var typical []float64 // that the unit is to suit; a rare maximum has no say
	for i := range v.Settings {
		if p := v.Settings[i].Pooled; p != nil {
			typical = append(typical, float64(p.Mean), float64(p.Stddev))
		}
	}
	if typical == nil {
		return layout.Section{}, false
	}
	sc := layout.ScaleOf("mean-sec", typical...)
	labels := []string{"mean", "median", "minimum", "maximum", "std deviation", "requests"}
	requests := len(labels) - 1
	var notes []string
	if v.saturated() {
		labels = append(labels, "not compared")
		notes = []string{"Not compared: trials in which dyno may itself have been the limit; the table includes their figures."}
	}
	return layout.Section{
		Notes: notes,
		Title: fmt.Sprintf("Response times, %s (pooled: successful requests, all repeats; not used for verdicts)", sc.Unit),
		Grids: v.Study(labels, func(i, row int) string {
			s := &v.Settings[i]
			p := s.Pooled
			if p == nil {
				return ""
			}
			switch {
			case row == requests:
				return fmt.Sprint(p.Requests)
			case row > requests:
				return fmt.Sprintf("%d of %d", len(s.Saturated), s.Trials)
			}
			return sc.Format(float64([]dyno.Number{p.Mean, p.Median, p.Min, p.Max, p.Stddev}[row]))
		}),
	}, true
}

// saturated reports whether the generator was the limit in any trial.
func (v *View) saturated() bool {
	return slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return len(s.Saturated) > 0 })
}

// Memory is the table of the highest resident memory.
func (v *View) Memory() (layout.Section, bool) {
	var highest []float64
	for i := range v.Settings {
		if m := v.Settings[i].Memory; m != nil {
			highest = append(highest, float64(m.Highest))
		}
	}
	if highest == nil {
		return layout.Section{}, false
	}
	sc := layout.ScaleOf("rss-peak-B", highest...)
	percent := layout.Scale{Unit: "%", Factor: 0.01, Decimals: 1}
	labels := []string{"highest, " + sc.Unit, "difference, " + sc.Unit, "difference, %"}
	if len(v.Settings) == 1 {
		labels = labels[:1]
	}
	return layout.Section{
		Title: "Memory (highest resident set of all repeats)",
		Grids: v.Study(labels, func(i, row int) string {
			m := v.Settings[i].Memory
			if m == nil {
				return ""
			}
			return []string{sc.Format(float64(m.Highest)), sc.Signed(float64(m.Diff)), percent.Signed(float64(m.Frac))}[row]
		}),
	}, true
}

// Values is the table of a single setting: nothing to compare.
func (v *View) Values() layout.Section {
	s := &v.Settings[0]
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {Left: true}, {Left: true, Keep: 1}},
		Head: [][]string{{"", "", "median", "95% interval", ""}},
	}
	for _, m := range v.Rows {
		x := s.Values[m.Name]
		label, _ := layout.UnitOf(m.Name)
		sc := layout.ScaleOf(m.Name, x.Center, x.Lo, x.Hi)
		cs := layout.Cells(label, sc.Unit, sc.Format(x.Center), sc.Interval(x.Lo, x.Hi), "")
		if x.Saturated {
			cs[4] = layout.Cell{Text: "not comparable", Mark: layout.Bad}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	if s.Trials == 1 {
		g.Head = [][]string{{"", "", "value", "", ""}}
	}
	return layout.Section{Title: "Metrics", Grids: []layout.Grid{g}}
}
