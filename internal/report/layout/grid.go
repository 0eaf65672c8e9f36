// Package layout is what every format of a report shares and that knows no run: grids,
// sections, numbers with their units, folded lines and pieces of Markdown. It does not know
// what a figure means; sentences and verdicts are package words'.
package layout

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/stats"
)

// A Grid is a table before it has a look: Text aligns its columns, Markdown
// puts bars between them.
type Grid struct {
	Cols  []Column
	Head  [][]string // rows of headings
	Rows  []Row
	Signs bool // the first column has signs for the eye
}

// A Column is aligned to the left if left, else to the right. Those with keep 0
// always stay. Others take no room if they have but a heading, and of a grid
// that is too wide those with the least keep are left out first.
type Column struct {
	Left bool
	Keep int
}

// A Row is a line of a grid, or a heading over the lines that follow.
type Row struct {
	Group string // a heading over the rows that follow, instead of cells
	Cells []Cell
}

// A Cell is a text and what it means.
type Cell struct {
	Text string
	Mark Mark
}

// A Mark says what a cell means; only the color hangs on it.
type Mark int

const (
	Plain Mark = iota
	Good
	Bad
	Faint
)

// MarkOf is the mark of a verdict.
func MarkOf(v stats.Verdict) Mark {
	switch v {
	case stats.Better:
		return Good
	case stats.Worse:
		return Bad
	}
	return Faint
}

// Cells makes cells without a mark.
func Cells(texts ...string) []Cell {
	cs := make([]Cell, len(texts))
	for i, s := range texts {
		cs[i].Text = s
	}
	return cs
}

const Gap = "  " // between columns

// Widths returns the width of each column, in characters.
func (g *Grid) Widths() []int {
	w := make([]int, len(g.Cols))
	for _, r := range g.Rows {
		for i, c := range r.Cells {
			w[i] = max(w[i], utf8.RuneCountInString(c.Text))
		}
	}
	for _, h := range g.Head {
		for i, s := range h {
			if w[i] > 0 || g.Cols[i].Keep == 0 {
				w[i] = max(w[i], utf8.RuneCountInString(s))
			}
		}
	}
	return w
}

// Width is the width of the grid as text, in characters.
func (g *Grid) Width() int {
	total := 0
	for _, w := range g.Widths() {
		if w > 0 {
			total += w + len(Gap)
		}
	}
	return total - len(Gap)
}

// Shows reports whether a column with the given heading takes room.
func (g *Grid) Shows(heading string) bool {
	w := g.Widths()
	for _, h := range g.Head {
		if i := slices.Index(h, heading); i >= 0 {
			return w[i] > 0
		}
	}
	return false
}

// Narrow leaves out columns, all of the same keep at once, until g is at most
// width wide or none is left that may go.
func (g *Grid) Narrow(width int) {
	for g.Width() > width {
		least := 0
		for _, c := range g.Cols {
			if c.Keep > 0 && (least == 0 || c.Keep < least) {
				least = c.Keep
			}
		}
		if least == 0 {
			return
		}
		for i := len(g.Cols) - 1; i >= 0; i-- {
			if g.Cols[i].Keep == least {
				g.Drop(i)
			}
		}
	}
}

// Drop leaves out column i.
func (g *Grid) Drop(i int) {
	g.Cols = slices.Delete(g.Cols, i, i+1)
	for n, h := range g.Head {
		g.Head[n] = slices.Delete(h, i, i+1)
	}
	for n, r := range g.Rows {
		if r.Cells != nil {
			g.Rows[n].Cells = slices.Delete(r.Cells, i, i+1)
		}
	}
}

// Text writes the grid in aligned columns; an empty column takes no room.
func (g *Grid) Text(b *strings.Builder, color bool) {
	w := g.Widths()
	for _, h := range g.Head {
		g.line(b, w, Cells(h...), color)
	}
	for _, r := range g.Rows {
		if r.Cells == nil {
			b.WriteString(Clean(r.Group) + "\n")
			continue
		}
		g.line(b, w, r.Cells, color)
	}
}

func (g *Grid) line(b *strings.Builder, w []int, cs []Cell, color bool) {
	line := ""
	for i, c := range cs {
		if w[i] == 0 {
			continue
		}
		text := strings.TrimRight(Clean(c.Text), " ")
		size := utf8.RuneCountInString(c.Text)
		before, after := w[i]-size, size-utf8.RuneCountInString(text)
		if g.Cols[i].Left {
			before, after = 0, before+after
		}
		line += strings.Repeat(" ", before) + Paint(Cell{text, c.Mark}, color) + strings.Repeat(" ", after) + Gap
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// Paint colors a cell. The text alone must say the same.
func Paint(c Cell, color bool) string {
	code := map[Mark]string{Good: "32", Bad: "31", Faint: "2"}[c.Mark]
	if !color || code == "" || c.Text == "" {
		return c.Text
	}
	return "\x1b[" + code + "m" + c.Text + "\x1b[0m"
}

// Markdown writes the grid as a GitHub table. Rows of headings become one, as
// it can have only one; a group becomes a row of its own.
func (g *Grid) Markdown(b *strings.Builder) {
	w := g.Widths()
	bar := func(texts []string) {
		for i, s := range texts {
			if w[i] > 0 {
				b.WriteString("| " + EscapeMarkdown(Shorten(s, mostField)) + " ")
			}
		}
		b.WriteString("|\n")
	}
	heading := make([]string, len(g.Cols))
	for i := range heading {
		var parts []string
		for _, h := range g.Head {
			parts = append(parts, strings.Fields(h[i])...)
		}
		heading[i] = strings.Join(parts, " ")
	}
	bar(heading)
	for i, c := range g.Cols {
		switch {
		case w[i] == 0:
		case c.Left:
			b.WriteString("|:---")
		default:
			b.WriteString("|---:")
		}
	}
	b.WriteString("|\n")
	for _, r := range g.Rows {
		texts := make([]string, len(g.Cols))
		switch {
		case r.Cells != nil:
			for i, c := range r.Cells {
				texts[i] = strings.TrimSpace(c.Text)
			}
		case r.Group != "":
			texts[0] = r.Group
		default:
			continue
		}
		bar(texts)
	}
}

// Add puts in an empty column before column i.
func (g *Grid) Add(i int, c Column, heading string) {
	g.Cols = slices.Insert(g.Cols, i, c)
	for n := range g.Head {
		h := ""
		if n == len(g.Head)-1 {
			h = heading
		}
		g.Head[n] = slices.Insert(g.Head[n], i, h)
	}
	for n, r := range g.Rows {
		if r.Cells != nil {
			g.Rows[n].Cells = slices.Insert(r.Cells, i, Cell{})
		}
	}
}

// Cut shortens the texts of a column in their middle, to least characters or until the
// table is as wide as the page; not at all if two would be the same.
func (g *Grid) Cut(at, width, least int) {
	if g.Width() <= width {
		return
	}
	most := max(least, g.Widths()[at]-(g.Width()-width))
	seen := map[string]string{}
	for _, r := range g.Rows {
		if r.Cells == nil {
			continue
		}
		name := r.Cells[at].Text
		short := Middle(name, most)
		if other, ok := seen[short]; ok && other != name {
			return
		}
		seen[short] = name
	}
	for _, r := range g.Rows {
		if r.Cells != nil {
			r.Cells[at].Text = Middle(r.Cells[at].Text, most)
		}
	}
}
