package html

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/report/layout"
)

// longCell is the length in characters of the longest text that is broken at spaces only.
const longCell = 40

// tableHTML writes a table with a caption for screen readers. all names the place of rows that
// were cut, such as "results.jsonl".
func tableHTML(g *layout.Grid, caption, all string) template.HTML {
	var b strings.Builder
	w := g.Widths()
	b.WriteString("<table><caption>" + html.EscapeString(tame(caption, mostCell)) + "</caption><thead>")
	for _, h := range g.Head {
		b.WriteString("<tr>")
		for i, s := range h {
			if w[i] > 0 {
				headingHTML(g, &b, i, s)
			}
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</thead><tbody>")
	shown := 0
	for _, w := range w {
		if w > 0 {
			shown++
		}
	}
	for n, r := range g.Rows {
		switch {
		case n == mostRows:
			b.WriteString(fmt.Sprintf(`<tr class="cut"><td colspan="%d">%s more are in %s.</td></tr>`, shown, layout.Count(len(g.Rows)-n, "row"), html.EscapeString(all)))
		case n > mostRows:
		case r.Cells != nil:
			rowHTML(g, &b, w, r.Cells)
		case r.Group != "":
			b.WriteString(fmt.Sprintf(`<tr class="group"><th colspan="%d" scope="colgroup">%s</th></tr>`, shown, html.EscapeString(tame(r.Group, mostCell))))
		}
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String())
}

func headingHTML(g *layout.Grid, b *strings.Builder, i int, s string) {
	s = strings.Join(strings.Fields(tame(s, mostCell)), " ")
	class := ""
	if !g.Cols[i].Left {
		class = ` class="n"`
	}
	if s == "" {
		b.WriteString("<td" + class + "></td>")
		return
	}
	b.WriteString(`<th scope="col"` + class + ">" + html.EscapeString(s) + "</th>")
}

// rowHTML makes the first cell a heading if it is a label; its leading spaces become a class.
func rowHTML(g *layout.Grid, b *strings.Builder, w []int, cs []layout.Cell) {
	b.WriteString("<tr>")
	for i, c := range cs {
		if w[i] == 0 {
			continue
		}
		text := tame(c.Text, mostCell)
		trimmed := strings.TrimLeft(text, " ")
		var classes []string
		if !g.Cols[i].Left {
			classes = append(classes, "n")
		} else if depth := (len(text) - len(trimmed)) / 2; depth > 0 {
			classes = append(classes, fmt.Sprintf("in%d", min(depth, 3)))
		}
		if class := [...]string{layout.Plain: "", layout.Good: "better", layout.Bad: "worse", layout.Faint: "faint"}[c.Mark]; class != "" {
			classes = append(classes, class)
		}
		if utf8.RuneCountInString(text) > longCell {
			classes = append(classes, "long")
		}
		name, end := "td", "</td>"
		if i == 0 && g.Cols[i].Left && trimmed != "" {
			name, end = `th scope="row"`, "</th>"
		}
		b.WriteString("<" + name)
		if classes != nil {
			b.WriteString(` class="` + strings.Join(classes, " ") + `"`)
		}
		b.WriteString(">" + html.EscapeString(strings.Join(strings.Fields(trimmed), " ")) + end)
	}
	b.WriteString("</tr>")
}
