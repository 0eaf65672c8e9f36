// Package upgraded writes what dyno upgrade found: a screen of text, Markdown, a page, and upgrade.json. Package upgrade decides; here are its
// sentences.
package upgraded

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/upgrade"
)

// A Report is an answer with what surrounds it.
type Report struct {
	upgrade.Answer
	To       string // the new version, in words: "go1.27.4"
	Old, New dyno.Setting
	Survey   []string        // what differs, as far as it was known before anything was built
	Asked    bool            // the user has said what is allowed
	Remedy   *predict.Remedy // GOGC that is predicted to take the cost back; nil if dyno names none

	Name        string           // of the service
	Dyno        string           // version
	Plan        *dyno.Experiment // as asked, without credentials
	Made        time.Time
	Dir         string
	Interrupted bool
}

// Status is the exit status of the answer: 99 if the new version does not build, or what the user allows fails; 98 if it is not decided and
// strict. With strict, a default allowance fails it, too.
func (r *Report) Status(strict bool) int {
	switch {
	case r.Kind == upgrade.NotSafe && (strict || r.Asked), r.Kind == upgrade.Refused:
		return 99
	case r.Kind == upgrade.NotDecided && strict:
		return 98
	}
	return 0
}

// First is the answer in a sentence.
func (r *Report) First() string {
	switch r.Kind {
	case upgrade.Refused:
		return fmt.Sprintf("%s: it does not build with %s: %s.", r.Name, r.To, strings.Join(r.Survey, "; "))
	case upgrade.OneProgram:
		return fmt.Sprintf("%s: %s changes nothing: the program is the same, to the byte.", r.Name, r.To)
	case upgrade.Safe:
		return fmt.Sprintf("%s: %s is safe: %s.", r.Name, r.To, r.kept())
	case upgrade.NotSafe:
		return fmt.Sprintf("%s: %s is not safe: %s.", r.Name, r.To, r.broken())
	}
	if r.Table == nil {
		return fmt.Sprintf("%s: %s was not measured.", r.Name, r.To)
	}
	return fmt.Sprintf("%s: %s is not decided: %s.", r.Name, r.To, r.open())
}

// of lists the judgements with an outcome.
func (r *Report) of(o compare.Outcome) (js []compare.Judgement) {
	for _, j := range r.Judged {
		if j.Outcome == o {
			js = append(js, j)
		}
	}
	return js
}

func noun(j compare.Judgement) string {
	if j.Metric == "" {
		return j.Threshold.Name
	}
	return words.MetricNoun(j.Metric)
}

// kept says which limits hold.
func (r *Report) kept() string {
	var all []string
	for _, j := range r.of(compare.Passed) {
		all = append(all, noun(j))
	}
	verb := " surely stays within what you allow"
	if len(all) > 1 {
		verb = " surely stay within what you allow"
	}
	return words.List(all) + verb
}

// allowed is a limit as the user thinks of it: "5%".
func allowed(j compare.Judgement) string { return strings.TrimPrefix(j.Threshold.Literal, "-") }

func (r *Report) broken() string {
	var all []string
	for _, j := range r.of(compare.Failed) {
		if j.NoData {
			all = append(all, noun(j)+" is not known, so it is not shown to keep what you allow")
			continue
		}
		all = append(all, fmt.Sprintf("%s %s, and you allow %s", noun(j), judged(j), allowed(j)))
	}
	return strings.Join(all, "; ")
}

func (r *Report) open() string {
	var all []string
	for _, j := range r.of(compare.Unclear) {
		all = append(all, fmt.Sprintf("%s %s, and you allow %s", noun(j), judged(j), allowed(j)))
	}
	if len(all) == 0 {
		return "no limit could be judged"
	}
	return strings.Join(all, "; ")
}

func span(ratio, lo, hi float64) string {
	if math.IsNaN(lo) {
		return layout.Change(ratio)
	}
	return fmt.Sprintf("%s [%s, %s]", layout.Change(ratio), layout.Change(lo), layout.Change(hi))
}

func judged(j compare.Judgement) string { return span(1+j.Value, 1+j.Lo, 1+j.Hi) }
func versus(v compare.Versus) string    { return span(v.Ratio, v.Lo, v.Hi) }
func changed(v compare.Versus) bool     { return v.Verdict == stats.Better || v.Verdict == stats.Worse }

// Text is what dyno upgrade prints.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

// HTML writes the answer as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error { return r.said().HTML(w) }

// Markdown is the answer for a comment, or the summary of a job.
func (r *Report) Markdown() string {
	a := r.said()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", layout.EscapeMarkdown(a.Head[0]))
	for _, line := range a.Head[1:] {
		fmt.Fprintf(&b, "%s\n\n", layout.EscapeMarkdown(line))
	}
	for _, p := range a.Parts {
		for i := range p.Section.Grids {
			p.Section.Grids[i].Markdown(&b)
		}
		b.WriteByte('\n')
	}
	for _, note := range append(a.Notes, a.Last) {
		if note != "" {
			fmt.Fprintf(&b, "- %s\n", layout.EscapeMarkdown(note))
		}
	}
	return b.String()
}

func (r *Report) said() *screen.Answer {
	a := &screen.Answer{Head: []string{r.First()}, By: "upgrade " + r.Dyno}
	a.Head = append(a.Head, r.why()...)
	a.Head = append(a.Head, r.todo()...)
	if line := r.wayOut(); line != "" {
		a.Head = append(a.Head, line)
	}
	if r.Kind != upgrade.Safe && len(r.of(compare.Passed)) > 0 {
		a.Head = append(a.Head, "Safe: "+r.kept()+".")
	}
	if r.Kind == upgrade.NotSafe && len(r.of(compare.Unclear)) > 0 {
		a.Head = append(a.Head, "Not decided: "+r.open()+".")
	}
	if r.Kind == upgrade.NotDecided && r.More > 0 {
		a.Head = append(a.Head, fmt.Sprintf("About %s more would decide it, if all stays as it is (consider: a new dyno upgrade with --total %v).",
			layout.Count(r.More, "block"), r.longer()))
	}
	if s := r.table(); s != nil {
		a.Parts = append(a.Parts, screen.Part{Section: s})
	}
	if r.Kind != upgrade.Refused {
		a.Notes = append(a.Notes, r.Survey...)
	}
	a.Notes = append(a.Notes, r.search()...)
	if r.Run != "" {
		a.Last = fmt.Sprintf("All of the comparison: dyno report %s/%s", r.Dir, r.Run)
	}
	return a
}

// longer is a time that is likely to decide it.
func (r *Report) longer() string {
	minutes := (r.PerBlock * time.Duration(r.Blocks+r.More)).Minutes() * 1.25
	return fmt.Sprintf("%.0fm", math.Ceil(minutes))
}

// why says which default changed the metric.
func (r *Report) why() (lines []string) {
	c := r.Cause
	if c == nil {
		return nil
	}
	what := words.MetricNoun(c.Metric.Name)
	change := fmt.Sprintf("The change of %s, %s,", what, versus(c.Change))
	switch {
	case len(c.Found) > 0:
		one := c.Found[len(c.Found)-1]
		line := fmt.Sprintf("%s comes from %s: %s, it is %s against before.", change, title(one), with(one), versus(c.Alone.Left))
		if c.Alone.Left.Verdict == c.Change.Verdict {
			line += " So a part of it stays."
		}
		return []string{line}
	case c.Cut:
		return []string{change + " is sure, but the search for its cause did not come to its end."}
	}
	return []string{change + " is sure, but no default that can be turned back alone is shown to make it: it may be the compiler, the runtime, or several together."}
}

func title(c upgrade.Candidate) string {
	switch c.Source {
	case upgrade.GoLine:
		return "the go line"
	case upgrade.Module:
		return c.Name + " " + c.Is
	}
	return c.Name
}

// with says how a candidate is turned back.
func with(c upgrade.Candidate) string {
	switch c.Source {
	case upgrade.Experiment:
		return "with GOEXPERIMENT=no" + c.Name
	case upgrade.Debug:
		return "with GODEBUG=" + c.Name + "=" + c.Was
	case upgrade.GoLine:
		return "with the line go " + c.Was
	}
	return "with " + c.Name + " " + c.Was
}

// todo says what to do to keep a metric that is worse as it was.
func (r *Report) todo() (lines []string) {
	c := r.Cause
	if c == nil || len(c.Found) == 0 || c.Change.Verdict != stats.Worse {
		return nil
	}
	switch one := c.Found[len(c.Found)-1]; one.Source {
	case upgrade.Experiment:
		lines = []string{fmt.Sprintf("To keep it as it was: build with GOEXPERIMENT=no%s (in a Dockerfile, before go build: ENV GOEXPERIMENT=no%[1]s). A later Go may not have this experiment.", one.Name)}
	case upgrade.Debug:
		lines = []string{fmt.Sprintf("To keep it as it was: write the line godebug %s=%s into go.mod, or launch with GODEBUG=%[1]s=%[2]s. A later Go may not have this setting.", one.Name, one.Was)}
	case upgrade.GoLine:
		lines = []string{fmt.Sprintf("To keep it as it was: build with %s, and leave the line go %s in go.mod.", r.To, one.Was)}
	case upgrade.Module:
		lines = []string{fmt.Sprintf("To keep it as it was: leave this module as it is (go get %s@%s).", one.Name, one.Was)}
	}
	var open []string
	for _, j := range c.Alone.Judged {
		if j.Outcome != compare.Passed {
			open = append(open, fmt.Sprintf("%s, %s, is %s", noun(j), judged(j), outcomes[j.Outcome]))
		}
	}
	switch {
	case len(c.Alone.Judged) == 0:
	case len(open) == 0:
		lines = append(lines, "With that, all surely stays within what you allow.")
	default:
		lines = append(lines, "With that, "+strings.Join(open, "; ")+".")
	}
	return lines
}

// remedy is what may help: nil if the new version is safe as it is, or if the remedy costs more than is allowed.
func (r *Report) remedy() *predict.Remedy {
	x := r.Remedy
	if x == nil || r.Kind == upgrade.Safe {
		return nil
	}
	cost, of := x.CPU, "cpu-sec/req"
	if x.Metric == of {
		cost, of = x.Memory, "rss-peak-B"
	}
	for _, j := range r.Judged {
		if j.Metric == of && cost.Value-1 > j.Limit {
			return nil
		}
	}
	return x
}

// wayOut says which GOGC is predicted to get a metric back, and what it costs; "" if none is.
func (r *Report) wayOut() string {
	x := r.remedy()
	if x == nil {
		return ""
	}
	begin, against := "A way out may be", "both against the old version"
	if len(r.todo()) > 0 {
		begin = "Or set"
	}
	memory := span(x.Memory.Value, x.Memory.Lo, x.Memory.Hi) + " " + words.MetricNoun("rss-peak-B")
	cpu := span(x.CPU.Value, x.CPU.Lo, x.CPU.Hi) + " " + words.MetricNoun("cpu-sec/req")
	said := memory + " and " + cpu
	switch {
	case math.IsNaN(x.CPU.Value):
		said, against = memory, "against the old version"
	case math.IsNaN(x.Memory.Value):
		said, against = cpu, "against the old version"
	case x.Metric == "cpu-sec/req":
		said = cpu + " and " + memory
	}
	line := fmt.Sprintf("%s GOGC=%.0f: with it, dyno predicts %s, %s.", begin, x.GOGC, said, against)
	if len(x.Doubts) > 0 {
		line += fmt.Sprintf(" That may be wrong by more: dyno predict %s/%s --group '%s' --gogc %.0f says why.", r.Dir, r.Run, x.Group, x.GOGC)
	}
	return line
}

var outcomes = map[compare.Outcome]string{compare.Passed: "safe", compare.Failed: "not safe", compare.Unclear: "not decided"}

// search says what was looked at.
func (r *Report) search() (notes []string) {
	c := r.Cause
	if c == nil {
		return nil
	}
	if len(c.Found) > 0 {
		notes = append(notes, fmt.Sprintf("Without %s, alone on fresh blocks, %s is %s against the new version (dyno report %s/%s). A default that changes nothing is called the cause in at most 5%% of searches.",
			title(c.Alone.Candidate), words.MetricNoun(c.Metric.Name), versus(c.Alone.Back), r.Dir, c.Alone.Run))
	}
	for _, h := range c.Halves {
		var parts []string
		for _, p := range h.Parts {
			parts = append(parts, fmt.Sprintf("without %s %s", list(p.Back), versus(p.Versus)))
		}
		notes = append(notes, fmt.Sprintf("%s, against the new version: %s.", h.Run, strings.Join(parts, "; ")))
	}
	for _, one := range c.Unsure {
		notes = append(notes, fmt.Sprintf("Without %s, alone on fresh blocks, it does not surely move back: %s (dyno report %s/%s).", title(one.Candidate), versus(one.Back), r.Dir, one.Run))
	}
	for _, s := range c.Skipped {
		text, _, _ := strings.Cut(s.Why.Error(), "\n")
		notes = append(notes, fmt.Sprintf("%s cannot be turned back: %s.", title(s.Candidate), text))
	}
	return notes
}

func list(set []upgrade.Candidate) string {
	var all []string
	for _, c := range set {
		all = append(all, title(c))
	}
	return words.List(all)
}

// table has what was judged, and the other primary metrics.
func (r *Report) table() *layout.Section {
	if r.Table == nil || len(r.Table.Settings) < 2 {
		return nil
	}
	var own *compare.Table
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {}, {Left: true}}, Head: [][]string{{"", "change", "allowed", ""}}}
	if c := r.Cause; c != nil && len(c.Found) > 0 && c.Alone.Table != nil {
		own = c.Alone.Table
		g.Cols, g.Head[0] = append(g.Cols, layout.Column{}), append(g.Head[0], "without "+title(c.Alone.Candidate))
	}
	for _, row := range r.Table.Rows {
		i := slices.IndexFunc(r.Judged, func(j compare.Judgement) bool { return j.Metric == row.Name })
		v, known := r.Table.Settings[1].Versus[row.Key]
		if !known || i < 0 && !row.Primary {
			continue
		}
		limit, word := "", ""
		if i >= 0 {
			limit, word = allowed(r.Judged[i]), outcomes[r.Judged[i].Outcome]
		}
		if changed(v) {
			word = strings.TrimPrefix(word+", "+string(v.Verdict), ", ")
		}
		cells := layout.Cells(words.MetricNoun(row.Name), versus(v), limit, word)
		cells[1].Mark = layout.MarkOf(v.Verdict)
		if own != nil {
			cells = append(cells, layout.Cells(versus(own.Settings[2].Versus[row.Key]))...)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cells})
	}
	return &layout.Section{Title: fmt.Sprintf("%s against before, in %s", r.To, layout.Count(r.Blocks, "block")), Grids: []layout.Grid{g}}
}
