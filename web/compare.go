package web

import (
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/report/doubts"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/stats"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/web/safe"
)

func compareURL(a, b string) string { return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode() }

// A pair is one setting of two runs.
type pair struct {
	Setting string
	Found   []string // in words
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
func (s *Site) compare(w http.ResponseWriter, r *http.Request) {
	all, _, err := s.all()
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	body := struct {
		A, B     string
		Runs     []*entry
		Pairs    []pair
		Warnings []string
		Problem  string
	}{A: r.FormValue("a"), B: r.FormValue("b")}
	for _, e := range all {
		if e.State != broken {
			body.Runs = append(body.Runs, e)
		}
	}
	status := http.StatusOK
	switch {
	case body.A == "" || body.B == "":
		body.Problem = "Choose two runs."
	case body.A == body.B:
		body.Problem = "These are one run: its page compares its settings."
	default:
		tables, problem, code := s.tables(w, r, body.A, body.B)
		status, body.Problem = code, problem
		for i, t := range tables {
			warnings := doubts.Words(t, t.Doubts)
			if i == 0 {
				body.Warnings = slices.Clone(warnings)
			}
			body.Warnings = slices.DeleteFunc(body.Warnings, func(w string) bool { return !slices.Contains(warnings, w) })
		}
		for _, t := range tables {
			p := pairOf(t)
			p.Warnings = slices.DeleteFunc(doubts.Words(t, t.Doubts), func(w string) bool { return slices.Contains(body.Warnings, w) })
			body.Pairs = append(body.Pairs, p)
		}
	}
	if status != 0 {
		s.show(w, r, status, "compare.tmpl", sheet{Title: "Two runs compared", Body: body})
	}
}

// tables compares two runs by their ids. The status is 0 if the request was answered.
func (s *Site) tables(w http.ResponseWriter, r *http.Request, ids ...string) (ts []*compare.Table, problem string, status int) {
	var places [2]place
	for i, id := range ids {
		p, rest, ok := s.lookup(id)
		if !ok || rest != "" {
			return nil, "There is no run " + id + " (any more).", http.StatusNotFound
		}
		places[i] = p
	}
	leave, ok := s.enter(w, r, "")
	if !ok {
		return nil, "", 0
	}
	defer leave()
	var dirs [2]*store.Dir
	for i, p := range places {
		dir, err := open(p)
		if err == nil {
			err = safe.FitProfiles(p.path)
		}
		if err != nil {
			return nil, "The run " + p.ID + " cannot be read: " + err.Error(), http.StatusInternalServerError
		}
		dirs[i] = dir
	}
	ts, err := s.read.compare(dirs[0], dirs[1])
	if err != nil {
		return nil, "The runs cannot be compared: " + err.Error(), http.StatusUnprocessableEntity
	}
	return ts, "", http.StatusOK
}

// pairOf is a table of two columns: the first level of its settings is the run.
func pairOf(t *compare.Table) (p pair) {
	if len(t.Settings) < 2 {
		return p
	}
	a, b := &t.Settings[0], &t.Settings[1]
	p.Setting = dyno.Setting(b.Setting[min(1, len(b.Setting)):]).Label()
	p.Found = report.Sentences(t)
	var rows []chart.Interval
	for _, m := range t.Rows {
		x, hasA := a.Values[m.Name]
		y, hasB := b.Values[m.Name]
		if !hasA && !hasB {
			continue
		}
		row := pairRow{Name: report.Noun(m.Name), Metric: m.Name, Help: m.Help, A: "–", B: "–"}
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
			row.Verdict, row.Note = string(v.Verdict), doubts.NotCompared(v.Note)
		}
		if !m.Primary {
			p.Others = append(p.Others, row)
			continue
		}
		p.Rows = append(p.Rows, row)
		if judged && !math.IsNaN(v.Ratio) {
			rows = append(rows, chart.Interval{
				Label: row.Name, Ratio: v.Ratio, Lo: v.Lo, Hi: v.Hi, Mark: marks[v.Verdict], Better: m.Better,
				Text: row.Change + " " + row.Interval + " " + row.Verdict,
			})
		}
	}
	if len(rows) > 0 {
		p.Figure = chart.Intervals([]chart.Group{{Title: p.Setting, Rows: rows}}, t.Negligible)
	}
	return p
}

// marks are the verdicts as figures mark them.
var marks = map[stats.Verdict]chart.Mark{
	stats.Better: chart.Better, stats.Worse: chart.Worse, stats.Same: chart.Same, stats.Unclear: chart.Unclear,
}
