package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A grid is a table before it has a look: Text aligns its columns, Markdown
// puts bars between them.
type grid struct {
	cols  []column
	head  [][]string // rows of headings
	rows  []row
	signs bool // the first column has signs for the eye
}

// A column is aligned to the left if left, else to the right. Those with keep 0
// always stay. Others take no room if they have but a heading, and of a grid
// that is too wide those with the least keep are left out first.
type column struct {
	left bool
	keep int
}

type row struct {
	group string // a heading over the rows that follow, instead of cells
	cells []cell
}

type cell struct {
	text string
	mark mark
}

// A mark says what a cell means; only the color hangs on it.
type mark int

const (
	plain mark = iota
	good
	bad
	faint
)

func cells(texts ...string) []cell {
	cs := make([]cell, len(texts))
	for i, s := range texts {
		cs[i].text = s
	}
	return cs
}

const gap = "  " // between columns

// widths returns the width of each column, in characters.
func (g *grid) widths() []int {
	w := make([]int, len(g.cols))
	filled := make([]bool, len(g.cols))
	for _, h := range g.head {
		for i, s := range h {
			w[i] = max(w[i], utf8.RuneCountInString(s))
		}
	}
	for _, r := range g.rows {
		for i, c := range r.cells {
			w[i] = max(w[i], utf8.RuneCountInString(c.text))
			filled[i] = filled[i] || c.text != ""
		}
	}
	for i, c := range g.cols {
		if c.keep > 0 && !filled[i] {
			w[i] = 0
		}
	}
	return w
}

func (g *grid) width() int {
	total := 0
	for _, w := range g.widths() {
		if w > 0 {
			total += w + len(gap)
		}
	}
	return total - len(gap)
}

// shows reports whether a column with the given heading takes room.
func (g *grid) shows(heading string) bool {
	w := g.widths()
	for _, h := range g.head {
		if i := slices.Index(h, heading); i >= 0 {
			return w[i] > 0
		}
	}
	return false
}

// narrow leaves out columns, all of the same keep at once, until g is at most
// width wide or none is left that may go.
func (g *grid) narrow(width int) {
	for g.width() > width {
		least := 0
		for _, c := range g.cols {
			if c.keep > 0 && (least == 0 || c.keep < least) {
				least = c.keep
			}
		}
		if least == 0 {
			return
		}
		for i := len(g.cols) - 1; i >= 0; i-- {
			if g.cols[i].keep == least {
				g.drop(i)
			}
		}
	}
}

// drop leaves out column i.
func (g *grid) drop(i int) {
	g.cols = slices.Delete(g.cols, i, i+1)
	for n, h := range g.head {
		g.head[n] = slices.Delete(h, i, i+1)
	}
	for n, r := range g.rows {
		if r.cells != nil {
			g.rows[n].cells = slices.Delete(r.cells, i, i+1)
		}
	}
}

// text writes the grid in aligned columns; an empty column takes no room.
func (g *grid) text(b *strings.Builder, color bool) {
	w := g.widths()
	for _, h := range g.head {
		g.line(b, w, cells(h...), color)
	}
	for _, r := range g.rows {
		if r.cells == nil {
			b.WriteString(clean(r.group) + "\n")
			continue
		}
		g.line(b, w, r.cells, color)
	}
}

func (g *grid) line(b *strings.Builder, w []int, cs []cell, color bool) {
	blank := 0 // spaces owed, so that no line ends in one
	for i, c := range cs {
		if w[i] == 0 {
			continue
		}
		pad := w[i] - utf8.RuneCountInString(c.text)
		text := strings.TrimRight(clean(c.text), " ")
		trail := len(c.text) - len(text)
		c.text = text
		if text == "" {
			blank += pad + trail + len(gap)
			continue
		}
		if !g.cols[i].left {
			blank += pad
			pad = 0
		}
		b.WriteString(strings.Repeat(" ", blank))
		b.WriteString(paint(c, color))
		blank = pad + trail + len(gap)
	}
	b.WriteByte('\n')
}

// paint colors a cell. The text alone must say the same.
func paint(c cell, color bool) string {
	code := map[mark]string{good: "32", bad: "31", faint: "2"}[c.mark]
	if !color || code == "" {
		return c.text
	}
	return "\x1b[" + code + "m" + c.text + "\x1b[0m"
}

// markdown writes the grid as a GitHub table. Rows of headings become one, as
// it can have only one; a group becomes a row of its own.
func (g *grid) markdown(b *strings.Builder) {
	w := g.widths()
	bar := func(texts []string) {
		for i, s := range texts {
			if w[i] > 0 {
				b.WriteString("| " + escapeMarkdown(shorten(s, mostField)) + " ")
			}
		}
		b.WriteString("|\n")
	}
	heading := make([]string, len(g.cols))
	for i := range heading {
		var parts []string
		for _, h := range g.head {
			parts = append(parts, strings.Fields(h[i])...)
		}
		heading[i] = strings.Join(parts, " ")
	}
	bar(heading)
	for i, c := range g.cols {
		switch {
		case w[i] == 0:
		case c.left:
			b.WriteString("|:---")
		default:
			b.WriteString("|---:")
		}
	}
	b.WriteString("|\n")
	for _, r := range g.rows {
		texts := make([]string, len(g.cols))
		switch {
		case r.cells != nil:
			for i, c := range r.cells {
				texts[i] = strings.TrimSpace(c.text)
			}
		case r.group != "":
			texts[0] = r.group
		default:
			continue
		}
		bar(texts)
	}
}

// add puts in an empty column before column i.
func (g *grid) add(i int, c column, heading string) {
	g.cols = slices.Insert(g.cols, i, c)
	for n := range g.head {
		h := ""
		if n == len(g.head)-1 {
			h = heading
		}
		g.head[n] = slices.Insert(g.head[n], i, h)
	}
	for n, r := range g.rows {
		if r.cells != nil {
			g.rows[n].cells = slices.Insert(r.cells, i, cell{})
		}
	}
}

// cut shortens the texts of a column in their middle, to least characters or until the
// table is as wide as the page; not at all if two would be the same.
func (g *grid) cut(at, width, least int) {
	if g.width() <= width {
		return
	}
	most := max(least, g.widths()[at]-(g.width()-width))
	seen := map[string]string{}
	for _, r := range g.rows {
		if r.cells == nil {
			continue
		}
		name := r.cells[at].text
		short := middle(name, most)
		if other, ok := seen[short]; ok && other != name {
			return
		}
		seen[short] = name
	}
	for _, r := range g.rows {
		if r.cells != nil {
			r.cells[at].text = middle(r.cells[at].text, most)
		}
	}
}
