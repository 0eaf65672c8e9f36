package layout

import "strings"

// A longer name of a setting has a key in tables.
const MaxName = 24 // characters

// A Section is one table of a report with what stands above and below it. It
// may come in several grids, where one would be too wide.
type Section struct {
	Title   string
	Grids   []Grid
	Notes   []string
	Changes bool // the comparison of primary metrics
}

// Columns of a grid with one column of labels and n of numbers.
func Columns(n int) []Column {
	cols := make([]Column, n+1)
	cols[0].Left = true
	return cols
}

// Text writes a section after an empty line.
func (s *Section) Text(b *strings.Builder, width int, color bool) {
	b.WriteString("\n" + Fold(s.Title, "", "", width))
	for _, g := range s.Grids {
		b.WriteByte('\n')
		g.Text(b, color)
	}
	if len(s.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range s.Notes {
		b.WriteString(Fold(n, "", "", width))
	}
}
