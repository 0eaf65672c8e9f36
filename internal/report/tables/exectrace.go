package tables

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/report/layout"
)

var partLabels = [exectrace.Parts]string{
	exectrace.Running: "running", exectrace.Assisting: "assisting the collector", exectrace.Sweeping: "sweeping",
	exectrace.Runnable: "waiting for a P", exectrace.Stopped: "world stopped", exectrace.Syscall: "in system calls",
	exectrace.Network: "blocked: network", exectrace.Locking: "blocked: sync", exectrace.Channels: "blocked: channels",
	exectrace.Sleeping: "asleep", exectrace.Collector: "waiting for the collector", exectrace.Otherwise: "blocked: other",
}

// Attribution leaves out parts that would be 0.0 % everywhere.
func (v *View) Attribution() (layout.Section, bool) {
	var parts []exectrace.Part
	var typical []float64
	for p := range exectrace.Parts {
		if slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return s.Trace != nil && s.Trace.Time[p] > s.Trace.Total()/2000 }) {
			parts = append(parts, p)
		}
	}
	for i := range v.Settings {
		if a := v.Settings[i].Trace; a != nil {
			typical = append(typical, a.PerRequest(a.Total()))
		}
	}
	if typical == nil {
		return layout.Section{}, false
	}
	sc := layout.ScaleOf("mean-sec", typical...)
	timeAndShare := func(a *exectrace.Attribution, d time.Duration) string {
		return fmt.Sprintf("%s %6s", sc.Format(a.PerRequest(d)), percentOf(d, a.Total())+"%")
	}
	var rows []figureRow
	for _, p := range parts {
		rows = append(rows, figureRow{partLabels[p], func(s *compare.Setting) string { return timeAndShare(s.Trace, s.Trace.Time[p]) }})
	}
	rows = append(rows, []figureRow{
		{"all", func(s *compare.Setting) string { return timeAndShare(s.Trace, s.Trace.Total()) }},
		{"requests", func(s *compare.Setting) string { return strconv.Itoa(s.Trace.Requests) }},
		{"assists", func(s *compare.Setting) string { return strconv.Itoa(s.Trace.Assists) }},
		{"collections", func(s *compare.Setting) string { return strconv.Itoa(s.Trace.Collections) }},
		{"marking, % of the trace", func(s *compare.Setting) string { return percentOf(s.Trace.Collecting, s.Trace.Length) }},
		{"world stopped, % of the trace", func(s *compare.Setting) string { return percentOf(s.Trace.Stopped, s.Trace.Length) }},
	}...)
	out := v.figures(fmt.Sprintf("Where request time went (execution traces; %s per request, and share)", sc.Unit),
		func(s *compare.Setting) bool { return s.Trace != nil }, rows)
	out.Notes = []string{"One trial of each setting. Tracing itself took time, so trust shares more than times. go tool trace shows trials/NNNN/trace.out."}
	return out, true
}

func percentOf(part, whole time.Duration) string {
	return layout.Scale{Unit: "%", Factor: 0.01, Decimals: 1}.Format(part.Seconds() / whole.Seconds())
}
