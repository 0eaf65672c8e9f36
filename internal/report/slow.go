package report

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// Slow writes why requests are slow, and why the percentile changed, as text, Markdown or a page. The error is w's.
func Slow(w io.Writer, f *findings.Findings, form string, o layout.Options) error {
	width := o.Columns()
	if form != "text" {
		width = math.MaxInt
	}
	v := tables.NewView(f.Table, width)
	sections := v.Slowest()
	if form == "html" {
		p := html.Simple{Title: "Why slow requests are slow", Tables: sections, Foot: "Made by dyno slow."}
		for _, x := range v.SlowFigures(v.SettingName, html.Seconds) {
			p.Pictures = append(p.Pictures, html.Picture{Title: x.Title, Shows: x.Shows, SVG: x.Picture})
			p.Tables = append(p.Tables, x.Table)
		}
		return html.WriteSimple(w, p)
	}
	var b strings.Builder
	for _, s := range sections {
		if form == "markdown" {
			s.Markdown(&b)
		} else {
			s.Text(&b, width, o.Color)
		}
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

// slow says of each setting why its percentile changed, or why its slow requests are slow.
func (v view) slow() (lines []string) {
	for i := range v.Settings {
		s, name := &v.Settings[i], ""
		if len(v.Settings) > 1 {
			name = v.SettingName(i) + ": "
		}
		if moved := words.SlowMoved(s.SlowMoved); len(moved) > 0 {
			for _, m := range moved[:min(len(moved), briefCauses)] {
				lines = append(lines, name+m)
			}
		} else if why := words.SlowWhy(s.Slow); why != "" {
			if name == "" {
				why = strings.ToUpper(why[:1]) + why[1:]
			}
			lines = append(lines, name+why)
		}
	}
	return lines
}
