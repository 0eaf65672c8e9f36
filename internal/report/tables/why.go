package tables

import (
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// Why is the table of the causes of what changed.
func (v *View) Why() (layout.Section, bool) {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {}},
		Head: [][]string{{"", "", "change", "share of change"}},
	}
	shares, none := false, false
	for i := range v.Settings {
		s := &v.Settings[i]
		placed := map[string]bool{} // metrics whose places are said
		for _, w := range s.Why {
			x := s.Versus[w.Metric]
			sc := layout.ScaleOf(w.Metric, v.Settings[0].Values[w.Metric].Center, s.Values[w.Metric].Center)
			label, _ := layout.UnitOf(w.Metric)
			g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{
				{Text: v.SettingName(i) + ": " + label},
				{Text: sc.Format(v.Settings[0].Values[w.Metric].Center) + " → " + sc.With(s.Values[w.Metric].Center)},
				{Text: v.Delta(i, w.Metric, sc), Mark: layout.MarkOf(x.Verdict)}, {},
			}})
			if len(w.Causes) == 0 {
				none = true
				g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{{Text: "  no cause found", Mark: layout.Faint}, {}, {}, {}}})
			}
			for _, c := range w.Causes {
				shares = shares || !math.IsNaN(float64(c.Share))
				self := c.Metric == w.Metric // its places are the cause
				if placed[c.Metric] && !self {
					c.Places = nil
				}
				placed[c.Metric] = placed[c.Metric] || len(c.Places) > 0
				rows := cause(c)
				if self {
					rows[0].Cells[0], rows[0].Cells[1], rows[0].Cells[2] = layout.Cell{Text: "  by function"}, layout.Cell{}, layout.Cell{}
				}
				g.Rows = append(g.Rows, rows...)
			}
		}
	}
	if len(g.Rows) == 0 {
		return layout.Section{}, false
	}
	var notes []string
	if shares {
		notes = append(notes, "Share of change: known if the cause is itself part of the figure, with its 95% interval; \"all, offset\" if it is more, and something else went the other way. Causes can overlap: a function may be part of the collector.")
	}
	if none {
		notes = append(notes, noCause(v.Profiled))
	}
	return layout.Section{Title: "Why (what changed with it)", Grids: []layout.Grid{g}, Notes: notes}, true
}

func cause(c compare.Cause) []layout.Row {
	sc := layout.ScaleOf(c.Metric, float64(c.Base), float64(c.Now))
	label, _ := layout.UnitOf(c.Metric)
	ratio := ""
	if !math.IsNaN(float64(c.Lo)) {
		ratio = layout.Change(math.Sqrt(float64(c.Lo * c.Hi))) // of log ratios, the middle of the interval
	}
	share := ""
	if !math.IsNaN(float64(c.Share)) {
		share = words.Share(c)
		if c.Offset {
			share = "all, offset"
		}
	}
	rows := []layout.Row{{Cells: []layout.Cell{
		{Text: "  " + string(c.Class) + ", " + label}, {Text: sc.Format(float64(c.Base)) + " → " + sc.With(float64(c.Now))}, {Text: ratio}, {Text: share},
	}}}
	for _, p := range c.Places {
		ps := layout.ScaleOf(c.Metric, slices.DeleteFunc([]float64{float64(p.Change), float64(p.Lo), float64(p.Hi)}, math.IsNaN)...)
		rows = append(rows, layout.Row{Cells: []layout.Cell{{Text: "    " + words.Place(p)}, {Text: strings.TrimSuffix(ps.SignedWith(float64(p.Change))+" "+ps.SignedInterval(float64(p.Lo), float64(p.Hi)), " ")}, {}, {}}})
	}
	return rows
}

func noCause(profiled bool) string {
	note := "No cause found: nothing that dyno measured and that affects the figure surely changed by enough"
	if !profiled {
		note += " (consider: --profile cpu,allocs,mutex, or --trace 3s)"
	}
	return note + "."
}
