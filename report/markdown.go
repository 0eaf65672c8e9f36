package report

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno/analysis"
)

// Markdown writes what Text writes as GitHub Markdown, for a comment on a pull
// request or a job summary. The error is w's.
func Markdown(w io.Writer, t *analysis.Table) error {
	var b strings.Builder
	b.WriteString("### " + escapeMarkdown(heading(t)) + "\n")
	for _, line := range t.About {
		b.WriteString("\n" + escapeMarkdown(clean(line)) + "\n")
	}
	v := newView(t, math.MaxInt)
	v.keys = nil // cells wrap, so that names may be long
	if found := Sentences(t); len(found) > 0 {
		b.WriteByte('\n')
		for _, s := range found {
			b.WriteString(escapeMarkdown(s) + "\n")
		}
	}
	if advice, news := recommendation(t); news {
		b.WriteString("\n" + escapeMarkdown(advice) + "\n")
	}
	for _, s := range v.sections() {
		b.WriteString("\n**" + escapeMarkdown(s.title) + "**\n")
		for _, g := range s.grids {
			b.WriteByte('\n')
			g.markdown(&b)
		}
		for _, n := range s.notes {
			b.WriteString("\n" + escapeMarkdown(n) + "\n")
		}
	}
	if len(t.Warnings) > 0 {
		b.WriteString("\n**Warnings**\n\n")
		for _, s := range t.Warnings {
			b.WriteString("- " + escapeMarkdown(clean(s)) + "\n")
		}
	}
	if len(t.Failed) > 0 {
		b.WriteString("\n**Failed trials**\n\n")
		for _, f := range failures(t) {
			b.WriteString("- " + escapeMarkdown(f.trials+": "+strings.Join(f.lines, " ")) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
