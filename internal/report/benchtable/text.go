// Package benchtable writes comparisons of files of benchmarks as benchstat lays them out: as text,
// Markdown and CSV.
package benchtable

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/perf/benchunit"

	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/report/layout"
)

const (
	statCenter = iota
	statRange  // how far the interval reaches, in per cent
	statNotes
	statChange
	statP
	statMoreNotes
	statParts
)

// The spaces before each, if it has any text; the first has a rule in its.
var statGaps = [statParts]int{3, 3, 1, 2, 1, 1}

const (
	statRule   = " │"
	statSpread = " ± "
)

type statLine struct {
	name  string
	parts [][statParts]string // of each column
	marks []layout.Mark       // of the changes
	mean  bool
}

// Text writes what benchstat would write, in its layout; notes have other words. It uses
// only the color of o. The error is w's.
func Text(w io.Writer, t *benchstat.Tables, o layout.Options) error {
	var b strings.Builder
	var last []benchstat.Key
	for i := range t.Tables {
		table := &t.Tables[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		for n, k := range table.Config {
			if last == nil || last[n].Value != k.Value {
				b.WriteString(layout.Clean(k.Key+": "+k.Value) + "\n")
			}
		}
		last = table.Config
		l := statLayout{cols: table.Cols, unit: table.Unit, levels: len(t.Columns)}
		l.lines, l.notes = statLines(table)
		l.measure()
		l.write(&b, o.Color)
		for n, note := range l.notes {
			b.WriteString(superscript(n+1) + " " + layout.Clean(note) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// statLines returns the rows of a table, and its notes in the order of reference.
func statLines(t *benchstat.Table) (lines []statLine, notes []string) {
	numbers := map[string]string{}
	refer := func(texts []string) string {
		var refs []string
		for _, s := range texts {
			if numbers[s] == "" {
				notes = append(notes, s)
				numbers[s] = superscript(len(notes))
			}
			refs = append(refs, numbers[s])
		}
		return strings.Join(refs, " ")
	}
	class := benchunit.ClassOf(t.Unit)
	for _, r := range t.Rows {
		var centers []float64
		for _, c := range r.Cells {
			if c != nil {
				centers = append(centers, c.Center)
			}
		}
		scale := benchunit.CommonScale(centers, class)
		line := statLine{name: layout.Clean(r.Name), parts: make([][statParts]string, len(r.Cells)), marks: make([]layout.Mark, len(r.Cells))}
		for i, c := range r.Cells {
			if c == nil {
				continue
			}
			p := &line.parts[i]
			p[statCenter], p[statRange], p[statNotes] = scale.Format(c.Center), c.PctRangeString(), refer(c.Notes)
			if v := c.Versus; v != nil {
				p[statChange], p[statP] = v.FormatDelta(r.Cells[0].Center, c.Center), "("+v.Comparison.String()+")"
				p[statMoreNotes] = refer(v.Notes)
				line.marks[i] = statMark(t, v)
			}
		}
		lines = append(lines, line)
	}
	if len(t.Rows) < 2 { // its mean is itself
		return lines, notes
	}
	line := statLine{name: "geomean", mean: true, parts: make([][statParts]string, len(t.Cols)), marks: make([]layout.Mark, len(t.Cols))}
	for i, m := range t.Geomean {
		p := &line.parts[i]
		if !math.IsNaN(float64(m.Center)) {
			p[statCenter] = benchunit.Scale(float64(m.Center), class)
		}
		refs := refer(m.Notes)
		if i == 0 {
			p[statNotes] = refs
			continue
		}
		p[statMoreNotes], p[statChange] = refs, statMean(m)
	}
	return append(lines, line), notes
}

func statMean(m benchstat.Mean) string {
	if math.IsNaN(float64(m.Ratio)) {
		return "?"
	}
	return fmt.Sprintf("%+.2f%%", (m.Ratio-1)*100)
}

func statMark(t *benchstat.Table, v *benchstat.Versus) layout.Mark {
	switch {
	case !v.Changed() || t.Better == 0 || math.IsNaN(v.Ratio):
		return layout.Plain
	case v.Ratio > 1 == (t.Better > 0):
		return layout.Good
	}
	return layout.Bad
}

func superscript(n int) string {
	return strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(fmt.Sprint(n))
}

// A statLayout has the width of each part of its columns, gaps included.
type statLayout struct {
	cols   [][]string
	unit   string
	levels int // of headings
	lines  []statLine
	notes  []string

	name   int
	widths [][statParts]int
}

type statSpan struct {
	first, last int
	text        string
}

// spans are the headings of a level. Neighbours share one if the levels above are equal too.
func (l *statLayout) spans(level int) (list []statSpan) {
	for i, c := range l.cols {
		if i > 0 && slices.Equal(l.cols[i-1][:level+1], c[:level+1]) {
			list[len(list)-1].last = i
			continue
		}
		list = append(list, statSpan{i, i, layout.Clean(c[level])})
	}
	return list
}

func (l *statLayout) measure() {
	l.widths = make([][statParts]int, len(l.cols))
	for _, line := range l.lines {
		l.name = max(l.name, utf8.RuneCountInString(line.name))
		for i, parts := range line.parts {
			for n, s := range parts {
				if s != "" {
					l.widths[i][n] = max(l.widths[i][n], utf8.RuneCountInString(s)+statGaps[n])
				}
			}
		}
	}
	for i := range l.widths {
		w := &l.widths[i]
		w[statCenter] = max(w[statCenter], statGaps[statCenter])
		if lack := statGaps[statCenter] + utf8.RuneCountInString(l.unit) - w[statCenter] - w[statRange] - w[statNotes]; lack > 0 {
			w[statCenter] += lack
		}
		if lack := len(statVersus) - w[statChange] - w[statP] - w[statMoreNotes]; i > 0 && lack > 0 {
			w[statMoreNotes] += lack
		}
	}
	for level := l.levels - 1; level >= 0; level-- {
		for _, s := range l.spans(level) {
			for l.between(s.first, s.last) < statGaps[statCenter]+utf8.RuneCountInString(s.text) {
				least := s.first
				for i := s.first; i <= s.last; i++ {
					if l.widths[i][statCenter] < l.widths[least][statCenter] {
						least = i
					}
				}
				l.widths[least][statCenter]++
			}
		}
	}
}

const statVersus = "  vs base"

func (l *statLayout) between(first, last int) (width int) {
	for _, parts := range l.widths[first : last+1] {
		for _, w := range parts {
			width += w
		}
	}
	return width
}

func (l *statLayout) write(b *strings.Builder, color bool) {
	for level := range l.levels {
		fmt.Fprintf(b, "%*s", l.name, "")
		for _, s := range l.spans(level) {
			b.WriteString(statRule + " " + centered(s.text, l.between(s.first, s.last)-statGaps[statCenter]))
		}
		b.WriteString(statRule + "\n")
	}
	fmt.Fprintf(b, "%*s", l.name, "")
	for i, w := range l.widths {
		numbers := w[statCenter] + w[statRange] + w[statNotes]
		b.WriteString(statRule + " " + centered(l.unit, numbers-statGaps[statCenter]))
		if i > 0 {
			fmt.Fprintf(b, "%-*s", l.between(i, i)-numbers, statVersus)
		}
	}
	b.WriteString(statRule + "\n")
	for _, line := range l.lines {
		l.line(b, line, color)
	}
}

func (l *statLayout) line(b *strings.Builder, line statLine, color bool) {
	b.WriteString(line.name)
	owed := l.name - utf8.RuneCountInString(line.name)
	for i, parts := range line.parts {
		for n, s := range parts {
			w := l.widths[i][n]
			if s == "" {
				owed += w
				continue
			}
			gap := strings.Repeat(" ", min(statGaps[n], w))
			if n == statRange {
				gap = statSpread
			}
			pad := w - utf8.RuneCountInString(gap) - utf8.RuneCountInString(s)
			c := layout.Cell{Text: s}
			if n == statChange {
				c.Mark = line.marks[i]
			}
			blank := strings.Repeat(" ", owed)
			owed = 0
			switch {
			case n == statRange:
				b.WriteString(blank + gap + strings.Repeat(" ", pad))
			case n == statP || n == statNotes || n == statMoreNotes || line.mean && s == "?":
				b.WriteString(blank + gap)
				owed = pad
			default:
				b.WriteString(blank + strings.Repeat(" ", pad) + gap)
			}
			b.WriteString(layout.Paint(c, color))
		}
	}
	b.WriteByte('\n')
}

func centered(s string, width int) string {
	n := utf8.RuneCountInString(s)
	left := max(0, (width-n)/2)
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", max(0, width-n-left))
}
