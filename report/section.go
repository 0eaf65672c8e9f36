package report

import "strings"

// A longer name of a setting has a key in tables.
const maxName = 24 // characters

// A section is one table of a report with what stands above and below it. It
// may come in several grids, where one would be too wide.
type section struct {
	title   string
	grids   []grid
	notes   []string
	changes bool // the comparison of primary metrics
}

// columns of a grid with one column of labels and n of numbers.
func columns(n int) []column {
	cols := make([]column, n+1)
	cols[0].left = true
	return cols
}

// text writes a section after an empty line.
func (s *section) text(b *strings.Builder, width int, color bool) {
	b.WriteString("\n" + fold(s.title, "", "", width))
	for _, g := range s.grids {
		b.WriteByte('\n')
		g.text(b, color)
	}
	if len(s.notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range s.notes {
		b.WriteString(fold(n, "", "", width))
	}
}

func (s *section) markdown(b *strings.Builder) {
	b.WriteString("**" + escapeMarkdown(s.title) + "**\n")
	for _, g := range s.grids {
		b.WriteByte('\n')
		g.markdown(b)
	}
	for _, n := range s.notes {
		b.WriteString("\n" + escapeMarkdown(n) + "\n")
	}
}
