package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/dynolab/dyno/gctrace"
)

var gcCompared = []gcRow{
	{"requests", "requests", ""}, {"duration", "span-sec", ""}, {"collections", "collections", ""}, {"forced", "forced", ""},
	{"requests/collection", "req/gc", ""}, {"pace", "pace-sec", ""},
	{"time in GC", "gc-cpu-frac", ""}, {"GC CPU time", "gc-cpu-sec", ""}, {"under way", "gc-total-sec", ""},
	{"assists, CPU", "assist-sec", ""}, {"background marking, CPU", "background-sec", ""}, {"idle marking, CPU", "idle-sec", ""},
	{"live heap, mean", "heap-live-B", ""}, {"live heap, last", "heap-live-last-B", ""}, {"heap at start, mean", "heap-start-B", ""},
	{"heap at end, max", "heap-end-max-B", ""}, {"goal, mean", "heap-goal-B", ""},
	{"stop before marking, p50", "sweep-term-p50-sec", ""}, {"stop before marking, p99", "sweep-term-p99-sec", ""},
	{"stop after marking, p50", "mark-term-p50-sec", ""}, {"stop after marking, p99", "mark-term-p99-sec", ""},
	{"longest stop", "pause-max-sec", ""}, {"stopped in all", "pause-total-sec", ""}, {"marking, mean", "mark-sec", ""},
}

// CompareGC writes two logs side by side with ratios and no verdicts. The error is w's.
func CompareGC(w io.Writer, a, b *gctrace.Log, o Options) error {
	var out strings.Builder
	x, y := valuesOf(a.Total.Values(a.Requests)), valuesOf(b.Total.Values(b.Requests))
	heads := []string{clean(a.Name), clean(b.Name)}
	for i, h := range heads {
		if len([]rune(h)) > maxName {
			heads[i] = fmt.Sprintf("[%d]", i+1)
			out.WriteString(fold(h, "  "+heads[i]+" ", "      ", o.width()))
		}
	}
	g := grid{cols: columns(3), head: [][]string{append([]string{""}, append(heads, "change")...)}}
	for _, r := range gcCompared {
		m, hasA := x[r.metric]
		n, hasB := y[r.metric]
		if !hasA && !hasB || m == 0 && n == 0 {
			continue
		}
		cs := cells(r.label, "-", "-", "")
		if hasA {
			cs[1].text = gcValue(r.metric, x)
		}
		if hasB {
			cs[2].text = gcValue(r.metric, y)
		}
		if hasA && hasB && m > 0 {
			cs[3].text = change(n / m)
		}
		g.rows = append(g.rows, row{cells: cs})
	}
	g.text(&out, o.Color)
	out.WriteByte('\n')
	out.WriteString(fold("Two logs are two observations: what differs may be chance or the load as well as the program, so there is no verdict "+
		"(consider: dyno run --vary, which repeats both and gives intervals).", "", "", o.width()))
	for _, l := range []*gctrace.Log{a, b} {
		s := &gcLog{Log: l, width: o.width()}
		if s.doubts(); s.Len() > 0 {
			out.WriteString("\n" + clean(l.Name) + ":" + strings.Replace(s.String(), "\nWarnings", "", 1))
		}
		if n := len(l.Processes) + l.More; n > 1 {
			out.WriteString(fold(fmt.Sprintf("%s is of %d processes; the figures are of all together.", clean(l.Name), n), "", "", o.width()))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
