package prediction

import (
	"fmt"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// bytesOf prints a size in three digits.
func bytesOf(x float64) string { return each("-B")(x) }

// mostNamed are settings that a heading names.
const mostNamed = 5

// heading says what predictions are made from, a paragraph each.
func heading(f *predict.Forecast) (lines []string) {
	cycles, trials := 0, 0
	var settings []string
	for i := range f.Pooled {
		w := &f.Pooled[i]
		cycles += len(w.Cycles)
		trials += len(w.Trials)
		settings = append(settings, predict.Name(w.Setting))
	}
	from := layout.Count(trials, "trial")
	if f.Log {
		from = "the log"
	}
	of := words.List(settings)
	if len(settings) > mostNamed {
		of = layout.Count(len(settings), "setting")
	}
	with := ""
	if f.Group != "" {
		with = " with " + layout.Clean(f.Group)
	}
	lines = append(lines, fmt.Sprintf("%s, predicted from %s of %s%s: %s in %v", layout.Clean(f.Name), from, of, with,
		layout.Count(cycles, "collection"), time.Duration(f.Elapsed*1e9).Round(time.Second/100)))
	if len(f.About) > 0 {
		lines = append(lines, strings.Join(f.About, "; "))
	}
	w := &f.Pooled[0]
	for i := range f.Pooled {
		if len(w.Cycles) == 0 {
			w = &f.Pooled[i]
		}
	}
	said := []string{fmt.Sprintf("live heap %s, without allocations during marking", bytesOf(w.Live()*f.Live))}
	if f.Live != 1 {
		said[0] = fmt.Sprintf("live heap %s, %.4g times that measured", bytesOf(w.Live()*f.Live), f.Live)
	}
	if each := w.Alloc / w.Requests; known(each) {
		said = append(said, fmt.Sprintf("%s allocated per %s", bytesOf(each), f.Per))
	}
	switch share := w.GCCPU / w.CPU; {
	case share > 1:
		said = append(said, "collections take more than the whole CPU time by the runtime's clock, which counts waiting for a CPU")
	case known(share):
		said = append(said, fmt.Sprintf("collections take %s%% of the CPU time", layout.Share(w.GCCPU/w.CPU)))
	}
	lines = append(lines, words.Upper(strings.Join(said, "; ")+"."))
	if known(f.Cliff) {
		lines = append(lines, fmt.Sprintf("Below a GOMEMLIMIT of about %s, collections run back to back (with GOGC=off).", bytesOf(f.Cliff)))
	}
	return lines
}

// footnotes explain the marks of a table.
func (t *table) footnotes() (lines []string) {
	for i, d := range t.letters {
		lines = append(lines, letter(i)+"  "+words.PredictionDoubt(d))
	}
	var common []string
	for _, d := range t.common {
		common = append(common, words.PredictionDoubt(d))
	}
	if common != nil {
		lines = append(lines, "All rows: "+strings.Join(common, "; ")+".")
	}
	if len(t.letters)+len(t.common) > 0 {
		lines = append(lines, "Where a doubt is marked, the error can exceed the interval.")
	}
	lines = append(lines, "GC CPU includes marking by idle CPUs, unlike in reports of runs.")
	if t.spiral {
		lines = append(lines, "spiral: collections run back to back, or take half of all CPUs.")
	}
	if t.limited {
		lines = append(lines, "limited: GOMEMLIMIT sets the heap size, not GOGC.")
	}
	return lines
}

// notes are what a reader has to know of the source.
func notes(f *predict.Forecast) (lines []string) {
	for i := range f.Notes {
		lines = append(lines, note(f, &f.Notes[i]))
	}
	if t := f.Tail; t != nil {
		took := each("-sec")
		lines = append(lines, fmt.Sprintf("With %s, requests that met a collection took %s in the median and %s at p99, others %s and %s. dyno predicts how many meet one, but not p99.",
			predict.Name(t.Setting), took(t.MetP50), took(t.MetP99), took(t.ClearP50), took(t.ClearP99)))
	}
	return lines
}

func note(f *predict.Forecast, n *predict.Note) string {
	switch n.Kind {
	case predict.Assumed:
		return fmt.Sprintf("dyno did not launch the service and assumes that it ran with %s (consider: --gogc-was and --limit-was).", n.Said[0])
	case predict.InForce:
		return fmt.Sprintf("The program ran with %s, and that is taken, not %s of the plan.", n.Said[0], n.Said[1])
	case predict.Implied:
		return fmt.Sprintf("The goals of its collections look like GOGC=%d, not %d: it sets GOGC itself, got it from dyno's own environment, or has large stacks (consider: --gogc-was %[1]d).", n.N, n.Of)
	case predict.Forced:
		return fmt.Sprintf("%d of %s were forced by runtime.GC; they are left out, and occur with every setting.", n.N, layout.Count(n.Of, "collection"))
	case predict.Periodic:
		return fmt.Sprintf("%d of %s ran because two minutes had passed; they are left out, and are fewer with a lower GOGC.", n.N, layout.Count(n.Of, "collection"))
	case predict.Others:
		return fmt.Sprintf("Not included: %s (consider: --group).", layout.Clean(words.List(n.Said)))
	case predict.Processes:
		return fmt.Sprintf("The log has %d processes; they are combined.", n.N)
	case predict.Changed:
		return fmt.Sprintf("GOMAXPROCS, GOGC or the memory limit changed in the middle of %s; only what came after the last change is used.", layout.Count(n.N, "process"))
	case predict.Unread:
		return fmt.Sprintf("Trial %d is left out: %v.", n.Trial, n.Err)
	case predict.Uncollected:
		return fmt.Sprintf("No collection ended with %s.", words.List(n.Said))
	case predict.NoMemory:
		return "RSS and the program's CPU time are missing: the log does not have them."
	case predict.Missing:
		return fmt.Sprintf("%d of %s have no line in the log.", n.N, layout.Count(n.Of, "collection"))
	case predict.NoLimits:
		return "No limits are shown, because the limit that causes a spiral is unknown (consider: --limit)."
	}
	return string(n.Kind)
}

// last says what to do with predictions.
func last(f *predict.Forecast) string {
	said := "± is the reach of the 90% interval. A prediction is not a measurement"
	if f.Log {
		return said + ": try a setting before you trust it."
	}
	return said + "; a run is: dyno run … --vary GOGC=100,200."
}
