// Package slowest has the sections on why the slowest requests are slow, and why a percentile changed.
package slowest

import (
	"fmt"
	"math"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

const (
	mostCulprits = 3   // of a line
	leastCulprit = 0.1 // of the line
)

// Sections are, for each setting, why its percentile differs from the first's, and then on which lines its slow
// requests spend their excess. name is that of a setting by its place, width that of the page in characters.
func Sections(settings []compare.Setting, name func(int) string, width int) (out []layout.Section) {
	for i := range settings {
		if c := settings[i].SlowMoved; c != nil {
			out = append(out, moves(c, name(i), name(0)))
		}
	}
	for i := range settings {
		if w := settings[i].Slow; w != nil && w.Excess.Mean > 0 {
			of := ""
			if len(settings) > 1 {
				of = name(i)
			}
			s := lines(w, of)
			s.Grids[0].Narrow(width)
			out = append(out, s)
		}
	}
	return out
}

func lines(w *slow.Why, of string) layout.Section {
	sc := layout.ScaleOf("mean-sec", w.Excess.Mean)
	g := layout.Grid{
		Cols: []layout.Column{{}, {}, {}, {Left: true}},
		Head: [][]string{{"excess, " + sc.Unit, "share", "95% interval", ""}},
	}
	if len(w.Trials) == 1 {
		g.Cols[2].Keep = 1 // it is empty
	}
	rest := w.Excess.Mean
	for _, l := range words.MainLines(w) {
		rest -= l.Excess.Mean
		where := words.SpentOn(&l)
		for _, s := range l.Joined {
			where += ", or waiting at " + words.Site(s) + " for one of these"
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sc.Format(l.Excess.Mean), sharePercent(l.Excess.Mean, w.Excess.Mean), sc.Interval(l.Excess.Lo, l.Excess.Hi), where)})
		g.Rows = append(g.Rows, culprits(len(g.Cols), sc.With, l.By, l.Excess.Mean)...)
	}
	if math.Abs(rest) > words.LeastLine*w.Excess.Mean {
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sc.Format(rest), sharePercent(rest, w.Excess.Mean), "", "all other lines")})
	}
	g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sc.Format(w.Excess.Mean), "100%", sc.Interval(w.Excess.Lo, w.Excess.Hi), "together: what slow requests take longer than typical ones")})
	title := "Why " + words.SlowShare(w.Quantile) + " are slow"
	if of != "" {
		title += ": " + of
	}
	return layout.Section{Title: title, Grids: []layout.Grid{g}, Notes: words.SlowNotes(w)}
}

// culprits are rows with their cell in the last of so many columns.
func culprits(columns int, print func(float64) string, bys []slow.By, of float64) (rows []layout.Row) {
	for n, b := range bys {
		if n == mostCulprits || math.Abs(b.Excess) < leastCulprit*math.Abs(of) {
			break
		}
		cells := make([]layout.Cell, columns)
		cells[columns-1] = layout.Cell{Text: "  " + print(b.Excess) + " " + words.Behind(b.Culprit), Mark: layout.Faint}
		rows = append(rows, layout.Row{Cells: cells})
	}
	return rows
}

func sharePercent(part, whole float64) string { return fmt.Sprintf("%.0f%%", 100*part/whole) }

func moves(c *slow.Change, of, base string) layout.Section {
	sc := layout.ScaleOf("mean-sec", c.Level)
	g := layout.Grid{
		Cols: []layout.Column{{}, {}, {Left: true}},
		Head: [][]string{{"change, " + sc.Unit, "95% interval", ""}},
	}
	rest := c.Near
	for _, m := range c.Moves {
		if !m.Sure {
			continue
		}
		rest -= m.Shift.Diff
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sc.Signed(m.Shift.Diff), sc.SignedInterval(m.Shift.Lo, m.Shift.Hi), words.Moved(&m, sc))})
		g.Rows = append(g.Rows, culprits(len(g.Cols), sc.SignedWith, m.By, m.Shift.Diff)...)
	}
	name := words.Percentile(c.Quantile)
	last := "all else: nothing sure"
	if len(g.Rows) == 0 {
		last = "nothing sure"
	}
	g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sc.Signed(rest), "", last)})
	return layout.Section{
		Title: "Why " + name + " changed: " + of + " against " + base,
		Grids: []layout.Grid{g},
		Notes: append([]string{fmt.Sprintf("%s changed by %s %s in %s of traces. The parts add up to the change of the requests near it, %s.", name,
			sc.SignedWith(c.At.Diff), sc.SignedInterval(c.At.Lo, c.At.Hi), layout.Count(c.Blocks, "block"), sc.SignedWith(c.Near))}, words.MovedNotes(c)...),
	}
}
