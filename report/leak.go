package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/leak"
	"github.com/dynolab/dyno/stats"
)

// mostSites is how many lines that leak a sentence names.
const mostSites = 3

// leakNouns are what may leak beside memory, in words.
var leakNouns = map[string]string{"goroutines": "goroutines", "threads": "threads", "fds": "descriptors"}

// leak is the table of what grows without an end.
func (v *view) leak() (section, bool) {
	var rates, requests []float64
	found := false
	for i := range v.Settings {
		l := v.Settings[i].Leak
		if l == nil {
			continue
		}
		found = true
		if m := l.Memory; m != nil {
			rates = append(rates, leakFigures(m, m.Slope, m.Lo, m.Hi, m.Detectable)...)
			requests = append(requests, leakFigures(m, m.Per, math.NaN(), math.NaN(), m.DetectablePer)...)
		}
	}
	if !found {
		return section{}, false
	}
	rate, per := coarse(scaleOf("leak-B", rates...)), coarse(scaleOf("leak-B", requests...))
	rows := v.leakRows(rate, per)
	rows = slices.DeleteFunc(rows, func(r leakRow) bool { // what no setting has takes no room
		return !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return r.text(&s) != "" })
	})
	var labels []string
	for _, r := range rows {
		labels = append(labels, r.label)
	}
	s := section{
		title: "Leaks",
		grids: v.study(labels, func(s *compare.Setting, row int) string { return rows[row].text(s) }),
	}
	for i := range v.Settings {
		if l := v.Settings[i].Leak; l != nil {
			s.notes = append(s.notes, v.leakNotes(i, l)...)
		}
	}
	return s, true
}

// A leakRow is a line of the table, "" where a setting lacks the figure.
type leakRow struct {
	label string
	text  func(s *compare.Setting) string
}

// leakRows are all that there may be.
func (v *view) leakRows(rate, per scale) []leakRow {
	memory := func(text func(m *leak.Grown) string) func(s *compare.Setting) string {
		return func(s *compare.Setting) string {
			if s.Leak == nil || s.Leak.Memory == nil {
				return ""
			}
			return text(s.Leak.Memory)
		}
	}
	rows := []leakRow{
		{"memory", memory(func(m *leak.Grown) string { return string(m.Verdict) })},
		{"  growth, " + rate.unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Slope) })},
		{"  95% interval", memory(func(m *leak.Grown) string { return between(rate, m.Lo, m.Hi) })},
		{"  would have been seen, " + rate.unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Detectable) })},
		{"  growth for 1,000 requests, " + per.unit, memory(func(m *leak.Grown) string { return known(per, m.Per) })},
		{"  would have been seen, " + per.unit, memory(func(m *leak.Grown) string { return known(per, m.DetectablePer) })},
	}
	for _, name := range []string{"goroutines", "threads", "fds"} {
		other := func(text func(g *leak.Grown) string) func(s *compare.Setting) string {
			return func(s *compare.Setting) string {
				if g := otherOf(s, name); g != nil {
					return text(g)
				}
				return ""
			}
		}
		if !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool {
			g := otherOf(&s, name)
			return g != nil && g.Verdict != leak.NoLeak
		}) {
			continue
		}
		rows = append(rows,
			leakRow{leakNouns[name], other(func(g *leak.Grown) string { return string(g.Verdict) })},
			leakRow{"  growth, 1/h", other(func(g *leak.Grown) string { return tally(g.Slope) })})
	}
	return rows
}

// leakFigures are those that the unit is to suit: noise around none is not.
func leakFigures(m *leak.Grown, slope, lo, hi, detectable float64) []float64 {
	if m.Verdict == leak.Leaking {
		return slices.DeleteFunc([]float64{slope, lo, hi}, math.IsNaN)
	}
	return []float64{detectable}
}

// otherOf is what a setting's goroutines, threads or descriptors did, or nil.
func otherOf(s *compare.Setting, name string) *leak.Grown {
	if s.Leak != nil {
		for _, o := range s.Leak.Others {
			if o.Name == name {
				return o.Grown
			}
		}
	}
	return nil
}

// leaks are sentences on what leaks in setting i.
func (v *view) leaks(i int, l *leak.Leak) (found []string) {
	name, service := v.leakSubject(i)
	if m := l.Memory; m != nil && m.Verdict == leak.Leaking {
		found = append(found, service+" "+memoryLeaks(m, l))
	}
	if o := l.Outside; o != nil && o.Verdict == leak.Leaking {
		found = append(found, sentence(name, outsideLeak(o)))
	}
	for _, o := range l.Others {
		if o.Verdict == leak.Leaking {
			found = append(found, sentence(name, otherLeak(&o)))
		}
	}
	return found
}

// leakSubject is what begins a sentence on a part of setting i, and one on itself.
func (v *view) leakSubject(i int) (name, service string) {
	if len(v.Settings) > 1 {
		return v.name(i) + ": ", v.name(i)
	}
	return "", "The service"
}

// leakNotes say what was found of setting i, what leaks first.
func (v *view) leakNotes(i int, l *leak.Leak) (notes []string) {
	name, _ := v.leakSubject(i)
	notes = v.leaks(i, l)
	switch m := l.Memory; {
	case m == nil, m.Verdict == leak.Leaking:
	case m.Verdict == leak.NoLeak:
		notes = append(notes, sentence(name, noMemoryLeak(m, l.Outside)))
	default:
		notes = append(notes, sentence(name, "cannot tell whether memory leaks: "+leakReason(m.Reason)+"."+forced(m.Forced)))
	}
	for _, o := range l.Others {
		if o.Verdict == leak.Unclear {
			notes = append(notes, sentence(name, fmt.Sprintf("cannot tell whether %s leak: %s.", leakNouns[o.Name], leakReason(o.Reason))))
		}
	}
	return notes
}

// sentence puts a name before a text, or begins it with a capital.
func sentence(name, text string) string {
	if name == "" {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return name + text
}

// noMemoryLeak names what was looked at: a level heap tells nothing of memory outside
// of it.
func noMemoryLeak(m, outside *leak.Grown) string {
	text := "no leak seen"
	if m.By != "rss-B" {
		text += " in the Go heap"
	}
	if shape := shapeOf(m); shape != "" {
		text += " (" + shape + ")"
	}
	seen := "have been seen"
	if m.Shape == stats.Stepped || m.Shape == stats.Flattening {
		seen = "not have passed for level" // such a run may be unclear
	}
	text += fmt.Sprintf(": a leak of %s/h%s would %s in 99 of 100 such runs", amount(m.Detectable), perRequests(" (", m.DetectablePer, ")"), seen)
	switch {
	case m.By == "rss-B":
		text += "; this is resident memory, as collections are not known"
	case outside == nil:
		text += "; memory outside the heap (mmap, cgo) was not looked at"
	case outside.Verdict == leak.NoLeak:
		text += fmt.Sprintf(", outside the heap (mmap, cgo) one of %s/h", amount(outside.Detectable))
	case outside.Verdict == leak.Unclear:
		text += "; of memory outside the heap (mmap, cgo) that cannot be told"
	}
	return text + "."
}

// outsideLeak tells of a leak that no heap profile shows.
func outsideLeak(m *leak.Grown) string {
	sc := coarse(scaleOf("leak-B", m.Slope))
	text := fmt.Sprintf("resident memory outside the Go heap leaks %s/h", sc.with(m.Slope))
	if iv := between(sc, m.Lo, m.Hi); iv != "" {
		text += " " + iv
	}
	return text + perRequests(", ", m.Per, "") + ": the runtime knows nothing of it (mmap, cgo), and so no heap profile shows where."
}

// forced tells of growth from before the load to after it, or nothing if that is
// not known.
func forced(rate float64) string {
	grew := ""
	switch {
	case math.IsNaN(rate):
		return ""
	case rate == 0:
		grew = "did not grow"
	case rate < 0:
		grew = "shrank by " + amount(-rate) + "/h"
	default:
		grew = "grew by " + amount(rate) + "/h"
	}
	return " Between forced collections before the load and after it the heap " + grew + "."
}

// memoryLeaks says how much leaks, and where.
func memoryLeaks(m *leak.Grown, l *leak.Leak) string {
	sc := coarse(scaleOf("leak-B", m.Slope))
	text := fmt.Sprintf("leaks %s/h", sc.with(m.Slope))
	if iv := between(sc, m.Lo, m.Hi); iv != "" {
		text += " " + iv
	}
	text += perRequests(", ", m.Per, "")
	if len(l.Sites) > 0 {
		var places []string
		for _, s := range l.Sites[:min(mostSites, len(l.Sites))] {
			places = append(places, fmt.Sprintf("%s (%s/h)", where(&s), amount(s.PerHour)))
		}
		text += ", allocated at " + list(places)
		if more := len(l.Sites) - mostSites; more > 0 {
			text += fmt.Sprintf(" and %s", count(more, "more line"))
		}
	}
	text += "."
	if m.By == "rss-B" {
		text += " This is resident memory, as collections are not known."
	}
	text += forced(m.Forced) + " A cache that takes longer than the run to fill looks the same."
	if l.Needed > 0 {
		text += fmt.Sprintf(" Where it is allocated cannot be told: it is too small for the heap profile's sampling (consider: trials of some %s, or GODEBUG=memprofilerate=16384 in the subject's environment).", roughly(l.Needed))
	}
	return text
}

// otherLeak says how many goroutines, threads or descriptors leak, and where.
func otherLeak(o *leak.OtherGrown) string {
	text := fmt.Sprintf("%s leak: %s more an hour", leakNouns[o.Name], tally(o.Slope))
	if !math.IsNaN(o.Lo) {
		text += fmt.Sprintf(" [%s, %s]", tally(o.Lo), tally(o.Hi))
	}
	if !math.IsNaN(o.Per) {
		text += fmt.Sprintf(", %s for 1,000 requests", tally(o.Per))
	}
	var places []string
	stuck := 0.0
	for _, s := range o.Sites[:min(mostSites, len(o.Sites))] {
		places = append(places, fmt.Sprintf("%s (%s/h)", where(&s), tally(s.PerHour)))
		stuck += s.Stuck
	}
	if places != nil {
		text += ", waiting at " + list(places)
	}
	text += "."
	if stuck > 0 {
		text += fmt.Sprintf(" Nothing can wake %s of them, says the runtime.", tally(stuck))
	}
	if o.Name == "goroutines" {
		text += " Each keeps its stack and what it refers to, so that memory leaks with them."
	}
	return text
}

// shapeOf says what grew and did not go on, or "".
func shapeOf(m *leak.Grown) string {
	at := time.Duration(m.At * float64(time.Second)).Round(time.Second)
	clock := fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
	switch m.Shape {
	case stats.Stepped:
		if m.Shift < 0 {
			return fmt.Sprintf("a step down of %s at %s", amount(-m.Shift), clock)
		}
		return fmt.Sprintf("a step of %s at %s", amount(m.Shift), clock)
	case stats.Flattening:
		return fmt.Sprintf("it grew by %s until %s, and was level then", amount(m.Shift), clock)
	case stats.Sawtooth:
		return fmt.Sprintf("a saw with teeth of %s", amount(m.Shift))
	case stats.Falling:
		return "it fell"
	}
	return ""
}

// where names a line of the subject's.
func where(s *leak.LeakSite) string {
	if s.File == "" || s.Line == 0 {
		return s.Func
	}
	return fmt.Sprintf("%s %s:%d", s.Func, path.Base(s.File), s.Line)
}

// amount prints one size to three digits.
func amount(x float64) string {
	if math.IsNaN(x) {
		return "?"
	}
	return coarse(scaleOf("leak-B", x)).with(x)
}

// coarse leaves out a digit: no leak is known to four.
func coarse(s scale) scale {
	s.decimals = max(0, s.decimals-1)
	return s
}

func perRequests(before string, x float64, after string) string {
	if math.IsNaN(x) {
		return ""
	}
	return before + amount(x) + " for 1,000 requests" + after
}

// between prints an interval, or "" if there is none.
func between(sc scale, lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return ""
	}
	return "[" + sc.format(lo) + ", " + sc.format(hi) + "]"
}

// tally prints a count or a rate of one, "" if it is not known.
func tally(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case math.Abs(x) >= 10 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
