package tables

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno/analysis/pitfall"
	"github.com/dynolab/dyno/report/layout"
)

const (
	MostPitfall  = 4  // benchmarks that a pitfall names in a text
	MostPitfalls = 50 // that it names elsewhere
	mostSeen     = 6  // different figures of one kind of pitfall
	mostAlike    = 4  // benchmarks that are named before the same figures
)

// A pitfallNote is one kind of pitfall, with all benchmarks that have it.
type pitfallNote struct {
	Kind       pitfall.Kind `json:"kind"`
	Benchmarks []string     `json:"benchmarks"` // Package.Name
	Text       string       `json:"text"`       // what was seen, why it matters and the cure
}

// pitfallWords are why each kind of pitfall matters, and the cure.
var pitfallWords = map[pitfall.Kind][2]string{
	pitfall.Empty: {"A loop with nothing in it takes about as long: the compiler has removed the work, or does it before the loop, or there is hardly any, so that nothing is compared",
		"for b.Loop() with the call itself between its braces, or before Go 1.24 keep the result in a package variable"},
	pitfall.Constant: {"A sample does the same whatever b.N is, and time per operation is its time divided by b.N",
		"for b.Loop(), or for range b.N around the work"},
	pitfall.Grows: {"An iteration takes longer the more of them there are: state grows from one to the next, or b.N is used as a size, so the figure depends on how many a sample has",
		"the same input in each iteration, of a fixed size"},
	pitfall.Loop126: {"Go 1.24 and 1.25 do not inline calls between the braces of b.Loop, 1.26 does (golang/go#73137): a change of time or allocations may be of the measuring, not of the code",
		"the same toolchain on both sides, or a b.N loop that keeps its results"},
	pitfall.Goroutines: {"They outlive the benchmark, and take time and memory from the samples that follow; where they are as many as iterations, the start of the work is timed and not the work",
		"wait in each iteration until its goroutines are done, for example by draining their channel"},
	pitfall.SetUp: {"That time is divided by b.N, so the figure depends on how many iterations a sample has, and a change of the work itself is seen smaller",
		"b.ResetTimer() just before the loop, or for b.Loop(), which does that"},
	pitfall.Parallel: {"All goroutines of RunParallel share the one CPU that dyno pins to, so they never run at the same time: what they contend for is not seen",
		"--cpus 2 or more"},
	pitfall.GCLeftOut: {"testing collects before each sample, and most samples end before the next collection: the figure is that of the work without the collecting that its garbage costs; where B/op is the same, that costs all settings the same",
		"a longer --sample, if it matters"},
}

// pitfalls are the table's, each kind once. What was seen of several benchmarks alike is
// said once, after their names; of all of them, without names.
func (v *View) PitfallNotes() (notes []pitfallNote) {
	for _, kind := range pitfall.Kinds {
		n := pitfallNote{Kind: kind}
		var seen []string
		alike := map[string][]string{} // names by what was seen
		for i := range v.Pitfalls {
			f := &v.Pitfalls[i]
			if f.Kind != kind {
				continue
			}
			full := f.Package + "." + f.Name
			n.Benchmarks = append(n.Benchmarks, full)
			text := v.seen(f)
			if alike[text] == nil {
				seen = append(seen, text)
			}
			alike[text] = append(alike[text], v.calledBy(full))
		}
		if seen == nil {
			continue
		}
		var texts []string
		for i, text := range seen {
			if i == mostSeen {
				texts = append(texts, fmt.Sprintf("and %d more", len(seen)-mostSeen))
				break
			}
			if len(seen) > 1 {
				text = strings.Join(first(alike[text], mostAlike), ", ") + ": " + text
			}
			texts = append(texts, text)
		}
		words := pitfallWords[kind]
		n.Text = fmt.Sprintf("%s. %s (consider: %s).", strings.Join(texts, "; "), words[0], words[1])
		notes = append(notes, n)
	}
	return notes
}

// seen are the figures of a pitfall, and the setting that has it if not all have.
func (v *View) seen(f *pitfall.Found) string {
	text := ""
	switch f.Kind {
	case pitfall.Empty:
		text = twoDigitTime(max(f.Sec, pitfall.NoLoopSec)) + " an iteration"
		if f.Sec < pitfall.NoLoopSec {
			text = "less than " + text
		}
	case pitfall.Constant:
		text = "it uses neither b.N nor b.Loop"
	case pitfall.Grows:
		text = fmt.Sprintf("%s an iteration with b.N of %d, %s with %d", twoDigitTime(f.FewSec), f.FewN, twoDigitTime(f.Sec), f.N)
	case pitfall.Loop126:
		text = fmt.Sprintf("Go 1.%d against 1.%d", f.Go, f.BaseGo)
	case pitfall.Goroutines:
		text = fmt.Sprintf("%.0f more after %d iterations than before", f.Count, f.N)
	case pitfall.SetUp:
		what := "what is done once takes"
		if f.Call != "" {
			what = f.Call + " and what follows before the loop take"
		}
		text = fmt.Sprintf("%s some %s, %s of the time of %d iterations", what, twoDigitTime(f.Once), twoDigits(f.Share), f.FewN)
	case pitfall.Parallel:
		text = "pinned to one CPU"
	case pitfall.GCLeftOut:
		text = fmt.Sprintf("collecting is %s of the time, and a sample has %.2g collections", twoDigits(f.Share), f.Count)
	}
	if f.Setting >= 0 {
		text += " in " + v.Labels[f.Setting]
	}
	return text
}

// PitfallLines are the notes, a line each that names so many benchmarks at most.
func (v *View) PitfallLines(most int) (lines []string) {
	for _, n := range v.PitfallNotes() {
		var names []string
		for _, full := range n.Benchmarks {
			names = append(names, v.calledBy(full))
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s", n.Kind, strings.Join(first(names, most), ", "), n.Text))
	}
	return lines
}

// calledBy is what the report calls the benchmark that is Package.Name.
func (v *View) calledBy(full string) string {
	for _, b := range v.Benchmarks {
		if b.Full() == full {
			return v.Called(b)
		}
	}
	return full
}

// first are the first names, and how many more there are.
func first(names []string, most int) []string {
	if more := len(names) - most; more > 1 {
		return append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return names
}

// twoDigitTime prints seconds to two digits.
func twoDigitTime(sec float64) string {
	s := layout.ScaleOf("-sec", sec)
	if x := sec / s.Factor; x < 99.5 { // which %g would print as 1e+02
		return fmt.Sprintf("%.2g %s", x, s.Unit)
	}
	return fmt.Sprintf("%.0f %s", sec/s.Factor, s.Unit)
}
