package tables

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/leak"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
	"github.com/dynolab/dyno/stats"
)

// mostSites is how many lines that leak a sentence names.
const mostSites = 3

var leakNouns = map[string]string{"goroutines": "goroutines", "threads": "threads", "fds": "descriptors"}

// leak is the table of what grows without an end.
func (v *View) Leak() (layout.Section, bool) {
	var rates, requests []float64
	found := false
	for i := range v.Settings {
		l := v.Settings[i].Leak
		if l == nil {
			continue
		}
		found = true
		if m := l.Memory; m != nil {
			rates = append(rates, LeakFigures(m, m.Slope, m.Lo, m.Hi, m.Detectable)...)
			requests = append(requests, LeakFigures(m, m.Per, math.NaN(), math.NaN(), m.DetectablePer)...)
		}
	}
	if !found {
		return layout.Section{}, false
	}
	rate, per := Coarse(layout.ScaleOf("leak-B", rates...)), Coarse(layout.ScaleOf("leak-B", requests...))
	s := v.figures("Leaks", func(s *compare.Setting) bool { return s.Leak != nil }, v.leakRows(rate, per))
	for i := range v.Settings {
		if l := v.Settings[i].Leak; l != nil {
			s.Notes = append(s.Notes, v.leakNotes(i, l)...)
		}
	}
	return s, true
}

func (v *View) leakRows(rate, per layout.Scale) []figureRow {
	memory := func(text func(m *leak.Grown) string) func(s *compare.Setting) string {
		return func(s *compare.Setting) string {
			if m := s.Leak.Memory; m != nil {
				return text(m)
			}
			return ""
		}
	}
	rows := []figureRow{
		{"memory", memory(func(m *leak.Grown) string { return string(m.Verdict) })},
		{"  growth, " + rate.Unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Slope) })},
		{"  95% interval", memory(func(m *leak.Grown) string { return rate.Interval(m.Lo, m.Hi) })},
		{"  would have been seen, " + rate.Unit + "/h", memory(func(m *leak.Grown) string { return known(rate, m.Detectable) })},
		{"  growth for 1,000 requests, " + per.Unit, memory(func(m *leak.Grown) string { return known(per, m.Per) })},
		{"  would have been seen, " + per.Unit, memory(func(m *leak.Grown) string { return known(per, m.DetectablePer) })},
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
			figureRow{leakNouns[name], other(func(g *leak.Grown) string { return string(g.Verdict) })},
			figureRow{"  growth, 1/h", other(func(g *leak.Grown) string { return tally(g.Slope) })})
	}
	return rows
}

// leakFigures are the figures that choose the unit: without a leak, noise has no say.
func LeakFigures(m *leak.Grown, slope, lo, hi, detectable float64) []float64 {
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

func (v *View) Leaks(i int, l *leak.Leak) (found []string) {
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

// leakSubject begins a sentence about a part of setting i, and one about the setting itself.
func (v *View) leakSubject(i int) (name, service string) {
	if len(v.Settings) > 1 {
		return v.lead(i), v.SettingName(i)
	}
	return "", "The service"
}

// leakNotes say what was found of setting i, what leaks first.
func (v *View) leakNotes(i int, l *leak.Leak) (notes []string) {
	name, _ := v.leakSubject(i)
	notes = v.Leaks(i, l)
	switch m := l.Memory; {
	case m == nil, m.Verdict == leak.Leaking:
	case m.Verdict == leak.NoLeak:
		notes = append(notes, sentence(name, noMemoryLeak(m, l.Outside)))
	default:
		notes = append(notes, sentence(name, "cannot tell whether memory leaks: "+words.LeakReason(m.Reason)+"."+forced(m.Forced)))
	}
	for _, o := range l.Others {
		if o.Verdict == leak.Unclear {
			notes = append(notes, sentence(name, fmt.Sprintf("cannot tell whether %s leak: %s.", leakNouns[o.Name], words.LeakReason(o.Reason))))
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

// noMemoryLeak names what was looked at: a level heap says nothing of other memory.
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

func outsideLeak(m *leak.Grown) string {
	sc := Coarse(layout.ScaleOf("leak-B", m.Slope))
	text := fmt.Sprintf("resident memory outside the Go heap leaks %s/h %s", sc.With(m.Slope), sc.Interval(m.Lo, m.Hi))
	return strings.TrimSuffix(text, " ") + perRequests(", ", m.Per, "") + ": the runtime knows nothing of it (mmap, cgo), and so no heap profile shows where."
}

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

func memoryLeaks(m *leak.Grown, l *leak.Leak) string {
	sc := Coarse(layout.ScaleOf("leak-B", m.Slope))
	text := strings.TrimSuffix(fmt.Sprintf("leaks %s/h %s", sc.With(m.Slope), sc.Interval(m.Lo, m.Hi)), " ")
	text += perRequests(", ", m.Per, "")
	if len(l.Sites) > 0 {
		text += ", allocated at " + places(l.Sites, amount)
		if more := len(l.Sites) - mostSites; more > 0 {
			text += fmt.Sprintf(" and %s", layout.Count(more, "more line"))
		}
	}
	text += "."
	if m.By == "rss-B" {
		text += " This is resident memory, as collections are not known."
	}
	text += forced(m.Forced) + " A cache that takes longer than the run to fill looks the same."
	if l.Needed > 0 {
		text += fmt.Sprintf(" Where it is allocated cannot be told: it is too small for the heap profile's sampling (consider: trials of some %s, or GODEBUG=memprofilerate=16384 in the subject's environment).", words.Roughly(l.Needed))
	}
	return text
}

func otherLeak(o *leak.OtherGrown) string {
	text := fmt.Sprintf("%s leak: %s more an hour", leakNouns[o.Name], tally(o.Slope))
	if !math.IsNaN(o.Lo) {
		text += fmt.Sprintf(" [%s, %s]", tally(o.Lo), tally(o.Hi))
	}
	if !math.IsNaN(o.Per) {
		text += fmt.Sprintf(", %s for 1,000 requests", tally(o.Per))
	}
	stuck := 0.0
	for _, s := range o.Sites[:min(mostSites, len(o.Sites))] {
		stuck += s.Stuck
	}
	if len(o.Sites) > 0 {
		text += ", waiting at " + places(o.Sites, tally)
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

// places names the lines of the subject that leak the most, with their rates.
func places(sites []leak.LeakSite, rate func(float64) string) string {
	var parts []string
	for _, s := range sites[:min(mostSites, len(sites))] {
		where := s.Func
		if s.File != "" && s.Line != 0 {
			where += fmt.Sprintf(" %s:%d", path.Base(s.File), s.Line)
		}
		parts = append(parts, fmt.Sprintf("%s (%s/h)", where, rate(s.PerHour)))
	}
	return words.List(parts)
}

func amount(x float64) string {
	if math.IsNaN(x) {
		return "?"
	}
	return Coarse(layout.ScaleOf("leak-B", x)).With(x)
}

// coarse leaves out a digit: no leak is known to four.
func Coarse(s layout.Scale) layout.Scale {
	s.Decimals = max(0, s.Decimals-1)
	return s
}

func perRequests(before string, x float64, after string) string {
	if math.IsNaN(x) {
		return ""
	}
	return before + amount(x) + " for 1,000 requests" + after
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
