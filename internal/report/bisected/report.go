// Package bisected writes what dyno bisect found: a screen of text, a page, and bisect.json. Package bisect decides; here are its
// sentences.
package bisected

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// A Version is one of those among which the change was looked for.
type Version struct {
	Name  string   // a short hash, or a released version
	Title string   // of a commit; "" of a release
	Date  string   // of a commit
	Files []string // that a commit changed
}

// A Report is an answer with what surrounds it.
type Report struct {
	bisect.Answer
	Versions []Version // the good end first
	Passed   int       // between them, which cannot have changed the program
	Unit     string    // "commit" or "version"
	Error    float64

	Name        string           // of the service
	Dyno        string           // version
	Plan        *dyno.Experiment // as asked, without credentials
	Made        time.Time
	Dir         string
	Interrupted bool
	Notes       []string

	Profiled bool      // the pair has profiles of what the metric measures
	Function *Function // that accounts for the change of the pair; nil if none is known
	Touched  []Func    // functions whose source the found version changed
	Known    bool      // these are known
	Inside   [2]string // ends of a search among the commits that the found one merges; "" if it is no merge, or merges are opened

	Merge  string          // that was opened, and merges these versions; "" of the whole search
	Opened map[int]*Report // of merges that were opened, by version
}

// place is where something is said of.
func (r *Report) place() string {
	if r.Merge != "" {
		return "Inside the merge " + r.Merge
	}
	return r.Name
}

// begin is what versions are compared with.
func (r *Report) begin() string {
	if r.Merge != "" {
		return "where its branch began"
	}
	return "the good end"
}

// First is the answer in a sentence.
func (r *Report) First() string {
	last := len(r.Versions) - 1
	metric := r.metric()
	ends := fmt.Sprintf("from %s to %s", r.Versions[0].Name, r.Versions[last].Name)
	shown := "is not shown to differ"
	if r.Interrupted {
		shown = "is not yet shown to differ"
	}
	switch {
	case r.Kind == bisect.OneBuild && r.Plan.Bench != nil:
		return fmt.Sprintf("%s: the benchmarks run the same code %s.", r.place(), ends)
	case r.Kind == bisect.OneBuild:
		return fmt.Sprintf("%s: the program is the same %s, to the byte.", r.place(), ends)
	case r.Kind == bisect.NoChange && r.Plan.Bench != nil && r.Ends.Verdict == "":
		return fmt.Sprintf("%s: %s of no benchmark %s %s.", r.place(), cmp.Or(metric, "neither time nor allocations"), strings.Replace(shown, "not ", "", 1), ends)
	case r.Kind == bisect.NoChange && (r.Ends.Verdict == stats.Worse || r.Ends.Verdict == stats.Better):
		return fmt.Sprintf("%s: %s changed the other way %s: %s.", r.place(), metric, ends, r.change(r.Ends))
	case r.Kind == bisect.NoChange && r.Metric != "":
		return fmt.Sprintf("%s: %s %s %s: %s.", r.place(), metric, shown, ends, r.change(r.Ends))
	case r.Kind == bisect.NoChange:
		return fmt.Sprintf("%s: no primary metric is shown to be worse %s.", r.place(), ends)
	case r.Kind == bisect.Found:
		return fmt.Sprintf("%s: %s changed with %s: %s.", r.place(), metric, r.named(r.Hi), r.change(r.Pair))
	case r.Kind == bisect.Range:
		return fmt.Sprintf("%s: %s changed after %s, and with %s at the latest: %s. Those between cannot be measured.", r.place(), metric, r.Versions[r.Lo].Name, r.named(r.Hi), r.change(r.Pair))
	}
	where := ""
	if r.Hi-r.Lo < last {
		where = fmt.Sprintf(" By what was measured it is most likely after %s, and with %s at the latest.", r.Versions[r.Lo].Name, r.Versions[r.Hi].Name)
	}
	return fmt.Sprintf("%s: %s differs %s, %s, but no single %s is shown to have changed it.%s", r.place(), metric, ends, r.change(r.Ends), r.Unit, where)
}

// metric is a noun.
func (r *Report) metric() string {
	if b := r.Benchmark(); b != "" {
		return r.Metric + " of " + b
	}
	return words.MetricNoun(r.Metric)
}

// named is a version with its title.
func (r *Report) named(v int) string {
	if x := r.Versions[v]; x.Title != "" {
		return fmt.Sprintf("%s (%s, %q)", x.Name, x.Date, layout.Middle(x.Title, 50))
	}
	return r.Versions[v].Name
}

func (r *Report) change(v compare.Versus) string { return change(&r.Yardstick, v) }

// change is a verdict with its interval.
func change(y *bisect.Yardstick, v compare.Versus) string {
	verdict := ""
	if v.Verdict == stats.Worse || v.Verdict == stats.Better {
		verdict = string(v.Verdict) + ", "
	}
	switch {
	case v.Verdict == "":
		return "not measured"
	case y.Plain && verdict != "":
		return verdict + by(y, v.Diff)
	case math.IsNaN(v.Ratio):
		return "unclear"
	}
	return fmt.Sprintf("%s%s [%s, %s]", verdict, layout.Change(v.Ratio), layout.Change(v.Lo), layout.Change(v.Hi))
}

// by is a change of one version, or of a pair: a ratio, or a difference.
func by(y *bisect.Yardstick, change float64) string {
	if y.Plain {
		return layout.ScaleOf(y.Metric, math.Abs(change)).SignedWith(change)
	}
	return layout.Change(change)
}

// Text is what dyno bisect prints.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

// HTML writes the answer as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	a := r.said()
	a.Figure, a.Picture = "what was measured, in the order of the "+r.Unit+"s", r.figure()
	a.Shows = fmt.Sprintf("Each point is a %s that was measured, %s against the good end, the median over its blocks. From left to right are the %ss that can have changed it, counted from the good end.", r.Unit, r.metric(), r.Unit)
	return a.HTML(w)
}

func (r *Report) said() *screen.Answer {
	a := &screen.Answer{Head: []string{r.First()}, By: "bisect " + r.Dyno, Notes: slices.Clone(r.Notes)}
	if r.PairTable != nil {
		a.Head = append(a.Head, r.proof())
	}
	a.Head = append(a.Head, r.story()...)
	r.detail(a)
	if r.PairRun != "" {
		a.Last = fmt.Sprintf("All of the last comparison: dyno report %s/%s", r.Dir, r.PairRun)
		if r.Benchmark() != "" {
			a.Last += " (it judges by a smaller error, so it may say unclear)"
		}
	}
	return a
}

// story is what follows the first sentence: what the change comes from, and further changes.
func (r *Report) story() (lines []string) {
	if r.PairTable != nil {
		lines = r.account(&r.Answer, append(r.why(), r.itself()...))
	}
	for i := range r.More {
		more := &r.More[i]
		lines = append(append(lines, r.further(more)), r.account(more, nil)...)
	}
	return lines
}

// account says what the change of an answer comes from: of a merge that was opened, from which of its commits; else why.
func (r *Report) account(a *bisect.Answer, why []string) []string {
	in := r.Opened[a.Hi]
	if in == nil || a.Kind != bisect.Found {
		return why
	}
	lines := []string{in.First()}
	switch {
	case in.PairTable != nil && in.PartOf(a.Pair):
		lines = append(lines, "That is probably a part of what the merge changed. The rest is of other commits in it, or of the merge itself.")
		return append(lines, in.story()...)
	case in.PairTable != nil:
		return append(lines, in.story()...)
	case in.Kind != bisect.Undecided && !in.Interrupted:
		lines = append(lines, "So the change may be of the merge itself, or of its commits together with those that they were merged with.")
	}
	return append(lines, why...)
}

// itself says that a commit changed the benchmark.
func (r *Report) itself() []string {
	function, _, _ := strings.Cut(r.Answer.Name, "/")
	i := slices.IndexFunc(r.Touched, func(f Func) bool { return function != "" && f.Name == "Benchmark"+function })
	if i < 0 {
		return nil
	}
	return []string{fmt.Sprintf("The %s changed the benchmark itself (%s:%d).", r.Unit, r.Touched[i].File, r.Touched[i].Line)}
}

// detail adds what was measured, and notes of the search, and of those inside of merges.
func (r *Report) detail(a *screen.Answer) {
	if s := r.measured(); s != nil {
		a.Parts = append(a.Parts, screen.Part{Section: s})
	}
	a.Notes = append(a.Notes, r.counts())
	if r.Others > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s surely worse, too (dyno report %s/1-ends); it takes a search of its own (consider: --bench).", layout.Count(r.Others, "other benchmark")+map[bool]string{true: " is", false: " are"}[r.Others == 1], r.Dir))
	}
	for _, p := range r.Failed {
		a.Notes = append(a.Notes, fmt.Sprintf("%s against %s, alone on fresh blocks: %s, which is not sure enough (dyno report %s/%s)",
			r.Versions[p.Hi].Name, r.Versions[p.Lo].Name, r.change(p.Versus), r.Dir, p.Run))
	}
	for _, v := range slices.Sorted(maps.Keys(r.Skipped)) {
		text, _, _ := strings.Cut(r.Skipped[v].Error(), "\n")
		a.Notes = append(a.Notes, fmt.Sprintf("%s is left out: %s", r.Versions[v].Name, text))
	}
	if r.Inside[0] != "" {
		same := ""
		if r.Kind == bisect.Found {
			same = "--all-parents in the same search; or "
		}
		a.Notes = append(a.Notes, fmt.Sprintf("%s is a merge (consider, for the commits in it: %s--good %.12s --bad %.12s)", r.Versions[r.Hi].Name, same, r.Inside[0], r.Inside[1]))
	}
	for _, v := range slices.Sorted(maps.Keys(r.Opened)) {
		in := r.Opened[v]
		a.Notes = append(a.Notes, in.Notes...)
		in.detail(a)
	}
}

// proof says on what the answer rests.
func (r *Report) proof() string {
	of := fmt.Sprintf("Both were compared alone, on fresh blocks. Two equal versions are called different in at most %g%% of searches.", 100*r.Error)
	if r.Partly && len(r.More) > 0 {
		return of + fmt.Sprintf(" Between the ends it is %s, which is probably more.", r.change(r.Ends))
	}
	if r.Partly {
		return of + fmt.Sprintf(" It is probably a part of the change between the ends, %s: another may have changed it, too (consider: --all).", r.change(r.Ends))
	}
	return of + fmt.Sprintf(" Between the ends it is %s.", r.change(r.Ends))
}

// further is what was found of the versions before or after the answer.
func (r *Report) further(a *bisect.Answer) string {
	switch a.Kind {
	case bisect.Found:
		return fmt.Sprintf("Another change is with %s: %s (dyno report %s/%s).", r.named(a.Hi), change(&a.Yardstick, a.Pair), r.Dir, a.PairRun)
	case bisect.Range:
		return fmt.Sprintf("Another change is after %s, and with %s at the latest: %s (dyno report %s/%s).", r.Versions[a.Lo].Name, r.named(a.Hi), change(&a.Yardstick, a.Pair), r.Dir, a.PairRun)
	case bisect.Undecided:
		return fmt.Sprintf("From %s to %s it changed, too, %s, but no single %s is shown to have changed it.", r.Versions[a.Lo].Name, r.Versions[a.Hi].Name, change(&a.Yardstick, a.Ends), r.Unit)
	case bisect.OneBuild:
		what := "the program is the same"
		if r.Benchmark() != "" {
			what = "the benchmark runs the same code"
		}
		return fmt.Sprintf("From %s to %s %s.", r.Versions[a.Lo].Name, r.Versions[a.Hi].Name, what)
	}
	return fmt.Sprintf("No further change is shown from %s to %s: %s.", r.Versions[a.Lo].Name, r.Versions[a.Hi].Name, change(&a.Yardstick, a.Ends))
}

// why says what accounts for the change, and whether the found version changed its source.
func (r *Report) why() []string {
	for _, w := range r.PairTable.Settings[1].Why {
		for _, c := range w.Causes {
			if w.Metric != r.Metric || len(c.Places) == 0 {
				continue
			}
			var of []Func
			for _, p := range c.Places {
				of = append(of, Func{File: p.File, Name: p.Func, Line: p.Line})
			}
			return said(fmt.Sprintf("Why: %s.", words.Cause(c, []string{w.Metric})), r.source(of...))
		}
	}
	const alike = "Why: the profiles of the two do not surely differ in any function."
	switch f := r.Function; {
	case !r.Profiled:
		return []string{"Why: dyno does not know, as it has no profiles of the two that measure " + words.MetricNoun(r.Metric) + "."}
	case f == nil:
		return []string{alike}
	case !f.Sure:
		return []string{fmt.Sprintf("%s The function %s has %s%% of the %s. %s", alike, f.Name, layout.Share(float64(f.Share)), f.of, r.source(Func{File: f.File, Name: f.Name, Line: f.Line}))}
	default:
		return said(fmt.Sprintf("Why: %s changed, %s.", f.Name, layout.ScaleOf(f.Metric, math.Abs(f.Change)).SignedWith(f.Change)), r.source(Func{File: f.File, Name: f.Name, Line: f.Line}))
	}
}

// said leaves out sentences that are empty.
func said(lines ...string) []string {
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// mostRows is the length of the table.
const mostRows = 14

// measured is a table of versions, those next to the answer if there are many.
func (r *Report) measured() *layout.Section {
	if len(r.Measured) < 2 {
		return nil
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {}, {Left: true, Keep: 1}}, Head: [][]string{{r.Unit, "against " + r.begin(), "blocks", ""}}}
	rows := r.Measured
	for len(rows) > mostRows { // the farther end goes first
		if at := (r.Lo + r.Hi) / 2; at-rows[1].Version > rows[len(rows)-2].Version-at {
			rows = slices.Delete(slices.Clone(rows), 1, 2)
		} else {
			rows = slices.Delete(slices.Clone(rows), len(rows)-2, len(rows)-1)
		}
	}
	for _, m := range rows {
		change := by(&r.Yardstick, m.Change)
		if m.Version == 0 {
			change = ""
		}
		mark := layout.Plain
		if r.PairTable != nil && m.Version == r.Hi {
			mark = layout.MarkOf(r.Pair.Verdict)
		}
		row := layout.Cells(r.Versions[m.Version].Name, change, fmt.Sprint(m.Blocks), layout.Middle(r.Versions[m.Version].Title, 44))
		row[1].Mark = mark
		g.Rows = append(g.Rows, layout.Row{Cells: row})
	}
	title := "Measured: " + r.metric() + ", medians over blocks"
	if r.Merge != "" {
		title = r.place() + ": " + r.metric() + ", medians over blocks"
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

func (r *Report) counts() string {
	text := fmt.Sprintf("%s after %s; with that, %d were built and %d measured", layout.Count(len(r.Versions)-1+r.Passed, r.Unit), r.begin(), r.Built, len(r.Measured))
	if r.Merge != "" {
		text = r.place() + ": " + text
	}
	if r.Passed > 0 {
		text += fmt.Sprintf("; %d cannot have changed the program, and were passed over", r.Passed)
	}
	return text + "."
}

// figure is what was measured, over the versions.
func (r *Report) figure() chart.SVG {
	if len(r.Measured) < 2 {
		return ""
	}
	l := chart.Line{Name: r.metric(), Scale: true}
	var marks []int
	for i, m := range r.Measured {
		l.X, l.Y = append(l.X, float64(m.Version)), append(l.Y, m.Change)
		if r.PairTable != nil && m.Version == r.Hi {
			marks = append(marks, i)
		}
	}
	return chart.Trend(l, marks, func(x float64) string { return fmt.Sprintf("%.0f", x) }, func(x float64) string { return by(&r.Yardstick, x) })
}
