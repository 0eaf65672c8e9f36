// Package tracked writes what is known of a track: a screen of text, a page, a comment for a pull request or an issue, a badge, and JSON.
// Package track decides; here are its sentences.
package tracked

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/track"
)

// A Report is a track with what surrounds it.
type Report struct {
	Log   *track.Log
	Lines []*track.Line // of each metric, in the order of a table
	Place string        // of the ledger
	Dyno  string        // version
	Plan  *dyno.Experiment
	Made  time.Time
	Notes []string
	Lost  int      // measured commits without a place in the history
	Apart []string // commits that were measured against an anchor whose level is not known

	New     []track.Alarm // that were shown now
	Waiting int           // possible changes that were not looked at
}

// shown are the changes that were shown and are in the history, in its order. What two machines showed of one place is one.
func (r *Report) shown() (all []track.Change) {
	for i := range r.Log.Alarms {
		for _, line := range r.Lines {
			c, ok := line.Change(&r.Log.Alarms[i])
			if !ok {
				continue
			}
			at := slices.IndexFunc(all, func(o track.Change) bool {
				return o.Metric == c.Metric && o.Shape == c.Shape && o.First < c.Last && c.First < o.Last && (o.Ratio > 1) == (c.Ratio > 1)
			})
			switch {
			case at < 0:
				all = append(all, c)
			case c.Named && !all[at].Named:
				all[at] = c
			}
		}
	}
	slices.SortStableFunc(all, func(a, b track.Change) int { return cmp.Compare(a.Last, b.Last) })
	return all
}

// here is a change that was shown, with the hashes of this history, if it is in it.
func (r *Report) here(a *track.Alarm) *track.Change {
	for _, line := range r.Lines {
		if c, ok := line.Change(a); ok {
			return &c
		}
	}
	return &track.Change{Alarm: *a, Named: true}
}

// Worse says what got worse: a change that this command has shown, else one that came with a commit, or with it at the latest. It is "" if
// nothing did.
func (r *Report) Worse(at track.Commit) string {
	for i := range r.New {
		if r.New[i].Worse {
			return r.say(r.here(&r.New[i]))
		}
	}
	for _, c := range r.shown() {
		if c.Worse && (c.Named && c.Commit == at.ID || !c.Named && c.To == at.ID) {
			return r.say(&c)
		}
	}
	return ""
}

// measured counts the commits with a value.
func (r *Report) measured() (n int) {
	for _, line := range r.Lines {
		n = max(n, len(line.At))
	}
	return n
}

// First is the answer in a sentence.
func (r *Report) First() string {
	name, all := r.Log.Start.Name, r.shown()
	commits := layout.Count(r.measured(), "commit")
	apart := ""
	if n := len(r.Apart); n > 0 {
		apart = " " + layout.CountIs(n, "measured commit") + " not among them: nothing tells the level of their anchor."
	}
	switch {
	case r.measured() == 0 && r.Lost > 0:
		return fmt.Sprintf("%s: none of the measured commits is in this history.", name)
	case r.measured() == 0 && len(r.Log.Points) > 0 && len(r.Apart) == 0 && !slices.ContainsFunc(r.Log.Points, func(p track.Point) bool { return !p.Same }):
		return fmt.Sprintf("%s: so far each commit has the program of one before it.", name)
	case r.measured() == 0:
		return fmt.Sprintf("%s: no commit is measured yet (consider: dyno track add).%s", name, apart)
	case len(all) == 0:
		return fmt.Sprintf("%s: no change is shown in %s.%s", name, commits, apart)
	}
	last := &all[len(all)-1]
	return fmt.Sprintf("%s: %s shown in %s; the last: %s.%s", name, layout.CountIs(len(all), "change"), commits, r.say(last), apart)
}

// say is a change that was shown, in words.
func (r *Report) say(a *track.Change) string {
	text := fmt.Sprintf("%s %s [%s, %s]", words.MetricNoun(a.Metric), layout.Change(a.Ratio), layout.Change(a.Lo), layout.Change(a.Hi))
	switch {
	case a.Commit != "":
		text += " with " + short(a.Commit)
		if a.Title != "" {
			text += fmt.Sprintf(" %q", layout.Middle(a.Title, 50))
		}
		if !a.Named {
			text += ", before the history was rewritten"
		}
	case a.Shape == track.Creep && a.Searched:
		text += fmt.Sprintf(" from %s to %s, bit by bit: no single commit is shown to have changed it", short(a.From), short(a.To))
	default:
		text += fmt.Sprintf(" after %s, and with %s at the latest", short(a.From), short(a.To))
	}
	if a.Function != "" {
		text += ", in " + a.Function
	}
	return text
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// Text is what dyno track prints.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

func (r *Report) said() *screen.Answer {
	a := &screen.Answer{Head: []string{r.First()}, By: "track " + r.Dyno, Notes: slices.Clone(r.Notes)}
	all := r.shown()
	for i := range slices.Backward(all[:max(0, len(all)-1)]) {
		a.About = append(a.About, "Before: "+r.say(&all[i])+".")
	}
	if s := r.table(); s != nil {
		a.Parts = append(a.Parts, screen.Part{Section: s})
	}
	a.Notes = append(a.Notes, r.power()...)
	switch {
	case r.Waiting > 0 && r.Log.Left() == 0:
		a.Notes = append(a.Notes, fmt.Sprintf("%s not looked at: more looks would make more than one false alarm in %d commits, so they wait for further commits.", layout.CountIs(r.Waiting, "possible change"), int(1/track.PerCommit)))
	case r.Waiting > 0:
		a.Notes = append(a.Notes, fmt.Sprintf("%s not looked at yet (consider: dyno track check).", layout.CountIs(r.Waiting, "possible change")))
	}
	a.Last = fmt.Sprintf("The lines are in %s; the anchor is %s. A change is shown on fresh blocks: of %d commits at most one has a false alarm, on average. The search for its commit errs in at most 5%%.", r.Place, short(r.Log.Start.Anchor), int(1/track.PerCommit))
	return a
}

// table is the newest commit of each metric.
func (r *Report) table() *layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {Left: true, Keep: 1}, {}, {Left: true, Keep: 1}, {}},
		Head: [][]string{{"metric", "now", "95% interval", "commits", "", "changes"}},
	}
	first := ""
	for _, line := range r.Lines {
		if len(line.At) == 0 {
			continue
		}
		last := line.At[len(line.At)-1]
		first = cmp.Or(first, short(line.Base()))
		changes := 0
		for _, a := range r.shown() {
			if a.Metric == line.Metric {
				changes++
			}
		}
		half := 1.96 * last.SE
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(words.Noun(line.Metric), layout.Change(math.Exp(last.Level)),
			fmt.Sprintf("[%s, %s]", layout.Change(math.Exp(last.Level-half)), layout.Change(math.Exp(last.Level+half))),
			fmt.Sprint(len(line.At)), spark(line), fmt.Sprint(changes))})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return &layout.Section{Title: "The newest commit, against " + first, Grids: []layout.Grid{g}}
}

// leastSpark is the least range that fills the height of a course, as a logarithm: noise is to look flat.
const leastSpark = 0.05

// spark is the course of the last commits in characters.
func spark(line *track.Line) string {
	const most, marks = 20, "▁▂▃▄▅▆▇█"
	at := line.At[max(0, len(line.At)-most):]
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range at {
		lo, hi = min(lo, p.Level), max(hi, p.Level)
	}
	if lack := leastSpark - (hi - lo); lack > 0 {
		lo, hi = lo-lack/2, hi+lack/2
	}
	var b strings.Builder
	steps := []rune(marks)
	for _, p := range at {
		i := int((p.Level - lo) / (hi - lo) * float64(len(steps)-1))
		b.WriteRune(steps[i])
	}
	return b.String()
}

// power says what size of a step each line can find.
func (r *Report) power() (lines []string) {
	var said []string
	for _, line := range r.Lines {
		p, ok := r.Log.Power(line)
		if !ok {
			continue
		}
		var sizes []string
		last := 0
		for i, d := range p.After {
			if d.Commits == 0 || d.Commits == last {
				continue
			}
			last = d.Commits
			size := fmt.Sprintf("%g%%", 100*d.Size)
			if i+1 < len(p.After) && p.After[len(p.After)-1].Commits == d.Commits { // those between are, too
				size += " or more"
			}
			when := fmt.Sprintf(" after %d commits", d.Commits)
			if d.Commits == 1 {
				when = " at once"
			}
			sizes = append(sizes, size+when)
		}
		text := "no step of 12% or less"
		if len(sizes) > 0 {
			text = "a step of " + strings.Join(sizes, ", ")
		}
		said = append(said, fmt.Sprintf("%s: %s.", words.Noun(line.Metric), text))
	}
	if len(said) > 0 {
		lines = append(lines, "What is found, in four of five cases, by the noise of the last commits:")
		lines = append(lines, said...)
	}
	return lines
}

// HTML writes the track as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	a := r.said()
	p := html.Simple{Title: a.Head[0], About: slices.Concat(a.Head[1:], a.About), Notes: a.Notes, Foot: fmt.Sprintf("Made by dyno %s. %s", strings.TrimSpace(a.By), a.Last)}
	for _, part := range a.Parts {
		p.Tables = append(p.Tables, *part.Section)
	}
	for _, line := range r.Lines {
		if len(line.At) < 2 {
			continue
		}
		p.Pictures = append(p.Pictures, html.Picture{
			Title: words.Noun(line.Metric), SVG: r.figure(line),
			Shows: "Each point is a commit, by its change against the first anchor. From left to right are the first parents of the newest commit, in their order, the last 400 of those that were measured.",
		})
	}
	return html.WriteSimple(w, p)
}

// mostDrawn is how many commits a picture has: the last ones.
const mostDrawn = 400

// figure draws a metric over the commits.
func (r *Report) figure(line *track.Line) chart.SVG {
	l := chart.Line{Name: words.Noun(line.Metric)}
	var marks []int
	shown := slices.DeleteFunc(r.shown(), func(c track.Change) bool { return c.Metric != line.Metric })
	at := line.At[max(0, len(line.At)-mostDrawn):]
	for i, p := range at {
		before := p.Index - 1
		if i > 0 {
			before = at[i-1].Index
		}
		half := 1.96 * p.SE
		l.X, l.Y = append(l.X, float64(p.Index)), append(l.Y, math.Exp(p.Level))
		l.Titles = append(l.Titles, fmt.Sprintf("%s %s %q: %s [%s, %s]", short(p.ID), p.Date, layout.Middle(p.Title, 50),
			layout.Change(math.Exp(p.Level)), layout.Change(math.Exp(p.Level-half)), layout.Change(math.Exp(p.Level+half))))
		if slices.ContainsFunc(shown, func(c track.Change) bool { // at the first that was measured since
			return before < c.Last && c.Last <= p.Index
		}) {
			marks = append(marks, i)
		}
	}
	dates := map[float64]string{}
	for _, p := range line.At {
		dates[float64(p.Index)] = p.Date
	}
	date := func(x float64) string { return dates[x] }
	return chart.Trend(l, marks, date, layout.Change)
}
