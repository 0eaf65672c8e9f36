package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/exectrace"
)

var partLabels = [exectrace.Parts]string{
	exectrace.Running: "running", exectrace.Assisting: "assisting the collector", exectrace.Sweeping: "sweeping",
	exectrace.Runnable: "waiting for a P", exectrace.Stopped: "world stopped", exectrace.Syscall: "in system calls",
	exectrace.Network: "blocked: network", exectrace.Locking: "blocked: sync", exectrace.Channels: "blocked: channels",
	exectrace.Sleeping: "asleep", exectrace.Collector: "waiting for the collector", exectrace.Otherwise: "blocked: other",
}

// attribution leaves out parts that would be 0.0 % everywhere.
func (v *view) attribution() (section, bool) {
	var parts []exectrace.Part
	var typical []float64
	traced := false
	for p := range exectrace.Parts {
		if slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return s.Trace != nil && s.Trace.Time[p] > s.Trace.Total()/2000 }) {
			parts = append(parts, p)
		}
	}
	for i := range v.Settings {
		if a := v.Settings[i].Trace; a != nil {
			traced = true
			typical = append(typical, a.PerRequest(a.Total()))
		}
	}
	if !traced {
		return section{}, false
	}
	sc := scaleOf("mean-sec", typical...)
	labels := make([]string, 0, len(parts)+5)
	for _, p := range parts {
		labels = append(labels, partLabels[p])
	}
	n := len(labels)
	labels = append(labels, "all", "requests", "assists", "collections", "marking, % of the trace", "world stopped, % of the trace")
	cell := func(s *compare.Setting, row int) string {
		a := s.Trace
		if a == nil {
			return ""
		}
		switch {
		case row < n:
			return timeAndShare(sc, a, a.Time[parts[row]])
		case row == n:
			return timeAndShare(sc, a, a.Total())
		}
		return []string{
			strconv.Itoa(a.Requests), strconv.Itoa(a.Assists), strconv.Itoa(a.Collections),
			percentOf(a.Collecting, a.Length), percentOf(a.Stopped, a.Length),
		}[row-n-1]
	}
	return section{
		title: fmt.Sprintf("Where the time of requests went (execution traces; %s per request, and share)", sc.unit),
		grids: v.study(labels, cell),
		notes: []string{"One trial of each setting, in which tracing itself took time: shares tell more than times. go tool trace shows trials/NNNN/trace.out."},
	}, true
}

func timeAndShare(sc scale, a *exectrace.Attribution, d time.Duration) string {
	share := percentOf(d, a.Total())
	return fmt.Sprintf("%s %6s", sc.format(a.PerRequest(d)), share+"%")
}

func percentOf(part, whole time.Duration) string {
	return scale{"%", 0.01, 1}.format(part.Seconds() / whole.Seconds())
}
