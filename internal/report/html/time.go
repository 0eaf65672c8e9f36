package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

// mostSlow is the number of a setting's slowest requests in the page.
const mostSlow = 10

func (v *pageView) latency() (out []block) {
	if v.Trials == 0 {
		return nil
	}
	p := v.page.Picture
	heats := p != nil && p.High > 0 && slices.ContainsFunc(p.Settings, func(s timeline.PictureOf) bool {
		return slices.ContainsFunc(s.Heats, func(h *timeline.Heat) bool { return h != nil })
	})
	if heats || v.later() {
		f := &figure{
			ID: "fig-latency", Kind: "heat", Name: v.file + "-latency", Title: "Latency over time", Canvas: true,
			Shows: "Each column is a period of time and each row a range of latency, counted from when a request was due; darker means more requests. " +
				"All settings share the same scales, and their trials are side by side. Collections and stop-the-world pauses are marked below.",
		}
		if heats {
			f.Tables, f.Summary = v.tables(v.heatTable(p)), "Table"
			f.Notes = v.heatNotes(p)
		}
		out = append(out, block{Figure: f})
	}
	out = append(out, v.slowest()...)
	out = append(out, v.distribution()...)
	out = append(out, v.show(v.Pooled())...)
	return append(out, v.show(v.Steady())...)
}

// nameOf is the name of setting i of a picture, which may have settings that the table lacks.
func (v *pageView) nameOf(i int, s dyno.Setting) string {
	if i < len(v.Settings) {
		return v.SettingName(i)
	}
	return s.Label()
}

// later reports whether the scripts of the page ask for a picture.
func (v *pageView) later() bool {
	return v.page.Picture == nil && v.page.Site != nil && v.page.Site.Detail != ""
}

// heatNotes names the settings of which a heat map does not show everything.
func (v *pageView) heatNotes(p *timeline.Picture) (notes []string) {
	for i, s := range p.Settings {
		name := tame(v.nameOf(i, s.Setting), mostCell)
		switch {
		case s.Seconds:
			notes = append(notes, name+": latency was kept only per second, by when requests were done.")
		case !s.Whole:
			notes = append(notes, name+": some of its requests were not kept, so counts are of a sample.")
		}
	}
	return tameAll(notes, 20, mostNote)
}

// heatParts is the number of stretches of each setting in the table of heat maps.
const heatParts = 10

func (v *pageView) heatTable(p *timeline.Picture) *layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {}, {}, {}, {}, {}},
		Head: [][]string{{"", "time", "requests", "p50, about", "p99, about", "slowest row", "collecting"}},
	}
	for i, s := range p.Settings {
		g.Rows = append(g.Rows, layout.Row{Group: v.nameOf(i, s.Setting)})
		for b, h := range s.Heats {
			if h == nil || h.Counts == nil || b >= len(p.Axis) {
				continue
			}
			parts := max(1, heatParts/len(s.Heats))
			for n := range parts {
				g.Rows = append(g.Rows, layout.Row{Cells: heatRow(p.Axis[b].Block, h, n, parts)})
			}
		}
	}
	return &layout.Section{Title: "Latency over time", Grids: []layout.Grid{g}}
}

// heatRow sums up part n of a heat map that is divided into equal parts.
func heatRow(block int, h *timeline.Heat, n, parts int) []layout.Cell {
	from, to := n*h.Columns/parts, (n+1)*h.Columns/parts
	byRow := make([]int64, h.Rows)
	all, collecting, known := int64(0), 0.0, 0
	for c := from; c < to; c++ {
		for r := range h.Rows {
			byRow[r] += int64(h.Count(r, c))
			all += int64(h.Count(r, c))
		}
		if h.Collecting != nil && !math.IsNaN(h.Collecting[c]) {
			collecting += h.Collecting[c]
			known++
		}
	}
	rowAt := func(q float64) string {
		sum := int64(0)
		for r, k := range byRow {
			if sum += k; all > 0 && float64(sum) >= q*float64(all) {
				return axis("-sec")(h.Edge(r).Seconds())
			}
		}
		return "-"
	}
	at := func(c int) string {
		return axis("-sec")((h.From + time.Duration(float64(h.To-h.From)*float64(c)/float64(h.Columns))).Seconds())
	}
	gc := "-"
	if known > 0 {
		gc = layout.Share(collecting/float64(known)) + " %"
	}
	return layout.Cells(fmt.Sprintf("block %d", block), at(from)+" – "+at(to), strconv.FormatInt(all, 10), rowAt(0.5), rowAt(0.99), rowAt(1), gc)
}

func (v *pageView) slowest() []block {
	g := layout.Grid{
		Cols: []layout.Column{{}, {Keep: 1}, {}, {}, {Left: true, Keep: 1}, {}, {Left: true, Keep: 1}},
		Head: [][]string{{"latency", "service time", "due at", "trial", "step", "status", "met a collection"}},
	}
	steps := map[string]bool{}
	each := make([][]timeline.Slow, len(v.Settings))
	for i := range v.Settings {
		each[i] = v.slowOf(i)
		for _, x := range each[i] {
			steps[x.Step] = true
		}
	}
	for i, xs := range each {
		if len(xs) > 0 && len(v.Settings) > 1 {
			g.Rows = append(g.Rows, layout.Row{Group: v.SettingName(i)})
		}
		for _, x := range xs {
			cs := layout.Cells(layout.Duration(x.Done-x.Due), "", fmt.Sprintf("%.3f s", x.Due.Seconds()), strconv.Itoa(x.Trial), "", strconv.Itoa(x.Status), "")
			if float64(x.Sent-x.Due) > tables.Differs*float64(x.Done-x.Due) {
				cs[1].Text = layout.Duration(x.Done - x.Sent)
			}
			if len(steps) > 1 {
				cs[4].Text = x.Step
			}
			switch {
			case x.Met:
				cs[6].Text = "yes"
			case x.Known:
				cs[6].Text = "no"
			}
			g.Rows = append(g.Rows, layout.Row{Cells: cs})
		}
	}
	if len(g.Rows) == 0 {
		return nil
	}
	out := v.show(layout.Section{
		Title: "Slowest requests",
		Grids: []layout.Grid{g},
		Notes: []string{"Due at: time since the measured window of the trial began."},
	}, true)
	if len(v.Settings) > 1 {
		out[0].Folded = fmt.Sprintf("The %d slowest of each setting", mostSlow)
	}
	out[0].Spare = v.page.Picture != nil || v.later()
	return out
}

// slowOf prefers the picture's requests to those of the results.
func (v *pageView) slowOf(i int) (out []timeline.Slow) {
	key := v.Settings[i].Setting.String()
	if p := v.page.Picture; p != nil {
		for _, s := range p.Settings {
			if s.Setting.String() == key {
				out = s.Slowest[:min(len(s.Slowest), mostSlow)]
			}
		}
	}
	if out != nil {
		return out
	}
	for _, r := range v.trials[key] {
		for _, x := range r.Sent.Slowest {
			out = append(out, timeline.Slow{Trial: r.Trial.N, Request: x})
		}
	}
	slices.SortStableFunc(out, func(a, b timeline.Slow) int { return cmp.Compare(b.Done-b.Due, a.Done-a.Due) })
	return out[:min(len(out), mostSlow)]
}

func (v *pageView) timelines() []block {
	p := v.page.Picture
	tracks := p != nil && slices.ContainsFunc(p.Settings, func(s timeline.PictureOf) bool { return len(s.Tracks) > 0 })
	if !tracks && !(v.later() && v.Trials > 0) {
		return nil
	}
	f := &figure{
		ID: "fig-timelines", Kind: "tracks", Name: v.file + "-timelines", Title: "Timelines", Canvas: true,
		Shows: "What the service used over the same time: one chart per quantity, one line per setting. Each column shows the lowest and the highest reading of its period, so no peak is lost.",
	}
	if tracks {
		f.Tables, f.Summary = v.tables(v.trackTable(p)), "Table"
	}
	return []block{{Figure: f}}
}

// trackTable is the least, the greatest and the last reading of every line.
func (v *pageView) trackTable(p *timeline.Picture) *layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {}},
		Head: [][]string{{"", "least", "greatest", "at the end"}},
	}
	metrics := slices.Clone(timeline.TrackMetrics)
	for _, s := range p.Settings {
		for _, t := range s.Tracks {
			if !slices.Contains(metrics, t.Metric) {
				metrics = append(metrics, t.Metric)
			}
		}
	}
	for _, m := range metrics {
		var rows []layout.Row
		for i, s := range p.Settings {
			at := slices.IndexFunc(s.Tracks, func(t timeline.Track) bool { return t.Metric == m })
			if at < 0 {
				continue
			}
			lo, hi, last := math.NaN(), math.NaN(), math.NaN()
			t := s.Tracks[at]
			for c := range t.Last {
				if !math.IsNaN(t.Last[c]) {
					last = t.Last[c]
				}
				lo, hi = lesser(lo, t.Min[c]), -lesser(-hi, -t.Max[c])
			}
			rows = append(rows, layout.Row{Cells: layout.Cells("  "+v.nameOf(i, s.Setting), axis(m)(lo), axis(m)(hi), axis(m)(last))})
		}
		if rows != nil {
			label, _ := layout.UnitOf(m)
			g.Rows = append(append(g.Rows, layout.Row{Group: label}), rows...)
		}
	}
	return &layout.Section{Title: "Timelines", Grids: []layout.Grid{g}}
}

// lesser returns the lesser of two numbers. A NaN does not count.
func lesser(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// trackOf is the longest stretch of a track, in seconds since the window began, or nil.
func (v *pageView) trackOf(s dyno.Setting, metric string) (at, value []float64) {
	p := v.page.Picture
	if p == nil {
		return nil, nil
	}
	for _, of := range p.Settings {
		i := slices.IndexFunc(of.Tracks, func(t timeline.Track) bool { return t.Metric == metric })
		if of.Setting.String() != s.String() || i < 0 {
			continue
		}
		from := 0
		for _, a := range p.Axis {
			var xs, ys []float64
			for c := range a.Columns {
				if y := of.Tracks[i].Last; from+c < len(y) && !math.IsNaN(y[from+c]) {
					xs = append(xs, (a.From + time.Duration(float64(c)*float64(a.To-a.From)/float64(a.Columns))).Seconds())
					ys = append(ys, y[from+c])
				}
			}
			if len(xs) > len(at) {
				at, value = xs, ys
			}
			from += a.Columns
		}
	}
	return at, value
}
