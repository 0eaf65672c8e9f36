// Package places makes the sections of a report on the machines of a run whose load came from others.
package places

import (
	"fmt"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/placement"
	"github.com/dynolab/dyno/internal/report/layout"
)

// There are no sections if all was on this machine.
func Sections(p *placement.Places) (out []layout.Section) {
	if p == nil {
		return nil
	}
	if len(p.Agents) > 0 {
		out = append(out, agents(p))
	}
	if len(p.Nodes) > 1 {
		out = append(out, nodes(p))
	}
	if len(p.Same) > 0 {
		out = append(out, same(p))
	}
	return out
}

func duration(seconds dyno.Number) string {
	x := float64(seconds)
	if math.IsNaN(x) {
		return "-"
	}
	sc := layout.ScaleOf("start-sec", x)
	return sc.Format(x) + " " + sc.Unit
}

func agents(p *placement.Places) layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {}, {}, {}, {}},
		Head: [][]string{{"agent", "machine", "trials", "requests", "began late by", "clock error", "sent late, p99"}},
	}
	for _, a := range p.Agents {
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(a.Name, machineName(a.Machine), fmt.Sprint(a.Trials), fmt.Sprint(a.Requests),
			duration(a.Late), "≤ "+duration(a.Clock), duration(a.Lateness))})
	}
	notes := []string{fmt.Sprintf("The agents of a trial began within %s, and their clocks are known to %s: in at most %s%% of a window not all of them sent.",
		duration(p.Spread), duration(p.Clock), layout.Share(float64(p.Share)))}
	var moved []string
	for _, m := range p.Moved {
		if float64(p.Share) >= 1-m.Percentile { // all of its tail may be of that part
			moved = append(moved, fmt.Sprintf("p%g by an unknown amount", 100*m.Percentile))
			continue
		}
		moved = append(moved, fmt.Sprintf("p%g by %+.2g%% to %+.2g%%", 100*m.Percentile, 100*(float64(m.Lo)-1), 100*(float64(m.Hi)-1)))
	}
	if len(moved) > 0 {
		notes = append(notes, "That can have moved "+strings.Join(moved, ", and ")+". Latency itself is measured by the clock of one agent.")
	}
	if p.Void > 0 {
		notes = append(notes, fmt.Sprintf("%s void, and left out.", layout.Count(p.Void, "trial")))
	}
	return layout.Section{Title: "Agents (the worst of all trials)", Grids: []layout.Grid{g}, Notes: notes}
}

func machineName(m dyno.Machine) string {
	s := m.Name
	if m.CPU != "" {
		s += fmt.Sprintf(", %d × %s", m.CPUs, m.CPU)
	}
	if m.Kernel != "" {
		s += ", Linux " + m.Kernel
	}
	return s
}

func nodes(p *placement.Places) layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {Left: true}},
		Head: [][]string{{"node", "", "difference", "95% interval"}},
	}
	var notes []string
	first := p.Nodes[0].Machine.Name
	for _, n := range p.Nodes {
		notes = append(notes, fmt.Sprintf("%s: %s.", machineName(n.Machine), layout.Count(n.Blocks, "block")))
		for i, e := range n.Effects {
			name := ""
			if i == 0 {
				name = n.Machine.Name + " against " + first
			}
			label, _ := layout.UnitOf(e.Metric)
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(name, label, percent(e.Ratio), interval(e))})
		}
	}
	notes = append(notes, "Settings are compared within blocks, each on one node, so that this difference is in no verdict.")
	return layout.Section{Title: "Difference between nodes", Grids: []layout.Grid{g}, Notes: notes}
}

func percent(ratio dyno.Number) string {
	if math.IsNaN(float64(ratio)) {
		return "-"
	}
	return fmt.Sprintf("%+.1f%%", 100*(float64(ratio)-1))
}

func interval(e placement.Effect) string {
	if math.IsNaN(float64(e.Lo)) {
		return "unknown: two blocks on each node or more"
	}
	return "[" + percent(e.Lo) + ", " + percent(e.Hi) + "]"
}

func same(p *placement.Places) layout.Section {
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {Left: true}, {}}, Head: [][]string{{"", "node", "difference"}}}
	for _, s := range p.Same {
		label, _ := layout.UnitOf(s.Metric)
		node := s.Node
		if node == "" {
			node = "-"
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(label, node, percent(s.Ratio))})
	}
	return layout.Section{
		Title: "The baseline against itself", Grids: []layout.Grid{g},
		Notes: []string{"Two trials of the baseline, measured like two settings before all others: what differs is chance. One pair has no interval."},
	}
}
