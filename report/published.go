package report

import (
	"io"
	"math"
	"strconv"
	"strings"
)

// Published is a table of a study beside what was found here.
type Published struct {
	Title   string
	Source  string   // author, title, place
	Trials  string   // what the figures found here are, such as "medians of 6 trials"
	Columns []string // the study's names of the settings
	Rows    []PublishedRow
	Note    string // what differs, and why
}

// A PublishedRow is one quantity. Study is as published; Here is NaN where it
// was not measured, and nil where nothing here corresponds.
type PublishedRow struct {
	Label, Unit string
	Study       []string
	Here        []float64 // in Unit
}

// section lays the table out: a line of the study's figures, and below it those
// found here.
func (p *Published) section() section {
	g := grid{cols: append(columns(len(p.Columns)+1), column{}), head: [][]string{append([]string{"", "", ""}, p.Columns...)}}
	for i := range 3 {
		g.cols[i].left = true
	}
	pad := func(cs []cell) []cell {
		for len(cs) < len(g.cols) {
			cs = append(cs, cell{"-", faint})
		}
		return cs[:len(g.cols)]
	}
	for _, r := range p.Rows {
		label := []cell{{text: r.Label}, {text: r.Unit}, {text: "study"}}
		if r.Study != nil {
			g.rows = append(g.rows, row{cells: pad(append(label, cells(r.Study...)...))})
			label = cells("", "", "")
		}
		if r.Here == nil {
			continue
		}
		label[2] = cell{text: "here"}
		for _, x := range r.Here {
			c := cell{text: significant(x)}
			if c.text == "" {
				c = cell{"-", faint}
			}
			label = append(label, c)
		}
		g.rows = append(g.rows, row{cells: pad(label)})
	}
	return section{title: p.Title, grids: []grid{g}, notes: []string{"Study: " + p.Source + ". Here: " + p.Trials + ".", p.Note}}
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
func (p *Published) Text(w io.Writer, o Options) error {
	var b strings.Builder
	s := p.section()
	b.WriteString(fold(s.title, "", "", o.width()) + "\n")
	s.grids[0].text(&b, o.Color)
	b.WriteByte('\n')
	for _, n := range s.notes {
		if n != "" {
			b.WriteString(fold(n, "", "  ", o.width()))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the table as GitHub Markdown. The error is w's.
func (p *Published) Markdown(w io.Writer) error {
	var b strings.Builder
	s := p.section()
	b.WriteString("**" + escapeMarkdown(s.title) + "**\n\n")
	s.grids[0].markdown(&b)
	for _, n := range s.notes {
		if n != "" {
			b.WriteString("\n" + escapeMarkdown(n) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
