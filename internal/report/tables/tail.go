package tables

import (
	"fmt"
	"math"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/tail"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// Tail is the table of what slow requests have to do with collections.
func (v *View) Tail() (layout.Section, bool) {
	var p99s, stops, waits []float64
	for i := range v.Settings {
		if t := v.Settings[i].Tail; t != nil {
			p99s = append(p99s, t.P99.Mean, t.P99Clear.Mean)
		}
		stops = append(stops, value(&v.Settings[i], "stw-total-sec"))
		waits = append(waits, value(&v.Settings[i], "sched-p99-sec"))
	}
	if p99s == nil {
		return layout.Section{}, false
	}
	p99, stop, wait := layout.ScaleOf("p99-sec", p99s...), layout.ScaleOf("stw-total-sec", stops...), layout.ScaleOf("sched-p99-sec", waits...)
	rows := []figureRow{
		{"requests that met a collection, %", func(s *compare.Setting) string { return layout.Share(s.Tail.Met.Mean) }},
		{"slowest 1% that did, %", func(s *compare.Setting) string { return layout.Share(s.Tail.SlowMet.Mean) }},
		{"  by chance, %", func(s *compare.Setting) string { return layout.Share(s.Tail.SlowChance.Mean) }},
		{"p99, " + p99.Unit, func(s *compare.Setting) string { return known(p99, s.Tail.P99.Mean) }},
		{"p99 of those that met none, " + p99.Unit, func(s *compare.Setting) string { return known(p99, s.Tail.P99Clear.Mean) }},
		{"  by chance, " + p99.Unit, func(s *compare.Setting) string { return known(p99, s.Tail.P99Chance.Mean) }},
		{"stop-the-world, % of the window", func(s *compare.Setting) string { return layout.Share(s.Tail.Stopped.Mean) }},
		{"requests that met it, %", func(s *compare.Setting) string { return layout.Share(s.Tail.StopMet.Mean) }},
		{"stop-the-world, " + stop.Unit, func(s *compare.Setting) string { return known(stop, value(s, "stw-total-sec")) }},
		{"mark assist, % of CPU", func(s *compare.Setting) string { return layout.Share(value(s, "gc-assist-frac")) }},
		{"p99 of waits for a CPU, " + wait.Unit, func(s *compare.Setting) string { return known(wait, value(s, "sched-p99-sec")) }},
	}
	s := v.figures("The tail and the collector (means of the trials)", func(s *compare.Setting) bool { return s.Tail != nil }, rows)
	in := false
	for i := range v.Settings {
		if t := v.Settings[i].Tail; t != nil {
			s.Notes = append(s.Notes, v.tailVerdict(i, t))
			in = in || t.Verdict == tail.InTail
		}
	}
	if in {
		s.Notes = append(s.Notes, "In the tail means that slow requests met collections, not that collections made them slow: a request that allocates much is slow and triggers collections itself.")
	}
	return s, true
}

func (v *View) tailVerdict(i int, t *tail.Setting) string {
	name := v.lead(i)
	if t.Met.Mean == 0 && t.SlowChance.Mean == 0 {
		return words.Sentence(name, "no collections, so none in the tail.")
	}
	bounds := ""
	if !math.IsNaN(t.SlowMet.Lo) {
		bounds = fmt.Sprintf(" [%s, %s]", layout.Share(t.SlowMet.Lo), layout.Share(t.SlowMet.Hi))
	}
	met := fmt.Sprintf("%s%%%s of the slowest 1%% met one, %s%% by chance", layout.Share(t.SlowMet.Mean), bounds, layout.Share(t.SlowChance.Mean))
	said, ok := map[tail.Verdict]string{
		tail.InTail: "collections are in the tail: ", tail.NotInTail: "collections are not in the tail: ",
		tail.Unclear: "it is unclear whether collections are in the tail: ",
	}[t.Verdict]
	if !ok {
		return words.Sentence(name, "collections: "+met+" (one trial: no interval, no verdict).")
	}
	return words.Sentence(name, said+met+".")
}

// value is a median, or NaN.
func value(s *compare.Setting, metric string) float64 {
	if x, ok := s.Values[metric]; ok {
		return x.Center
	}
	return math.NaN()
}

func known(s layout.Scale, x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return s.Format(x)
}
