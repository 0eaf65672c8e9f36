package report

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
)

const maxLevel = 16 // characters; a longer level of a setting of benchmarks has a key in tables

// A view is a table with names for its settings that fit into columns.
type view struct {
	*compare.Table
	width int      // of the page in characters
	keys  []string // "[1]" … where some setting's name is too long, else nil

	labels   []string // of the settings, in sentences
	packages []string // of the benchmarks, each once, in order
	against  bool     // a baseline file comes after the table
}

func newView(t *compare.Table, width int) *view {
	v := &view{Table: t, width: width}
	long := false
	for i := range t.Settings {
		s := t.Settings[i].Setting
		long = long || utf8.RuneCountInString(s.String()) > maxName
		name := s.Label()
		if t.Kind == compare.OfBenchmarks {
			name = benchLabel(s)
			long = long || slices.ContainsFunc(s, func(l dyno.Level) bool { return utf8.RuneCountInString(l.Value) > maxLevel })
		}
		v.labels = append(v.labels, name)
	}
	if long {
		for i := range t.Settings {
			v.keys = append(v.keys, fmt.Sprintf("[%d]", i+1))
		}
	}
	for _, b := range t.Benchmarks {
		if !slices.Contains(v.packages, b.Package) {
			v.packages = append(v.packages, b.Package)
		}
	}
	return v
}

// name is what a row calls setting i.
func (v *view) name(i int) string {
	if v.keys != nil {
		return v.keys[i]
	}
	return v.labels[i]
}

// named is name for the setting that is called so.
func (v *view) named(setting string) string {
	for i := range v.Settings {
		if v.Settings[i].Setting.String() == setting {
			return v.name(i)
		}
	}
	return label(setting)
}

// head returns the headings of one column for each of the settings: a row for
// each factor where all settings have the same ones, as studies print them.
// The first column of the page is named by the factor.
func (v *view) head(settings []int) [][]string {
	if v.keys != nil || !v.crossed() {
		h := []string{""}
		for _, i := range settings {
			h = append(h, v.name(i))
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
func (v *view) crossed() bool {
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
func (v *view) missing(i int) string {
	for _, f := range v.Failed {
		if f.Setting.String() == v.Settings[i].Setting.String() {
			return "failed"
		}
	}
	return "not run"
}

// absent is the cell of a setting that lacks a number.
func (v *view) absent(i int) cell {
	if v.Settings[i].Trials == 0 {
		return cell{text: v.missing(i), mark: bad}
	}
	return cell{text: "-", mark: faint}
}

// fit makes grids of the settings by build, as few as are needed for each to
// be as wide as the page or to have one setting. Settings in front stay
// together with each of the parts.
func (v *view) fit(front, settings []int, build func(settings []int) grid) []grid {
	for parts := 1; ; parts++ {
		size := max(1, (len(settings)+parts-1)/parts)
		var grids []grid
		wide := false
		for at := 0; at < max(1, len(settings)); at += size {
			part := append(append([]int(nil), front...), settings[at:min(at+size, len(settings))]...)
			g := build(part)
			wide = wide || g.width() > v.width
			grids = append(grids, g)
		}
		if !wide || size == 1 {
			return grids
		}
	}
}

func (v *view) all() []int {
	all := make([]int, len(v.Settings))
	for i := range all {
		all[i] = i
	}
	return all
}

// study makes a table as studies print it, a column for each setting. text
// returns "" where a setting lacks the number.
func (v *view) study(labels []string, text func(s *compare.Setting, row int) string) []grid {
	return v.fit(nil, v.all(), func(settings []int) grid {
		g := grid{cols: columns(len(settings)), head: v.head(settings)}
		for n, label := range labels {
			cs := cells(label)
			for _, i := range settings {
				c := cell{text: text(&v.Settings[i], n)}
				if c.text == "" {
					c = v.absent(i)
				}
				cs = append(cs, c)
			}
			g.rows = append(g.rows, row{cells: cs})
		}
		return g
	})
}

// pooled is the table of response times.
func (v *view) pooled() (section, bool) {
	var typical []float64 // that the unit is to suit; a rare maximum has no say
	for i := range v.Settings {
		if p := v.Settings[i].Pooled; p != nil {
			typical = append(typical, p.Mean, p.Stddev)
		}
	}
	if typical == nil {
		return section{}, false
	}
	sc := scaleOf("mean-sec", typical...)
	labels := []string{"mean", "median", "minimum", "maximum", "std deviation", "requests"}
	requests := len(labels) - 1
	var notes []string
	if v.saturated() {
		labels = append(labels, "not compared")
		notes = []string{"Not compared: in so many trials dyno may itself have been the limit; their figures are in the table all the same."}
	}
	return section{
		notes: notes,
		title: fmt.Sprintf("Response times, %s (pooled: successful requests, all repeats; not for verdicts)", sc.unit),
		grids: v.study(labels, func(s *compare.Setting, row int) string {
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
			return sc.format([]float64{p.Mean, p.Median, p.Min, p.Max, p.Stddev}[row])
		}),
	}, true
}

// saturated reports whether the generator was the limit in any trial.
func (v *view) saturated() bool {
	return slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return len(s.Saturated) > 0 })
}

// memory is the table of the highest resident memory.
func (v *view) memory() (section, bool) {
	var highest []float64
	for i := range v.Settings {
		if m := v.Settings[i].Memory; m != nil {
			highest = append(highest, m.Highest)
		}
	}
	if highest == nil {
		return section{}, false
	}
	sc := scaleOf("rss-peak-B", highest...)
	percent := scale{unit: "%", factor: 0.01, decimals: 1}
	labels := []string{"highest, " + sc.unit, "difference, " + sc.unit, "difference, %"}
	if len(v.Settings) == 1 {
		labels = labels[:1]
	}
	return section{
		title: "Memory (highest resident set of all repeats)",
		grids: v.study(labels, func(s *compare.Setting, row int) string {
			m := s.Memory
			if m == nil {
				return ""
			}
			return []string{sc.format(m.Highest), sc.signed(m.Diff), percent.signed(m.Frac)}[row]
		}),
	}, true
}

// values is the table of a single setting: nothing to compare.
func (v *view) values() section {
	s := &v.Settings[0]
	g := grid{
		cols: []column{{left: true}, {left: true}, {}, {left: true}, {left: true, keep: 1}},
		head: [][]string{{"", "", "median", "95% interval", ""}},
	}
	for _, m := range v.Rows {
		x := s.Values[m.Name]
		label, _ := unitOf(m.Name)
		sc := scaleOf(m.Name, x.Center, x.Lo, x.Hi)
		iv := ""
		if !math.IsNaN(x.Lo) && !math.IsNaN(x.Hi) {
			iv = "[" + sc.format(x.Lo) + ", " + sc.format(x.Hi) + "]"
		}
		cs := cells(label, sc.unit, sc.format(x.Center), iv, "")
		if x.Saturated {
			cs[4] = cell{text: "not to be compared", mark: bad}
		}
		g.rows = append(g.rows, row{cells: cs})
	}
	if s.Trials == 1 {
		g.head = [][]string{{"", "", "value", "", ""}}
	}
	return section{title: "Metrics", grids: []grid{g}}
}
