package benchtable

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Sentences say how many changes chance alone would show, and what no p-value knows.
func Sentences(t *benchstat.Tables) (list []string) {
	switch nothing, keys := t.Apart(); {
	case len(keys) > 0:
		list = append(list, fmt.Sprintf("Nothing is compared because the columns also differ in %s (consider: --ignore %s).", strings.Join(keys, ", "), strings.Join(keys, ",")))
	case nothing:
		list = append(list, "Nothing is compared because the columns share no benchmark name (consider: --ignore /gomaxprocs, if the number that ends the names differs).")
	}
	n, changed := t.Count()
	if n == 0 {
		return list
	}
	of, show := fmt.Sprintf("%d comparisons", n), fmt.Sprintf("%d show", changed)
	if n == 1 {
		of = "1 comparison"
	}
	switch changed {
	case 0:
		show = "none shows"
	case 1:
		show = "1 shows"
	}
	list = append(list, fmt.Sprintf("%s at p < %v: %s a change; without any change, chance gives %s.",
		of, t.Options.Alpha, show, statExpected(t.Options.Alpha*float64(n))))
	switch files := slices.Contains(t.Columns, ".file") && len(t.Files) > 1; {
	case files && slices.Contains(t.Files, benchstat.ThisRun):
		list = append(list, "The baseline was not measured in turns with this run: drift of the machine between them counts as a change of the code, also in p. "+
			"To be sure, measure both in one run: --vary rev=OLD,NEW.")
	case files:
		list = append(list, fmt.Sprintf("Files do not say whether they were measured in turns: drift of the machine between them counts as a change of the code, also in p. "+
			"To be sure, use dyno bench: it measures in turns, with a %v %% chance of a false change per comparison.", 100*dyno.DefaultBenchError))
	default:
		list = append(list, "A file does not say whether its samples were taken in turns: if not, drift of the machine counts as a change of the code, also in p.")
	}
	return list
}

// statExpected says "up to", as the U test of small samples uses less than its allowed error.
func statExpected(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("up to %.0f", x)
	}
	return fmt.Sprintf("up to %.2g", x)
}

// Foot writes the sentences below the tables. The error is w's.
func Foot(w io.Writer, t *benchstat.Tables, o layout.Options) error {
	var b strings.Builder
	for i, s := range Sentences(t) {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(layout.Fold(s, "", "", o.Columns()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the sentences and then the tables as GitHub Markdown of at most
// MostMarkdown bytes. Long tables are folded; what is left out is named. The error is w's.
func Markdown(w io.Writer, t *benchstat.Tables) error {
	var pieces []layout.Piece
	for _, s := range Sentences(t) {
		pieces = append(pieces, layout.Piece{Text: layout.TextLine(s) + "\n\n"})
	}
	for i := range t.Tables {
		pieces = append(pieces, TableMarkdown(&t.Tables[i]))
	}
	_, err := io.WriteString(w, layout.Page(pieces, ""))
	return err
}

// TableMarkdown is one table as GitHub Markdown, folded if it is long.
func TableMarkdown(t *benchstat.Table) layout.Piece {
	title := t.Unit
	for _, k := range t.Config {
		if k.Value != "" {
			title += ", " + k.Key + ": " + k.Value
		}
	}
	lines, notes := statLines(t)
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{"benchmark"}}}
	for i, c := range t.Cols {
		heading := strings.Join(slices.DeleteFunc(slices.Clone(c), func(s string) bool { return s == "" }), " ")
		g.Cols, g.Head[0] = append(g.Cols, layout.Column{}), append(g.Head[0], heading)
		if i > 0 {
			g.Cols, g.Head[0] = append(g.Cols, layout.Column{Left: true}), append(g.Head[0], "vs base")
		}
	}
	for _, l := range lines {
		r := []string{l.name}
		for i, p := range l.parts {
			center := p[statCenter]
			if p[statRange] != "" {
				center += statSpread + p[statRange]
			}
			r = append(r, strings.TrimSpace(center+" "+p[statNotes]))
			if i > 0 {
				r = append(r, strings.Join(strings.Fields(p[statChange]+" "+p[statP]+" "+p[statMoreNotes]), " "))
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(r...)})
	}
	var b strings.Builder
	b.WriteByte('\n')
	g.Markdown(&b)
	for i, n := range notes {
		b.WriteString("\n" + superscript(i+1) + " " + layout.TextLine(n) + "\n")
	}
	return layout.Folded(title, b.String(), len(lines) > layout.OpenRows*3, 0)
}

var benchstatColumns = []string{"unit", "n", "center", "lo", "hi", "change_frac", "p", "changed", "notes"}

// CSV writes a line for each cell, with numbers in full in the base unit. Changes are
// fractions, also where benchstat shows "~"; unknown values are empty. The error is w's.
func CSV(w io.Writer, t *benchstat.Tables) error {
	c := csv.NewWriter(w)
	var keys []string
	if len(t.Tables) > 0 {
		for _, k := range t.Tables[0].Config {
			keys = append(keys, k.Key)
		}
	}
	export.Line(c, keys, t.Columns, []string{"benchmark"}, benchstatColumns)
	for i := range t.Tables {
		table := &t.Tables[i]
		var config []string
		for _, k := range table.Config {
			config = append(config, k.Value)
		}
		for _, r := range table.Rows {
			for n, x := range r.Cells {
				if x == nil {
					continue
				}
				change, notes := []string{"", "", ""}, x.Notes
				if v := x.Versus; v != nil {
					change = []string{export.Exact(v.Ratio - 1), export.Exact(v.P), strconv.FormatBool(v.Changed())}
					notes = slices.Concat(notes, v.Notes)
				}
				export.Line(c, config, table.Cols[n],
					[]string{r.Name, table.Unit, strconv.Itoa(len(x.Samples)), export.Exact(x.Center), export.Exact(x.Lo), export.Exact(x.Hi)}, change, []string{strings.Join(notes, "; ")})
			}
		}
	}
	c.Flush()
	return c.Error()
}
