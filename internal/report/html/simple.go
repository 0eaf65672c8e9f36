package html

import (
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A Simple is a page of pictures and the tables that say the same, which is no page of a run.
type Simple struct {
	Title    string
	About    []string // lines below the title
	Pictures []Picture
	Tables   []layout.Section
	Notes    []string // below the last table
	Foot     string
}

// A Picture is one with its title, and what it shows.
type Picture struct {
	Title, Shows string
	SVG          chart.SVG // "" if there is none
}

// A simplePaper is a Simple, ready for its template.
type simplePaper struct {
	Simple
	Head   template.HTML
	Blocks []block
}

// WriteSimple writes the page as one self-contained file without scripts. The error is w's.
func WriteSimple(w io.Writer, p Simple) error {
	out := simplePaper{Simple: p, Head: styled()}
	out.Title, out.Foot = tame(p.Title, mostCell), tame(p.Foot, mostNote)
	out.About = tameAll(p.About, 50, mostNote)
	for n, p := range p.Pictures {
		if p.SVG == "" {
			continue
		}
		id := "fig"
		if n > 0 {
			id += "-" + strconv.Itoa(n+1)
		}
		out.Blocks = append(out.Blocks, block{Figure: &figure{
			ID: id, Kind: "svg", Name: "figure", Title: tame(p.Title, mostCell), Shows: tame(p.Shows, mostNote), Picture: template.HTML(p.SVG),
		}})
	}
	for n := range p.Tables {
		t := &p.Tables[n]
		notes := t.Notes
		if n == len(p.Tables)-1 {
			notes = slices.Concat(notes, p.Notes)
		}
		table := block{Title: tame(t.Title, mostCell), Lines: tameAll(notes, 100, mostNote)}
		for i := range t.Grids {
			table.Tables = append(table.Tables, sheet{table.Title, tableHTML(&t.Grids[i], table.Title, "the JSON")})
		}
		out.Blocks = append(out.Blocks, table)
	}
	return templates.ExecuteTemplate(w, "simple", out)
}

// styled is the head of a file that has styles and nothing else.
func styled() template.HTML {
	var styles []string
	var b strings.Builder
	for _, name := range sheets() {
		text := strings.ReplaceAll(asset(name), "</", `<\/`)
		b.WriteString("<style>" + text + "</style>\n")
		styles = append(styles, hash(text))
	}
	policy := "default-src 'none'; style-src " + strings.Join(styles, " ") + "; base-uri 'none'; form-action 'none'"
	return template.HTML(`<meta http-equiv="Content-Security-Policy" content="` + policy + "\">\n" + b.String())
}
