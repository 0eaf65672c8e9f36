package tables

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// Changes is the comparison with the baseline: for two settings a line for
// each metric; for more, the primary metrics in full, with a line for each
// setting, and the others in brief.
func (v *View) Changes() []layout.Section {
	var sections []layout.Section
	if len(v.Settings) == 2 {
		sections = []layout.Section{v.pair()}
	} else {
		for _, build := range []func() (layout.Section, bool){v.primary, v.secondary} {
			if s, ok := build(); ok {
				sections = append(sections, s)
			}
		}
	}
	last := &sections[len(sections)-1]
	last.Notes = append(v.uncompared(), v.legend(sections)...)
	return sections
}

const headMore = "more blocks"

// legend explains the words of a comparison.
func (v *View) legend(sections []layout.Section) []string {
	notes := []string{
		fmt.Sprintf("Changes are within blocks, so they can differ from the ratio of the medians. Same: surely within ±%s; unclear: the trials cannot decide.", dyno.Fraction(v.Negligible)),
		fmt.Sprintf("Verdicts rest on p, adjusted for all comparisons of primary metrics together (limit %v) and of the others (%v); intervals are of 95%% each. Both hold whenever they are looked at.",
			compare.PrimaryAlpha, compare.OtherAlpha),
	}
	if g := sections[0].Grids[0]; g.Shows(headMore) {
		notes = append(notes, "More blocks: the number that would settle the comparison if the trials continue alike.")
	}
	if alike := words.Alike(v.Table); alike != "" {
		notes = append(notes, alike)
	}
	return notes
}

// star marks a verdict that was not reached because there was nothing to compare.
const star = "*"

// uncompared explains the stars: what each kind of reason kept from comparison.
func (v *View) uncompared() []string {
	var notes []string
	of := map[string][]string{}
	for i := range v.Settings {
		metrics := map[string][]string{}
		for _, m := range v.Rows {
			if note := words.NotCompared(v.Settings[i].Versus[m.Name].Note); note != "" {
				label, _ := layout.UnitOf(m.Name)
				metrics[note] = append(metrics[note], label)
			}
		}
		for _, note := range slices.Sorted(maps.Keys(metrics)) {
			if of[note] == nil {
				notes = append(notes, note)
			}
			of[note] = append(of[note], v.SettingName(i)+" "+strings.Join(metrics[note], ", "))
		}
	}
	for n, note := range notes {
		notes[n] = fmt.Sprintf("%s %s: %s.", star, note, strings.Join(of[note], "; "))
	}
	return notes
}

// Word is a verdict as tables show it.
func Word(x compare.Versus) string {
	if x.Note.Kind != "" {
		return string(x.Verdict) + star
	}
	return string(x.Verdict)
}

// RowScale is the scale of a metric over all settings.
func (v *View) RowScale(metric string) layout.Scale {
	var xs []float64
	for i := range v.Settings {
		if x, ok := v.Settings[i].Values[metric]; ok {
			xs = append(xs, x.Center)
		}
	}
	return layout.ScaleOf(metric, xs...)
}

// center is the cell of a setting's median.
func (v *View) center(i int, metric string, sc layout.Scale) layout.Cell {
	x, ok := v.Settings[i].Values[metric]
	if !ok {
		return v.absent(i)
	}
	return layout.Cell{Text: sc.Format(x.Center)}
}

// spread is the cell of the interval of a setting's median.
func (v *View) spread(i int, metric string) layout.Cell {
	x, ok := v.Settings[i].Values[metric]
	if !ok {
		return layout.Cell{}
	}
	return layout.Cell{Text: layout.Spread(x.Center, x.Lo, x.Hi), Mark: layout.Faint}
}

// verdict are the cells change, interval, p, verdict and more blocks.
func (v *View) verdict(i int, metric string, sc layout.Scale) []layout.Cell {
	if v.Settings[i].Baseline {
		return []layout.Cell{{}, {}, {}, {Text: "baseline", Mark: layout.Faint}, {}}
	}
	x, ok := v.Settings[i].Versus[metric]
	if _, measured := v.Settings[i].Values[metric]; !ok || !measured {
		return layout.Cells("", "", "", "", "")
	}
	more := ""
	if x.MoreBlocks > 0 {
		more = fmt.Sprintf("~%d", x.MoreBlocks)
	}
	m := layout.MarkOf(x.Verdict)
	return []layout.Cell{
		{Text: v.Delta(i, metric, sc), Mark: m}, {Text: layout.Interval(x.Lo, x.Hi)}, {Text: layout.Pvalue(x.P, 3)},
		{Text: Word(x), Mark: m}, {Text: more},
	}
}

// Delta prints a change in per cent or, if a zero allows no ratio, in the metric's own unit. If one of two
// medians is zero, it says so, since the mean difference within blocks may be larger than the other median.
func (v *View) Delta(i int, metric string, sc layout.Scale) string {
	x := v.Settings[i].Versus[metric]
	base, now := v.Settings[0].Values[metric].Center, v.Settings[i].Values[metric].Center
	switch {
	case !math.IsNaN(x.Ratio):
		return layout.Change(x.Ratio)
	case math.IsNaN(x.Diff):
		return ""
	case x.Diff == 0:
		return "0"
	case now == 0 && base != 0:
		return "to 0"
	case base == 0 && now != 0:
		return "from 0"
	case sc.Unit == "":
		sc.Decimals = max(sc.Decimals, 1)
	}
	return sc.Signed(x.Diff)
}

// pair is the comparison of two settings, a line for each metric.
func (v *View) pair() layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {Left: true, Keep: 1}, {}, {Left: true, Keep: 1},
			{}, {Left: true}, {Keep: 3}, {Left: true}, {Keep: 2}},
		Head: [][]string{{"", "", v.SettingName(0), "", v.SettingName(1), "", "change", "95% interval", "p", "verdict", headMore}},
	}
	wasPrimary := false
	for _, m := range append(v.Metrics(true), v.Metrics(false)...) {
		if wasPrimary && !m.Primary {
			g.Rows = append(g.Rows, layout.Row{})
		}
		wasPrimary = m.Primary
		label, _ := layout.UnitOf(m.Name)
		sc := v.RowScale(m.Name)
		cs := append(layout.Cells(label, sc.Unit),
			v.center(0, m.Name, sc), v.spread(0, m.Name), v.center(1, m.Name, sc), v.spread(1, m.Name))
		g.Rows = append(g.Rows, layout.Row{Cells: append(cs, v.verdict(1, m.Name, sc)...)})
	}
	g.Narrow(v.Width)
	return layout.Section{Changes: true, Title: "Change against " + v.SettingName(0) + " (medians of the trials)", Grids: []layout.Grid{g}}
}

// Metrics lists those that are primary, or those that are not.
func (v *View) Metrics(primary bool) []dyno.Metric {
	var ms []dyno.Metric
	for _, m := range v.Rows {
		if m.Primary == primary {
			ms = append(ms, m.Metric)
		}
	}
	return ms
}

// primary is the comparison of the primary metrics in full.
func (v *View) primary() (layout.Section, bool) {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {Left: true, Keep: 1}, {}, {Left: true}, {Keep: 3}, {Left: true}, {Keep: 2}},
		Head: [][]string{{"", "median", "", "change", "95% interval", "p", "verdict", headMore}},
	}
	for _, m := range v.Metrics(true) {
		label, _ := layout.UnitOf(m.Name)
		sc := v.RowScale(m.Name)
		if sc.Unit != "" {
			label += ", " + sc.Unit
		}
		g.Rows = append(g.Rows, layout.Row{Group: label})
		for i := range v.Settings {
			cs := []layout.Cell{{Text: "  " + v.SettingName(i)}, v.center(i, m.Name, sc), v.spread(i, m.Name)}
			g.Rows = append(g.Rows, layout.Row{Cells: append(cs, v.verdict(i, m.Name, sc)...)})
		}
	}
	g.Narrow(v.Width)
	return layout.Section{
		Changes: true,
		Title:   "Change against " + v.SettingName(0) + " (medians of the trials)",
		Grids:   []layout.Grid{g},
	}, len(g.Rows) > 0
}

// secondary is the comparison of the metrics that are not primary, in brief.
func (v *View) secondary() (layout.Section, bool) {
	ms := v.Metrics(false)
	if len(ms) == 0 {
		return layout.Section{}, false
	}
	const width = 8 // of a change; what follows is the verdict
	words := len(stats.Unclear)
	if len(v.uncompared()) > 0 {
		words += len(star)
	}
	build := func(settings []int) layout.Grid {
		g := layout.Grid{Cols: layout.Columns(len(settings) + 1), Head: v.head(settings)}
		g.Cols[1].Left = true
		for n, h := range g.Head {
			h = append([]string{h[0], ""}, h[1:]...)
			for i := 3; i < len(h); i++ {
				h[i] = fmt.Sprintf("%*s %*s", width, h[i], words, "")
			}
			g.Head[n] = h
		}
		for _, m := range ms {
			label, _ := layout.UnitOf(m.Name)
			sc := v.RowScale(m.Name)
			cs := append(layout.Cells(label, sc.Unit), v.center(settings[0], m.Name, sc))
			for _, i := range settings[1:] {
				x, ok := v.Settings[i].Versus[m.Name]
				if _, measured := v.Settings[i].Values[m.Name]; !ok || !measured {
					cs = append(cs, v.center(i, m.Name, sc)) // not compared, or not there
					continue
				}
				cs = append(cs, layout.Cell{Text: fmt.Sprintf("%*s %-*s", width, v.Delta(i, m.Name, sc), words, Word(x)), Mark: layout.MarkOf(x.Verdict)})
			}
			g.Rows = append(g.Rows, layout.Row{Cells: cs})
		}
		return g
	}
	return layout.Section{
		Title: "Other metrics (the baseline's median; change of the others)",
		Grids: v.fit([]int{0}, v.all()[1:], build),
	}, true
}
