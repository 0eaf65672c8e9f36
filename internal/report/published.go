package report

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/report/layout"
)

// Published is a table of a study beside what was found here.
type Published struct {
	Title   string
	Source  string   // author, title, place; of the Markdown only
	Trials  string   // what the figures found here are, such as "medians of 6 trials"
	Columns []string // the study's names of the settings
	Rows    []PublishedRow
	Note    string // what differs, and why
}

// A PublishedRow is one quantity for each column. NaN is a missing figure, nil none at all.
type PublishedRow struct {
	Label, Unit string
	Study       []float64
	Here        []float64
}

// section puts the figures found here below the study's.
func (p *Published) section() layout.Section {
	g := layout.Grid{Cols: layout.Columns(len(p.Columns) + 2), Head: [][]string{append([]string{"", "", ""}, p.Columns...)}}
	for i := range 3 {
		g.Cols[i].Left = true
	}
	for _, r := range p.Rows {
		label := layout.Cells(r.Label, r.Unit)
		for _, line := range []struct {
			who    string
			xs     []float64
			format func(float64) string
		}{{"study", r.Study, given}, {"here", r.Here, significant}} {
			if line.xs == nil {
				continue
			}
			cs := append(label, layout.Cell{Text: line.who})
			for _, x := range line.xs {
				c := layout.Cell{Text: line.format(x)}
				if c.Text == "" {
					c = layout.Cell{Text: "-", Mark: layout.Faint}
				}
				cs = append(cs, c)
			}
			g.Rows = append(g.Rows, layout.Row{Cells: cs})
			label = layout.Cells("", "")
		}
	}
	note := "Here: " + p.Trials + "."
	if p.Note != "" {
		note += " " + strings.ToUpper(p.Note[:1]) + strings.TrimSuffix(p.Note[1:], ".") + "."
	}
	return layout.Section{Title: p.Title, Grids: []layout.Grid{g}, Notes: []string{note}}
}

// given writes x as it was published; NaN is "".
func given(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// significant writes x to four digits, or whole; NaN is "".
func significant(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	decimals := 0
	if x != 0 && x != math.Trunc(x) {
		decimals = min(max(0, 3-int(math.Floor(math.Log10(math.Abs(x))))), 6)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Text writes the table for a reader at a terminal. The error is w's.
func (p *Published) Text(w io.Writer, o layout.Options) error {
	var b strings.Builder
	s := p.section()
	b.WriteString(layout.Fold(s.Title, "", "", o.Columns()))
	s.Grids[0].Text(&b, o.Color)
	for _, n := range s.Notes {
		b.WriteString(layout.Fold(n, "", "  ", o.Columns()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the table as GitHub Markdown. The error is w's.
func (p *Published) Markdown(w io.Writer) error {
	var b strings.Builder
	s := p.section()
	s.Notes = append([]string{"Study: " + p.Source + "."}, s.Notes...)
	s.Markdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}
