package words

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// Leaks says what leaks, or may well do so. name begins a sentence about a part of a setting, service one
// about the setting itself.
func Leaks(name, service string, l *leak.Leak) (found []string) {
	switch m := l.Memory; {
	case m == nil:
	case m.Verdict == leak.Leaking:
		found = append(found, service+" "+memoryLeaks(m, l))
	case m.Reason.Bytes > 0:
		found = append(found, memoryUnclear(name, m))
	}
	if o := l.Outside; o != nil && o.Verdict == leak.Leaking {
		found = append(found, Sentence(name, outsideLeak(o)))
	}
	for _, o := range l.Others {
		if o.Verdict == leak.Leaking {
			found = append(found, Sentence(name, otherLeak(&o)))
		}
	}
	return found
}

// LeakNotes say what was found of a setting, what leaks first.
func LeakNotes(name, service string, l *leak.Leak) (notes []string) {
	notes = Leaks(name, service, l)
	switch m := l.Memory; {
	case m == nil, m.Verdict == leak.Leaking:
	case m.Verdict == leak.NoLeak:
		notes = append(notes, Sentence(name, NoMemoryLeak(m, l.Outside)))
	case m.Reason.Bytes == 0: // else Leaks says it
		notes = append(notes, memoryUnclear(name, m))
	}
	for _, o := range l.Others {
		if o.Verdict == leak.Unclear {
			notes = append(notes, Sentence(name, fmt.Sprintf("cannot tell whether %s leak: %s.", LeakNouns[o.Name], LeakReason(o.Reason))))
		}
	}
	return notes
}

func memoryUnclear(name string, m *leak.Grown) string {
	return Sentence(name, "cannot tell whether memory leaks: "+LeakReason(m.Reason)+"."+forced(m.Forced))
}

// mostSites is the number of leaking lines that a sentence names.
const mostSites = 3

var LeakNouns = map[string]string{"goroutines": "goroutines", "threads": "threads", "fds": "descriptors"}

// Sentence puts a name before a text, or begins it with a capital.
func Sentence(name, text string) string {
	if name == "" {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return name + text
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
		text += fmt.Sprintf(" The allocating line is unknown: the leak is too small for the heap profile's sampling (consider: trials of about %s, or GODEBUG=memprofilerate=16384 in the subject's environment).", Roughly(l.Needed))
	}
	return text
}

// NoMemoryLeak names what was looked at: a level heap says nothing of other memory.
func NoMemoryLeak(m, outside *leak.Grown) string {
	text := "no leak seen"
	if m.By != "rss-B" {
		text += " in the Go heap"
	}
	if shape := shapeOf(m); shape != "" {
		text += " (" + shape + ")"
	}
	seen := "have been detected"
	if m.Shape == stats.Stepped || m.Shape == stats.Flattening {
		seen = "not have been called level" // such a run may be unclear
	}
	text += fmt.Sprintf(": a leak of %s/h%s would %s in 99 of 100 such runs", amount(m.Detectable), perRequests(" (", m.DetectablePer, ")"), seen)
	switch {
	case m.By == "rss-B":
		text += "; this is resident memory, as collections are not known"
	case outside == nil:
		text += "; memory outside the heap (mmap, cgo) was not examined"
	case outside.Verdict == leak.NoLeak:
		text += fmt.Sprintf(", outside the heap (mmap, cgo) one of %s/h", amount(outside.Detectable))
	case outside.Verdict == leak.Unclear:
		text += "; memory outside the heap (mmap, cgo) is unclear"
	}
	return text + "."
}

func outsideLeak(m *leak.Grown) string {
	sc := Coarse(layout.ScaleOf("leak-B", m.Slope))
	text := fmt.Sprintf("resident memory outside the Go heap leaks %s/h %s", sc.With(m.Slope), sc.Interval(m.Lo, m.Hi))
	return strings.TrimSuffix(text, " ") + perRequests(", ", m.Per, "") + ": the runtime does not know of it (mmap, cgo), so no heap profile shows where."
}

func otherLeak(o *leak.OtherGrown) string {
	text := fmt.Sprintf("%s leak: %s more an hour", LeakNouns[o.Name], Tally(o.Slope))
	if !math.IsNaN(o.Lo) {
		text += fmt.Sprintf(" [%s, %s]", Tally(o.Lo), Tally(o.Hi))
	}
	if !math.IsNaN(o.Per) {
		text += fmt.Sprintf(", %s per 1,000 requests", Tally(o.Per))
	}
	stuck := 0.0
	for _, s := range o.Sites[:min(mostSites, len(o.Sites))] {
		stuck += s.Stuck
	}
	if len(o.Sites) > 0 {
		text += ", waiting at " + places(o.Sites, Tally)
	}
	text += "."
	if stuck > 0 {
		text += fmt.Sprintf(" The runtime reports that nothing can wake %s of them.", Tally(stuck))
	}
	if o.Name == "goroutines" {
		text += " Each keeps its stack and all it refers to, so memory leaks too."
	}
	return text
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
	return " Between forced collections before and after the load, the heap " + grew + "."
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
		return fmt.Sprintf("it grew by %s until %s, then stayed level", amount(m.Shift), clock)
	case stats.Sawtooth:
		return fmt.Sprintf("a sawtooth of %s", amount(m.Shift))
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
	return List(parts)
}

func perRequests(before string, x float64, after string) string {
	if math.IsNaN(x) {
		return ""
	}
	return before + amount(x) + " per 1,000 requests" + after
}

func amount(x float64) string {
	if math.IsNaN(x) {
		return "?"
	}
	return Coarse(layout.ScaleOf("leak-B", x)).With(x)
}

// Coarse leaves out a digit: no leak is known to four.
func Coarse(s layout.Scale) layout.Scale {
	s.Decimals = max(0, s.Decimals-1)
	return s
}

// Tally prints a count or a rate of one, "" if it is not known.
func Tally(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case math.Abs(x) >= 10 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
