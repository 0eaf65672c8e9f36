package web

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

func compareURL(a, b string) string { return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode() }

// A pair is one setting of two runs.
type pair struct {
	Setting string
	Found   []words.Said
	Figure  template.HTML
	Rows    []pairRow // of primary metrics
	Others  []pairRow

	Warnings []string // that not all settings have
}

// A pairRow is one metric of a pair.
type pairRow struct {
	Name, Metric, Help string
	A, B               string
	Change, Interval   string
	P                  string
	Verdict, Note      string
}

// compare shows what the second run changed. Without two runs the reader chooses them.
func (s *Site) compare(w http.ResponseWriter, r *http.Request) error {
	all, _, err := s.all()
	if err != nil {
		return err
	}
	body := struct {
		A, B     string
		Runs     []*entry
		Pairs    []pair
		Warnings []string // that all settings have
		Problem  string
	}{A: r.FormValue("a"), B: r.FormValue("b")}
	for _, e := range all {
		if e.State != broken && !e.campaign {
			body.Runs = append(body.Runs, e)
		}
	}
	status := http.StatusOK
	switch {
	case body.A == "" || body.B == "":
		body.Problem = "Choose two runs."
	case body.A == body.B:
		body.Problem = "Both are the same run: its page compares its settings."
	default:
		tables, err := s.tables(r, body.A, body.B)
		if err != nil {
			status, body.Problem = statusOf(err), err.Error()
		}
		for i, t := range tables {
			p := pairOf(t)
			if body.Pairs = append(body.Pairs, p); i == 0 {
				body.Warnings = slices.Clone(p.Warnings)
			}
			body.Warnings = slices.DeleteFunc(body.Warnings, func(w string) bool { return !slices.Contains(p.Warnings, w) })
		}
		for i := range body.Pairs {
			p := &body.Pairs[i]
			p.Warnings = slices.DeleteFunc(p.Warnings, func(w string) bool { return slices.Contains(body.Warnings, w) })
		}
	}
	s.show(w, r, status, "compare.tmpl", sheet{Title: "Two runs compared", Body: body})
	return nil
}

// tables compares two runs by their ids.
func (s *Site) tables(r *http.Request, ids ...string) ([]*compare.Table, error) {
	leave, err := s.enter(r, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	var dirs [2]*store.Dir
	for i, id := range ids {
		p, ok := s.lookup(id)
		if !ok || p.ID != id {
			return nil, refuse(http.StatusNotFound, "There is no run %s (any more).", id)
		}
		dir, err := open(p)
		if err == nil {
			err = safe.FitProfiles(p.path)
		}
		if err != nil {
			return nil, fmt.Errorf("The run %s cannot be read: %w", id, err)
		}
		dirs[i] = dir
	}
	ts, err := s.read.compare(dirs[0], dirs[1])
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "The runs cannot be compared: %v", err)
	}
	return ts, nil
}

// pairOf is a table of two columns: the first level of its settings is the run.
func pairOf(t *compare.Table) (p pair) {
	p.Warnings = words.Warnings(t)
	if len(t.Settings) < 2 {
		return p
	}
	a, b := &t.Settings[0], &t.Settings[1]
	p.Setting = dyno.Setting(b.Setting[min(1, len(b.Setting)):]).Label()
	p.Found = words.Found(t)
	var rows []chart.Interval
	for _, m := range t.Rows {
		x, hasA := a.Values[m.Name]
		y, hasB := b.Values[m.Name]
		if !hasA && !hasB {
			continue
		}
		row := pairRow{Name: words.Noun(m.Name), Metric: m.Name, Help: m.Help, A: "–", B: "–"}
		number := layout.Number(m.Name, x.Center, y.Center)
		if hasA {
			row.A = number(x.Center)
		}
		if hasB {
			row.B = number(y.Center)
		}
		v, judged := b.Versus[m.Name]
		if judged {
			row.Change, row.Interval = layout.Change(v.Ratio), layout.Interval(v.Lo, v.Hi)
			row.Verdict, row.Note = string(v.Verdict), words.NotCompared(v.Note)
		}
		if !m.Primary {
			p.Others = append(p.Others, row)
			continue
		}
		p.Rows = append(p.Rows, row)
		if judged && !math.IsNaN(v.Ratio) {
			mark := chart.Mark(v.Verdict)
			if v.Verdict == compare.Differs { // which has no better side
				mark = chart.Plain
			}
			rows = append(rows, chart.Interval{
				Label: row.Name, Ratio: v.Ratio, Lo: v.Lo, Hi: v.Hi, Mark: mark, Better: m.Better,
				Text: row.Change + " " + row.Interval + " " + row.Verdict,
			})
		}
	}
	if len(rows) > 0 {
		p.Figure = chart.Intervals([]chart.Group{{Title: p.Setting, Rows: rows}}, t.Negligible)
	}
	return p
}
