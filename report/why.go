package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
)

func (v *view) why() (section, bool) {
	g := grid{
		cols: []column{{left: true}, {left: true}, {}, {}},
		head: [][]string{{"", "", "change", "of the change"}},
	}
	shares, none := false, false
	for i := range v.Settings {
		s := &v.Settings[i]
		placed := map[string]bool{} // metrics whose places are said
		for _, w := range s.Why {
			x := s.Versus[w.Metric]
			sc := scaleOf(w.Metric, v.Settings[0].Values[w.Metric].Center, s.Values[w.Metric].Center)
			label, _ := unitOf(w.Metric)
			g.rows = append(g.rows, row{cells: []cell{
				{text: v.name(i) + ": " + label},
				{text: sc.format(v.Settings[0].Values[w.Metric].Center) + " → " + sc.with(s.Values[w.Metric].Center)},
				{text: v.delta(i, w.Metric, sc), mark: markOf(x.Verdict)}, {},
			}})
			if len(w.Causes) == 0 {
				none = true
				g.rows = append(g.rows, row{cells: []cell{{text: "  no cause found", mark: faint}, {}, {}, {}}})
			}
			for _, c := range w.Causes {
				shares = shares || !math.IsNaN(c.Share)
				self := c.Metric == w.Metric // its places are the cause
				if placed[c.Metric] && !self {
					c.Places = nil
				}
				placed[c.Metric] = placed[c.Metric] || len(c.Places) > 0
				rows := cause(c)
				if self {
					rows[0].cells[0], rows[0].cells[1], rows[0].cells[2] = cell{text: "  by function"}, cell{}, cell{}
				}
				g.rows = append(g.rows, rows...)
			}
		}
	}
	if len(g.rows) == 0 {
		return section{}, false
	}
	var notes []string
	if shares {
		notes = append(notes, "Of the change: what a cause that is itself a part of the figure accounts for; above 100% where something else went the other way. Causes can overlap: a function may be a part of the collector.")
	}
	if none {
		notes = append(notes, noCause(v.Profiled))
	}
	return section{title: "Why (what was measured to change with it)", grids: []grid{g}, notes: notes}, true
}

func cause(c compare.Cause) []row {
	sc := scaleOf(c.Metric, c.Base, c.Now)
	label, _ := unitOf(c.Metric)
	ratio := ""
	if !math.IsNaN(c.Lo) {
		ratio = Change(math.Sqrt(c.Lo * c.Hi)) // of log ratios, the middle of the interval
	}
	share := ""
	if !math.IsNaN(c.Share) {
		share = strconv.FormatFloat(100*c.Share, 'f', 0, 64) + "%"
	}
	rows := []row{{cells: []cell{
		{text: "  " + string(c.Class) + ", " + label}, {text: sc.format(c.Base) + " → " + sc.with(c.Now)}, {text: ratio}, {text: share},
	}}}
	for _, p := range c.Places {
		where := p.Func
		if p.File != "" {
			where += fmt.Sprintf(" (%s:%d)", path.Base(p.File), p.Line)
		}
		ps := scaleOf(c.Metric, slices.DeleteFunc([]float64{p.Change, p.Lo, p.Hi}, math.IsNaN)...)
		rows = append(rows, row{cells: []cell{{text: "    " + middle(where, 60)}, {text: strings.TrimSuffix(ps.signedWith(p.Change)+" "+ps.signedInterval(p.Lo, p.Hi), " ")}, {}, {}}})
	}
	return rows
}

func noCause(profiled bool) string {
	note := "No cause found: nothing that dyno measured and that moves the figure was surely different"
	if profiled {
		return note + "."
	}
	return note + " (consider: --profile cpu,allocs,mutex, or --trace 3s)."
}
