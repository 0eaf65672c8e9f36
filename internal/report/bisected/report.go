// Package bisected writes what dyno bisect found: a screen of text, a page, and bisect.json. Package bisect decides; here are its
// sentences.
package bisected

import (
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// Schema is the version of bisect.json.
const Schema = 1

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
}

// First is the answer in a sentence.
func (r *Report) First() string {
	last := len(r.Versions) - 1
	metric := words.MetricNoun(r.Metric)
	ends := fmt.Sprintf("from %s to %s", r.Versions[0].Name, r.Versions[last].Name)
	shown := "is not shown to differ"
	if r.Interrupted {
		shown = "is not yet shown to differ"
	}
	switch {
	case r.Kind == bisect.OneBuild:
		return fmt.Sprintf("%s: the program is the same %s, to the byte.", r.Name, ends)
	case r.Kind == bisect.NoRatio:
		return fmt.Sprintf("%s: %s is 0 at one of the ends, so changes of it have no ratio, by which bisect goes (consider: another --metric).", r.Name, metric)
	case r.Kind == bisect.NoChange && r.Metric != "":
		return fmt.Sprintf("%s: %s %s %s: %s.", r.Name, metric, shown, ends, r.change(r.Ends))
	case r.Kind == bisect.NoChange:
		return fmt.Sprintf("%s: no primary metric is shown to be worse %s.", r.Name, ends)
	case r.Kind == bisect.Found:
		return fmt.Sprintf("%s: %s changed with %s: %s.", r.Name, metric, r.named(r.Hi), r.change(r.Pair))
	case r.Kind == bisect.Range:
		return fmt.Sprintf("%s: %s changed after %s, and with %s at the latest: %s. Those between cannot be measured.", r.Name, metric, r.Versions[r.Lo].Name, r.named(r.Hi), r.change(r.Pair))
	}
	where := ""
	if r.Hi-r.Lo < last {
		where = fmt.Sprintf(" By what was measured it is most likely after %s, and with %s at the latest.", r.Versions[r.Lo].Name, r.Versions[r.Hi].Name)
	}
	return fmt.Sprintf("%s: %s differs %s, %s, but no single %s is shown to have changed it.%s", r.Name, metric, ends, r.change(r.Ends), r.Unit, where)
}

// named is a version with its title.
func (r *Report) named(v int) string {
	if x := r.Versions[v]; x.Title != "" {
		return fmt.Sprintf("%s (%s, %q)", x.Name, x.Date, layout.Middle(x.Title, 50))
	}
	return r.Versions[v].Name
}

func (r *Report) change(v compare.Versus) string {
	if math.IsNaN(v.Ratio) {
		return "unclear"
	}
	verdict := ""
	if v.Verdict == stats.Worse || v.Verdict == stats.Better {
		verdict = string(v.Verdict) + ", "
	}
	return fmt.Sprintf("%s%s [%s, %s]", verdict, layout.Change(v.Ratio), layout.Change(v.Lo), layout.Change(v.Hi))
}

// Text is what dyno bisect prints.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

// HTML writes the answer as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	a := r.said()
	a.Figure, a.Picture = "what was measured, in the order of the "+r.Unit+"s", r.figure()
	a.Shows = fmt.Sprintf("Each point is a %s that was measured, %s against the good end, the median over its blocks; along are the %ss that can have changed it, counted from the good end.", r.Unit, words.MetricNoun(r.Metric), r.Unit)
	return a.HTML(w)
}

func (r *Report) said() *screen.Answer {
	a := &screen.Answer{Head: []string{r.First()}, By: "bisect " + r.Dyno, Notes: slices.Clone(r.Notes)}
	if r.PairTable != nil {
		a.Head = append(a.Head, r.proof())
		a.Head = append(a.Head, r.why()...)
	}
	if s := r.measured(); s != nil {
		a.Parts = append(a.Parts, screen.Part{Section: s})
	}
	a.Notes = append(a.Notes, r.counts())
	for _, p := range r.Failed {
		a.Notes = append(a.Notes, fmt.Sprintf("%s against %s, alone on fresh blocks: %s, which is not sure enough (dyno report %s/%s)",
			r.Versions[p.Hi].Name, r.Versions[p.Lo].Name, r.change(p.Versus), r.Dir, p.Run))
	}
	for _, v := range slices.Sorted(maps.Keys(r.Skipped)) {
		text, _, _ := strings.Cut(r.Skipped[v].Error(), "\n")
		a.Notes = append(a.Notes, fmt.Sprintf("%s is left out: %s", r.Versions[v].Name, text))
	}
	if r.PairRun != "" {
		a.Last = fmt.Sprintf("All of the last comparison: dyno report %s/%s", r.Dir, r.PairRun)
	}
	return a
}

// proof says on what the answer rests.
func (r *Report) proof() string {
	of := fmt.Sprintf("Both were compared alone, on fresh blocks; if neither differs from the other, that is called a change in at most %g%% of cases.", 100*r.Error)
	if r.Partly {
		return of + fmt.Sprintf(" It is probably a part of the change between the ends, %s: another may have changed it, too (consider: a search before and after it).", r.change(r.Ends))
	}
	return of + fmt.Sprintf(" Between the ends it is %s.", r.change(r.Ends))
}

// why says what accounts for the change, and whether the commit touches it.
func (r *Report) why() (lines []string) {
	for _, w := range r.PairTable.Settings[1].Why {
		if w.Metric != r.Metric {
			continue
		}
		for _, c := range w.Causes {
			if len(c.Places) == 0 {
				continue
			}
			lines = append(lines, fmt.Sprintf("Why: %s.", words.Cause(c, []string{w.Metric})))
			if text := r.touched(c.Places); text != "" {
				lines = append(lines, text)
			}
			return lines
		}
	}
	return []string{"Why: the profiles of the two do not surely differ in any function."}
}

// touched says whether the found commit changed a file of the functions that changed most.
func (r *Report) touched(places []compare.Place) string {
	files := r.Versions[r.Hi].Files
	if len(files) == 0 {
		return ""
	}
	for _, p := range places {
		for _, f := range files {
			if strings.Contains(f, "/") && strings.HasSuffix(p.File, "/"+f) || p.File == f {
				return fmt.Sprintf("The %s changed %s.", r.Unit, f)
			}
		}
	}
	for _, f := range files {
		if path.Base(f) == "go.mod" {
			return fmt.Sprintf("The %s did not change these functions' files, but go.mod: the cause may be a dependency.", r.Unit)
		}
	}
	return fmt.Sprintf("The %s changed no file of these functions: it may have changed who calls them, and how often.", r.Unit)
}

// mostRows is the length of the table.
const mostRows = 14

// measured is a table of versions, those next to the answer if there are many.
func (r *Report) measured() *layout.Section {
	if len(r.Measured) < 2 {
		return nil
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {}, {Left: true, Keep: 1}}, Head: [][]string{{r.Unit, "against the good end", "blocks", ""}}}
	rows := r.Measured
	for len(rows) > mostRows { // the farther end goes first
		if at := (r.Lo + r.Hi) / 2; at-rows[1].Version > rows[len(rows)-2].Version-at {
			rows = slices.Delete(slices.Clone(rows), 1, 2)
		} else {
			rows = slices.Delete(slices.Clone(rows), len(rows)-2, len(rows)-1)
		}
	}
	for _, m := range rows {
		change := layout.Change(m.Ratio)
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
	title := "Measured: " + words.MetricNoun(r.Metric) + ", medians over blocks"
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

func (r *Report) counts() string {
	text := fmt.Sprintf("%s after the good end; with that, %d were built and %d measured", layout.Count(len(r.Versions)-1+r.Passed, r.Unit), r.Built, len(r.Measured))
	if r.Passed > 0 {
		text += fmt.Sprintf("; %d changed nothing that the program is made of, and were passed over", r.Passed)
	}
	return text + "."
}

// figure is what was measured, over the versions.
func (r *Report) figure() chart.SVG {
	if len(r.Measured) < 2 {
		return ""
	}
	l := chart.Line{Name: words.MetricNoun(r.Metric), Scale: true}
	var marks []int
	for i, m := range r.Measured {
		l.X, l.Y = append(l.X, float64(m.Version)), append(l.Y, m.Ratio)
		if r.PairTable != nil && m.Version == r.Hi {
			marks = append(marks, i)
		}
	}
	return chart.Trend(l, marks, func(x float64) string { return fmt.Sprintf("%.0f", x) }, func(y float64) string { return layout.Change(y) })
}

// The shape of bisect.json, which doc/format.md describes.
type (
	document struct {
		answer.Envelope[answer.Setting, string]

		Name     string        `json:"name"`
		Answer   bisect.Kind   `json:"answer"`
		Metric   string        `json:"metric,omitempty"`
		After    string        `json:"after,omitempty"`
		At       string        `json:"at,omitempty"`
		Ends     *difference   `json:"ends,omitempty"`
		Pair     *difference   `json:"pair,omitempty"`
		Failed   []failedPair  `json:"failed,omitempty"`
		Partly   bool          `json:"partly,omitempty"`
		Versions []measuredRow `json:"versions"`
		Passed   int           `json:"passed"`
	}
	difference struct {
		Ratio   dyno.Number   `json:"ratio"`
		Lo      dyno.Number   `json:"lo"`
		Hi      dyno.Number   `json:"hi"`
		P       dyno.Number   `json:"p"`
		Verdict stats.Verdict `json:"verdict"`
		Run     string        `json:"run"`
	}
	failedPair struct {
		After string `json:"after"`
		At    string `json:"at"`
		*difference
	}
	measuredRow struct {
		Name    string      `json:"version"`
		Title   string      `json:"title,omitempty"`
		Ratio   dyno.Number `json:"ratio"` // against the good end; null if it was not measured
		Blocks  int         `json:"blocks"`
		Weight  float64     `json:"probability"` // of the model, that the change came with it
		Skipped string      `json:"left_out,omitempty"`
	}
)

// Document is bisect.json.
func (r *Report) Document() any {
	d := document{Name: r.Name, Answer: r.Kind, Metric: r.Metric, Partly: r.Partly, Passed: r.Passed, Versions: []measuredRow{}}
	if r.Kind != bisect.NoChange && r.Kind != bisect.OneBuild {
		d.After, d.At = r.Versions[r.Lo].Name, r.Versions[r.Hi].Name
	}
	if r.Ends.Verdict != "" {
		d.Ends = differenceOf(r.Ends, "1-ends")
	}
	if r.PairTable != nil {
		d.Pair = differenceOf(r.Pair, r.PairRun)
	}
	for _, p := range r.Failed {
		d.Failed = append(d.Failed, failedPair{r.Versions[p.Lo].Name, r.Versions[p.Hi].Name, differenceOf(p.Versus, p.Run)})
	}
	for v, x := range r.Versions {
		row := measuredRow{Name: x.Name, Title: x.Title, Ratio: dyno.Number(math.NaN())}
		if v < len(r.Posterior) {
			row.Weight = r.Posterior[v]
		}
		if i := slices.IndexFunc(r.Measured, func(m bisect.Measured) bool { return m.Version == v }); i >= 0 {
			row.Ratio, row.Blocks = dyno.Number(r.Measured[i].Ratio), r.Measured[i].Blocks
		}
		if err := r.Skipped[v]; err != nil {
			row.Skipped = err.Error()
		}
		d.Versions = append(d.Versions, row)
	}
	d.Envelope = answer.New("bisect", Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made, Interrupted: r.Interrupted}, []answer.Setting{}, r.Notes)
	return d
}

func differenceOf(v compare.Versus, run string) *difference {
	return &difference{dyno.Number(v.Ratio), dyno.Number(v.Lo), dyno.Number(v.Hi), dyno.Number(v.P), v.Verdict, run}
}
