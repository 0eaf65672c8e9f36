// Package suites shows what benchmarks of many packages come to, package by package.
package suites

import (
	"fmt"
	"math"
	"path"
	"strconv"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/suite"
	"github.com/dynolab/dyno/internal/report/layout"
)

const (
	fewest = 8    // benchmarks of a suite: fewer are read one by one
	missed = 0.05 // of intervals, by chance
)

// Section has a row for each package, in setting i against the baseline. A single package and few benchmarks have no section.
func Section(t *compare.Table, i int, title string) (layout.Section, bool) {
	packages := suite.Packages(t, i)
	all := 0
	for _, p := range packages {
		all += p.Benchmarks
	}
	if len(packages) < 2 || all < fewest {
		return layout.Section{}, false
	}
	names := map[string]int{}
	for _, p := range packages {
		names[path.Base(p.Path)]++
	}
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {}, {Keep: 2}, {Keep: 3}, {}, {Left: true, Keep: 4}},
		Head: [][]string{{"", "benchmarks", "worse", "better", "same", "unclear", "mean change", "95% interval"}},
	}
	count := func(n int) layout.Cell {
		if n == 0 {
			return layout.Cell{Text: "-", Mark: layout.Faint}
		}
		return layout.Cell{Text: strconv.Itoa(n)}
	}
	some := false // of the benchmarks are in a mean
	for _, p := range packages {
		name := p.Path
		if names[path.Base(name)] == 1 {
			name = path.Base(name)
		}
		change, interval := "", ""
		if c := p.Mean; c.N > 0 {
			change = layout.Change(c.Ratio)
			if !math.IsNaN(c.Lo) {
				interval = layout.Interval(c.Lo, c.Hi)
			}
			if p.Of < p.Benchmarks {
				some = true
				change = "of " + strconv.Itoa(p.Of) + ": " + change
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{{Text: name}, count(p.Benchmarks), count(p.Worse), count(p.Better), count(p.Same), count(p.Unclear), {Text: change}, {Text: interval}}})
	}
	notes := []string{"The mean change is the geometric mean of sec/op over the package's benchmarks, block by block."}
	if some {
		notes[0] += " \"Of 5\": the others have not the blocks for it."
	}
	if n := math.Round(missed * float64(len(packages))); n > 0 {
		notes = append([]string{fmt.Sprintf("Each interval is one of 95 %%: by chance, about %.0f of %d does not hold the true change.", n, len(packages))}, notes...)
	}
	return layout.Section{Title: title, Grids: []layout.Grid{g}, Notes: notes}, true
}
