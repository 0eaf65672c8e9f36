package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/report"
)

// beside returns the published tables of a plan with what t found.
func beside(s *examples.Study, plan string, t *compare.Table) []*report.Published {
	var tables []*report.Published
	none := math.NaN()
	for _, table := range s.Tables {
		if table.Plan != plan {
			continue
		}
		p := &report.Published{Title: table.Title, Source: s.Source, Note: table.Note, Trials: "one trial"}
		if t.Blocks != 1 {
			p.Trials = fmt.Sprintf("medians of %d trials", t.Blocks)
		}
		for _, c := range table.Columns {
			p.Columns = append(p.Columns, c.Name)
		}
		for _, r := range table.Rows {
			row := report.PublishedRow{Label: r.Label, Unit: r.Unit}
			known := slices.ContainsFunc(r.Study, func(x *float64) bool { return x != nil })
			for i := 0; known && i < len(r.Study); i++ {
				row.Study = append(row.Study, *cmp.Or(r.Study[i], &none))
			}
			for _, c := range table.Columns {
				if r.Metric != "" {
					row.Here = append(row.Here, findings.Median(t, c.Setting, r.Metric)*cmp.Or(r.Scale, 1))
				}
			}
			p.Rows = append(p.Rows, row)
		}
		tables = append(tables, p)
	}
	return tables
}
