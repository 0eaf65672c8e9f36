package tracked

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/track"
)

// Schema is the version of the JSON document.
const Schema = 1

type (
	document struct {
		answer.Envelope[answer.Setting, string]
		Name    string      `json:"name"`
		Anchor  string      `json:"anchor"` // that commits are measured against now
		Base    string      `json:"base"`   // that ratios are to
		Place   string      `json:"place"`
		Metrics []metricRow `json:"metrics"`
		Changes []changeRow `json:"changes"` // that were shown
		Waiting int         `json:"waiting"` // possible changes that were not looked at
		Looks   int         `json:"looks"`   // at possible changes, so far
		Lost    int         `json:"lost"`    // measured commits without a place in the history
		Apart   int         `json:"apart"`   // measured against an anchor whose level is not known
	}
	metricRow struct {
		Metric  string      `json:"metric"`
		Noise   dyno.Number `json:"noise"`       // standard deviation from one commit to the next, as a share; null if it is not known
		Shown   dyno.Number `json:"least_shown"` // change that fresh blocks show in four of five cases, as a share
		After   []delayRow  `json:"found_after"`
		Commits []commitRow `json:"commits"`
	}
	delayRow struct {
		Size    float64 `json:"size"`
		Commits int     `json:"commits"` // 0 is never
	}
	commitRow struct {
		Commit string  `json:"commit"`
		Date   string  `json:"date"`
		Title  string  `json:"title"`
		Ratio  float64 `json:"ratio"` // to the first anchor
		Lo     float64 `json:"lo"`
		Hi     float64 `json:"hi"`
	}
	changeRow struct {
		track.Alarm      // with the hashes of this history
		New         bool `json:"new"`                 // it was shown by this command
		Rewritten   bool `json:"rewritten,omitempty"` // commit is not in this history
	}
)

// Document is the track as JSON.
func (r *Report) Document() any {
	nan := dyno.Number(math.NaN())
	d := document{
		Name: r.Log.Start.Name, Anchor: r.Log.Start.Anchor, Place: r.Place, Waiting: r.Waiting, Looks: len(r.Log.Alarms), Lost: r.Lost, Apart: len(r.Apart),
		Metrics: []metricRow{}, Changes: []changeRow{},
	}
	var settings []answer.Setting
	d.Envelope = answer.New("track", Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made}, settings, r.Notes)
	for _, line := range r.Lines {
		d.Base = line.Base()
		row := metricRow{Metric: line.Metric, Noise: nan, Shown: nan, After: []delayRow{}, Commits: []commitRow{}}
		if p, ok := r.Log.Power(line); ok {
			row.Noise, row.Shown = dyno.Number(p.Noise), dyno.Number(p.Shown)
			for _, x := range p.After {
				row.After = append(row.After, delayRow(x))
			}
		}
		for _, p := range line.At {
			half := 1.96 * p.SE
			row.Commits = append(row.Commits, commitRow{p.ID, p.Date, p.Title, math.Exp(p.Level), math.Exp(p.Level - half), math.Exp(p.Level + half)})
		}
		d.Metrics = append(d.Metrics, row)
	}
	for _, c := range r.shown() {
		d.Changes = append(d.Changes, changeRow{c.Alarm, r.isNew(c.Alarm), c.Commit != "" && !c.Named})
	}
	return d
}

func (r *Report) isNew(a track.Alarm) bool {
	return slices.ContainsFunc(r.New, func(n track.Alarm) bool { return n.At.Equal(a.At) && n.Metric == a.Metric })
}

// Markdown is a comment about the changes that were shown by this command; "" if there is none.
func (r *Report) Markdown() string {
	if len(r.New) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s shown\n\n", layout.EscapeMarkdown(r.Log.Start.Name), layout.CountIs(len(r.New), "change"))
	for i := range r.New {
		a := &r.New[i]
		word := "better"
		if a.Worse {
			word = "worse"
		}
		fmt.Fprintf(&b, "- **%s**: %s (%s of fresh blocks, p %s)\n", word, layout.EscapeMarkdown(r.say(r.here(a))), layout.Count(a.Blocks, "pair"), layout.Pvalue(a.P, 4))
	}
	fmt.Fprintf(&b, "\nEach was measured again, side by side; of %d commits at most one has a false alarm, on average. The search for a commit errs in at most 5%%.\n", int(1/track.PerCommit))
	return b.String()
}

// Badge writes a small picture with the state of the track. The error is w's.
func (r *Report) Badge(w io.Writer) error {
	text, color := "no change", "#2e7d32"
	all := r.shown()
	switch {
	case r.measured() == 0:
		text, color = "not measured", "#757575"
	case len(r.Apart) > 0:
		text, color = "not compared", "#757575"
	case len(all) > 0:
		a := all[len(all)-1]
		if text = layout.Change(a.Ratio); a.Worse {
			color = "#c62828"
		}
	}
	const label, char, pad = "dyno", 7, 6
	left, right := len(label)*char+2*pad, len([]rune(text))*char+2*pad
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s"><rect width="%d" height="20" fill="#555"/><rect x="%d" width="%d" height="20" fill="%s"/><g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11"><text x="%d" y="14">%s</text><text x="%d" y="14">%s</text></g></svg>
`, left+right, label, text, left, left, right, color, left/2, label, left+right/2, text)
	return err
}

// A Point is what one run of dyno track found, for its directory.
type Point struct {
	Sentence string
	Dyno     string // version
}

// First is the answer in a sentence.
func (p *Point) First() string { return p.Sentence }

// Text is the answer as text.
func (p *Point) Text(layout.Options) string { return p.Sentence + "\n" }

// HTML writes a page.
func (p *Point) HTML(w io.Writer) error {
	_, err := fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><title>dyno track</title><p>%s</p>\n", strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(p.Sentence))
	return err
}

// Document is track.json.
func (p *Point) Document() any {
	return map[string]any{"kind": "track-run", "schema": Schema, "dyno": p.Dyno, "answer": p.Sentence}
}
