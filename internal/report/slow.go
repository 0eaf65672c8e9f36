package report

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// Slow writes why requests are slow, and why the percentile changed, as text or as Markdown. The error is w's.
func Slow(w io.Writer, f *findings.Findings, form string, o layout.Options) error {
	width := o.Columns()
	if form == "markdown" {
		width = math.MaxInt
	}
	v := tables.NewView(f.Table, width)
	var b strings.Builder
	for _, s := range v.Slowest() {
		if form == "markdown" {
			s.Markdown(&b)
		} else {
			s.Text(&b, width, o.Color)
		}
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}
