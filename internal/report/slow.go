package report

import (
	"io"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/slowest"
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
	if form == "pprof" {
		return slowest.Profile(w, f.Table.Settings, v.SettingName)
	}
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

// The envelope of dyno slow --json.
const (
	slowKind   = "slow"
	slowSchema = 1
)

// SlowJSON is what summary.json says of slow requests; its keys are in doc/format.md.
func SlowJSON(f *findings.Findings, h answer.Head) any {
	type setting struct {
		answer.Setting
		Slow  any `json:"why-slow"`
		Moved any `json:"why-moved"`
	}
	var all []setting
	for _, s := range f.Table.Settings {
		all = append(all, setting{answer.SettingOf(s.Setting), s.Slow, s.SlowMoved})
	}
	var notes []string
	for i, d := range f.Table.Doubts {
		if d.Kind == dyno.WarnSlow {
			notes = append(notes, words.Doubt(f.Table, &f.Table.Doubts[i]))
		}
	}
	if f.Dir == nil { // of files, which have no plan
		h.Plan = nil
	}
	return answer.New(slowKind, slowSchema, h, all, notes)
}
