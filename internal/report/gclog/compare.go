package gclog

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/report/layout"
)

var gcCompared = []gcRow{
	{label: "requests", metric: "requests", note: ""}, {label: "duration", metric: "span-sec", note: ""}, {label: "collections", metric: "collections", note: ""}, {label: "forced", metric: "forced", note: ""},
	{label: "requests/collection", metric: "req/gc", note: ""}, {label: "pace", metric: "pace-sec", note: ""},
	{label: "time in GC", metric: "gc-cpu-frac", note: ""}, {label: "GC CPU time", metric: "gc-cpu-sec", note: ""}, {label: "under way", metric: "gc-total-sec", note: ""},
	{label: "assists, CPU", metric: "assist-sec", note: ""}, {label: "background marking, CPU", metric: "background-sec", note: ""}, {label: "idle marking, CPU", metric: "idle-sec", note: ""},
	{label: "live heap, mean", metric: "heap-live-B", note: ""}, {label: "live heap, last", metric: "heap-live-last-B", note: ""}, {label: "heap at start, mean", metric: "heap-start-B", note: ""},
	{label: "heap at end, max", metric: "heap-end-max-B", note: ""}, {label: "goal, mean", metric: "heap-goal-B", note: ""},
	{label: "stop before marking, p50", metric: "sweep-term-p50-sec", note: ""}, {label: "stop before marking, p99", metric: "sweep-term-p99-sec", note: ""},
	{label: "stop after marking, p50", metric: "mark-term-p50-sec", note: ""}, {label: "stop after marking, p99", metric: "mark-term-p99-sec", note: ""},
	{label: "longest stop", metric: "pause-max-sec", note: ""}, {label: "stopped, total", metric: "pause-total-sec", note: ""}, {label: "marking, mean", metric: "mark-sec", note: ""},
}

// Compare writes two logs side by side with ratios and no verdicts. The error is w's.
func Compare(w io.Writer, a, b *gctrace.Log, o layout.Options) error {
	var out strings.Builder
	x, y := valuesOf(a.Total.Values(a.Requests)), valuesOf(b.Total.Values(b.Requests))
	heads := []string{layout.Clean(a.Name), layout.Clean(b.Name)}
	for i, h := range heads {
		if len([]rune(h)) > layout.MaxName {
			heads[i] = fmt.Sprintf("[%d]", i+1)
			out.WriteString(layout.Fold(h, "  "+heads[i]+" ", "      ", o.Columns()))
		}
	}
	g := layout.Grid{Cols: layout.Columns(3), Head: [][]string{append([]string{""}, append(heads, "change")...)}}
	for _, r := range gcCompared {
		m, hasA := x[r.metric]
		n, hasB := y[r.metric]
		if !hasA && !hasB || m == 0 && n == 0 {
			continue
		}
		cs := layout.Cells(r.label, cmp.Or(gcValue(r.metric, x), "-"), cmp.Or(gcValue(r.metric, y), "-"), "")
		if hasA && hasB && m > 0 {
			cs[3].Text = layout.Change(n / m)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	g.Text(&out, o.Color)
	out.WriteByte('\n')
	out.WriteString(layout.Fold("Two logs are two observations: a difference can come from chance or the load as well as the program, so there is no verdict "+
		"(consider: dyno run --vary, which repeats both and gives intervals).", "", "", o.Columns()))
	for _, l := range []*gctrace.Log{a, b} {
		warn(&out, layout.Clean(l.Name)+":", l, o.Columns())
		if n := len(l.Processes) + l.More; n > 1 {
			out.WriteString(layout.Fold(fmt.Sprintf("%s has %d processes; the figures cover all of them.", layout.Clean(l.Name), n), "", "", o.Columns()))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
