package tables

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// benchLabel names a setting in a sentence. A setting that is a benchmark has no "bench=" before it.
func benchLabel(s dyno.Setting) string {
	if len(s) == 1 && s[0].Factor == dyno.BenchFactor {
		return levelName(s[0])
	}
	var parts []string
	for _, l := range s {
		parts = append(parts, l.Factor+"="+levelName(l))
	}
	return cmp.Or(strings.Join(parts, " "), s.Label())
}

// levelName is a level for a reader, who needs quotes only around what has spaces in it.
func levelName(l dyno.Level) string {
	if l.Value == "" {
		return "(empty)"
	}
	if strings.ContainsFunc(l.Value, func(r rune) bool { return r == ' ' || r == '"' || !strconv.IsPrint(r) }) {
		return strconv.Quote(l.Value)
	}
	return l.Value
}

// labelOf returns the label of a setting, given its String.
func (v *View) labelOf(setting string) string {
	if i := v.Find(setting); i >= 0 {
		return v.Labels[i]
	}
	return layout.Label(setting)
}

// readable replaces the names of settings in a text by their labels.
func (v *View) readable(text string) string {
	for i, s := range v.Settings {
		if name := s.Setting.Label(); name != v.Labels[i] {
			text = strings.ReplaceAll(text, name, v.Labels[i])
		}
	}
	return text
}

func (v *View) readableAll(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, v.readable(text))
	}
	return out
}

// Others are the settings but the baseline.
func (v *View) Others() []int { return v.all()[min(1, len(v.Settings)):] }

// row names a benchmark in its row. If its name is only the compared element ("*"), the row has the settings'
// names: "Pipeline1 → Pipeline2".
func (v *View) row(r *compare.Benchmark) string {
	if r.Name != "*" {
		return r.Name
	}
	var levels []string
	for _, s := range v.Settings {
		for _, l := range s.Setting {
			if l.Factor == dyno.BenchFactor && !slices.Contains(levels, l.Value) {
				levels = append(levels, l.Value)
			}
		}
	}
	if len(levels) < 2 {
		return r.Name
	}
	return levels[0] + " → " + strings.Join(levels[1:], ", ")
}

// Called names a benchmark in a sentence: with the last element of its package where
// there are several.
func (v *View) Called(r *compare.Benchmark) string {
	if len(v.packages) < 2 {
		return v.row(r)
	}
	last := path.Base(r.Package)
	for _, p := range v.packages {
		if p != r.Package && path.Base(p) == last {
			return r.Package + "." + v.row(r)
		}
	}
	return last + "." + v.row(r)
}

// A standing is what is known of one comparison, or of a benchmark as a whole.
type standing int

const (
	isUntold standing = iota // not measured of both in two blocks
	isEqual                  // never differed
	isSame                   // within what is negligible
	isUnclear
	IsChanged
)

// median returns the median of a unit in setting i; NaN if absent.
func (v *View) median(u *compare.Row, i int) compare.Summary {
	if x, ok := v.Settings[i].Values[u.Key]; ok {
		return x
	}
	return compare.Summary{Center: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
}

// StandingOf returns the standing of a unit in setting i.
func (v *View) StandingOf(u *compare.Row, i int) standing {
	x := v.Versus(*u, i)
	switch {
	case x == nil:
		return isUntold
	case x.Verdict == stats.Better || x.Verdict == stats.Worse:
		return IsChanged
	case x.Diff == 0 && x.Comparison.SD == 0:
		return isEqual
	case x.Verdict == stats.Same:
		return isSame
	}
	return isUnclear
}

// VerdictCell is the verdict; of a unit without a better side, a change is just that.
func (v *View) VerdictCell(u *compare.Row, i int) layout.Cell {
	switch s := v.StandingOf(u, i); {
	case s == isUntold:
		return layout.Cell{Text: "not compared", Mark: layout.Faint}
	case s == IsChanged && u.Better == 0:
		return layout.Cell{Text: "changed"}
	case s == isEqual:
		return layout.Cell{Text: "equal", Mark: layout.Faint}
	}
	x := v.Versus(*u, i)
	return layout.Cell{Text: string(x.Verdict), Mark: layout.MarkOf(x.Verdict)}
}

// echoes reports whether a unit says in all settings what time per operation says
// already.
func (v *View) echoes(u *compare.Row) bool {
	if u.Name != "B/s" || u.Benchmark.Units[0].Name != "sec/op" {
		return false
	}
	for _, i := range v.Others() {
		if !v.Echoes(*u, i) {
			return false
		}
	}
	return true
}

// rowStanding returns the standing of a benchmark in setting i. It is changed if any unit changed. Else it is
// not known if its first unit, the time, is not known. Else it is unclear if any unit is.
func (v *View) rowStanding(r *compare.Benchmark, i int) standing {
	if len(r.Units) == 0 {
		return isUntold
	}
	most := isUntold
	for n := range r.Units {
		if u := &r.Units[n]; !v.echoes(u) {
			most = max(most, v.StandingOf(u, i))
		}
	}
	if most < IsChanged && v.StandingOf(&r.Units[0], i) == isUntold {
		return isUntold
	}
	return most
}

// UnitsOf are the units of all benchmarks in the order in which they are shown.
func (v *View) UnitsOf() (names []string) {
	for i := range v.Benchmarks {
		for n := range v.Benchmarks[i].Units {
			if u := v.Benchmarks[i].Units[n].Name; !slices.Contains(names, u) {
				names = append(names, u)
			}
		}
	}
	first := []string{"allocs/op", "B/op", "sec/op"}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(slices.Index(first, b), slices.Index(first, a))
	})
	return names
}

// Unit finds a row's unit; nil if it has none of that name.
func Unit(r *compare.Benchmark, name string) *compare.Row {
	for i := range r.Units {
		if r.Units[i].Name == name {
			return &r.Units[i]
		}
	}
	return nil
}

// UnitChange is the change of a unit, "" if it was not compared.
func (v *View) UnitChange(u *compare.Row, i int) string {
	x := v.Versus(*u, i)
	if x == nil {
		return ""
	}
	return v.Delta(i, u.Key, layout.ScaleOf(u.Name, x.Diff))
}

// took prints a time of measuring in the two units that matter, or "" if it is not known.
func took(sec float64) string {
	if !(sec >= 0 && sec < 1e9) {
		return ""
	}
	if sec < 60 {
		return strconv.FormatFloat(sec, 'g', 2, 64) + " s"
	}
	d := time.Duration(sec * 1e9).Round(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
