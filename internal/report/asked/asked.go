// Package asked shows who asks whom for a request, and how long each works for it.
package asked

import (
	"math"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Section draws a tree of the service and its needs. study lays out a row for each label, with the cell of setting i. Without
// needs there is no section.
func Section(t *compare.Table, study func(labels []string, cell func(i, row int) string) []layout.Grid) (layout.Section, bool) {
	value := func(i int, need, metric string) float64 {
		if v, ok := t.Settings[i].Values[strings.TrimPrefix(need+"-"+metric, "-")]; ok {
			return v.Center
		}
		return math.NaN()
	}
	nodes := compare.Tree(t.Uses)
	var labels []string
	var typical []float64
	for _, n := range nodes {
		name := n.Name
		if name == "" {
			name = "the service"
		}
		labels = append(labels, n.Stem+name)
		for i := range t.Settings {
			if cpu := value(i, n.Name, "cpu-sec/req"); cpu > 0 {
				typical = append(typical, cpu)
			}
		}
	}
	if typical == nil || len(nodes) < 2 {
		return layout.Section{}, false
	}
	sc := layout.ScaleOf("cpu-sec/req", typical...)
	cell := func(i, row int) string {
		text, name := "", nodes[row].Name
		if cpu := value(i, name, "cpu-sec/req"); !math.IsNaN(cpu) {
			text = sc.Format(cpu)
		}
		if n := value(i, name, "statements/req"); n > 0 && name != "" {
			text = strings.TrimSpace(text + " for " + layout.ScaleOf("statements/req", n).Format(n))
		}
		return text
	}
	return layout.Section{
		Title: "Who asks whom: CPU time (" + sc.Unit + ") and statements per request",
		Grids: study(labels, cell),
	}, true
}
