package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/chart"
	"github.com/dynolab/dyno/stats"
)

// A point is one run of a trend.
type point struct {
	ID, URL       string
	When          time.Time
	Ran           string
	Value, Spread string   // the median of its trials, and the interval of that
	Notes         []string // what changed here
	Change        bool     // the level changed before this run
}

// A course is the runs of a trend that can be compared: of one machine, one load and
// one way to start the subject.
type course struct {
	Title  string
	Facts  []string // in what they are not as those of the first course
	Points []point  // in order of time
	Figure template.HTML
	Found  string // how many changes there are, in words
}

// trend shows a metric of one setting over the runs of one name.
func (s *Site) trend(w http.ResponseWriter, r *http.Request) {
	all, _, err := s.entries()
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	name := r.FormValue("name")
	var names []string
	var runs []*entry
	for _, e := range all {
		if e.State == broken || e.Summary == nil || len(e.Summary.Settings) == 0 {
			continue
		}
		if !slices.Contains(names, e.Plan.Name) {
			names = append(names, e.Plan.Name)
		}
		if e.Plan.Name == name {
			runs = append(runs, e)
		}
	}
	slices.Sort(names)
	if len(runs) == 0 {
		s.fail(w, r, http.StatusNotFound, fmt.Sprintf("No run that has results is named %q.", name))
		return
	}
	metric, setting := shown(runs[0])
	metric = cmp.Or(r.FormValue("metric"), metric)
	if r.Form.Has("setting") {
		setting = r.FormValue("setting")
	}
	for i, e := range runs {
		runs[i] = e.with(metric)
	}
	slices.Reverse(runs) // the oldest first
	mixed := r.FormValue("mixed") != ""
	metrics, settings := choices(runs)
	s.show(w, r, http.StatusOK, "trend.tmpl", sheet{Title: "Trend of " + report.Noun(metric) + " of " + name, Body: struct {
		Name, Metric, Setting string
		Help                  string
		Mixed                 bool
		Names, Settings       []string
		Metrics               []measure
		Courses               []course
		Alpha                 string
	}{name, metric, setting, help(metrics, metric), mixed, names, settings, metrics, courses(runs, metric, setting, mixed), fmt.Sprintf("%g %%", 100*stats.ChangeAlpha)}})
}

// with is an entry that has also a metric that is not primary, which lists do not
// read. What can no longer be read is missing.
func (e *entry) with(metric string) *entry {
	for _, m := range e.Summary.Metrics {
		if m.Name == metric && m.Primary {
			return e
		}
	}
	more := *e
	if s, err := readSummary(e.path, metric); err == nil {
		more.Summary = s
	}
	return &more
}

// choices are the metrics and settings that any of the runs has, those of the newest
// first.
func choices(runs []*entry) (metrics []measure, settings []string) {
	for _, e := range slices.Backward(runs) {
		for _, m := range e.Summary.Metrics {
			if !slices.ContainsFunc(metrics, func(x measure) bool { return x.Name == m.Name }) {
				metrics = append(metrics, m)
			}
		}
		for _, x := range e.Summary.Settings {
			if !slices.Contains(settings, x.Setting) {
				settings = append(settings, x.Setting)
			}
		}
	}
	return metrics, settings
}

func help(ms []measure, metric string) string {
	for _, m := range ms {
		if m.Name == metric {
			return m.Help
		}
	}
	return ""
}

// courses sorts runs by what makes them comparable. mixed puts all of them into one
// course, in which the differences are marked.
func courses(runs []*entry, metric, setting string, mixed bool) (cs []course) {
	var kinds []map[string]string
	var of [][]*entry
	for _, e := range runs {
		if _, ok := e.value(setting, metric); !ok {
			continue
		}
		k := e.Conditions
		i := slices.IndexFunc(kinds, func(x map[string]string) bool { return mixed || len(differing(x, k)) == 0 })
		if i < 0 {
			i = len(kinds)
			kinds, of = append(kinds, k), append(of, nil)
		}
		of[i] = append(of[i], e)
	}
	for i, es := range of {
		c := courseOf(es, metric, setting)
		c.Title = kinds[i]["machine"]
		if mixed {
			c.Title = "All runs"
		}
		for _, what := range differing(kinds[0], kinds[i]) {
			c.Facts = append(c.Facts, fmt.Sprintf("%s: %s, there %s", what, cmp.Or(kinds[i][what], "none"), cmp.Or(kinds[0][what], "none")))
		}
		cs = append(cs, c)
	}
	return cs
}

// conditions are what has to be alike for a metric of two runs to be compared:
// the machine, the load, the limits, and how the subject is started and built, but
// for its revision and Go version, which are what trends are about. Paths are not
// compared: each run of a CI has its own.
func conditions(e *entry) map[string]string {
	h, s := e.Run.Host, &e.Plan.Subject
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil || string(data) == "null" {
			return ""
		}
		return string(data)
	}
	return map[string]string{
		"machine":       fmt.Sprintf("%s: %d CPUs %s, %s/%s", h.Name, h.CPUs, h.CPU, h.OS, h.Arch),
		"load":          text(e.Plan.Load),
		"limits":        text(e.Plan.Limits),
		"slice":         e.Plan.Slice,
		"program":       cmp.Or(s.Module, s.URL, filepath.Base(cmp.Or(s.Binary, s.Package))),
		"arguments":     text(s.Args),
		"environment":   text(s.Env),
		"values of arg": text(s.Arg),
		"build flags":   text(s.Build),
	}
}

// differing are the names of conditions that are not alike, in order.
func differing(a, b map[string]string) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// courseOf draws the course of a metric and finds where it changed.
func courseOf(es []*entry, metric, setting string) course {
	line := chart.Line{Name: report.Noun(metric)}
	values := make([]value, len(es))
	for i, e := range es {
		values[i], _ = e.value(setting, metric)
		line.X = append(line.X, float64(e.Run.Started.Unix()))
		line.Y = append(line.Y, *values[i].Center)
	}
	number := report.Number(metric, line.Y...)
	var c course
	for i, e := range es {
		p := point{ID: e.ID, URL: runURL(e.ID), When: e.when(), Ran: e.what(), Value: number(line.Y[i])}
		if v := values[i]; v.Lo != nil && v.Hi != nil {
			p.Spread = number(*v.Lo) + " to " + number(*v.Hi)
		}
		if i > 0 {
			p.Notes = since(es[i-1], e)
		}
		c.Points = append(c.Points, p)
	}
	var marks []int
	for _, x := range stats.ChangePoints(line.Y) {
		p := &c.Points[x.At]
		text := fmt.Sprintf("the level changed from %s to %s", number(x.Before), number(x.After))
		if x.Before > 0 {
			text += ", " + report.Change(x.After/x.Before)
		}
		p.Change, p.Notes = true, slices.Insert(p.Notes, 0, fmt.Sprintf("%s (p %.3f)", text, x.P))
		marks = append(marks, x.At)
	}
	day := func(x float64) string { return time.Unix(int64(x), 0).Format(time.DateOnly) }
	c.Figure = chart.Trend(line, marks, day, chart.Format(number))
	switch {
	case len(marks) == 1:
		c.Found = "1 change of level was found."
	case len(marks) > 1:
		c.Found = fmt.Sprintf("%d changes of level were found.", len(marks))
	case len(es) < 10:
		c.Found = "A change of level can be found from ten runs on."
	default:
		c.Found = "No change of level was found."
	}
	return c
}

// since says what else is not as it was with the run before.
func since(before, e *entry) (notes []string) {
	note := func(what, a, b string) {
		if a != b {
			notes = append(notes, fmt.Sprintf("%s %s, before %s", what, cmp.Or(b, "unknown"), cmp.Or(a, "unknown")))
		}
	}
	if names := differing(before.Conditions, e.Conditions); len(names) > 0 {
		notes = append(notes, "not comparable with the run before: another "+strings.Join(names, ", "))
	}
	note("kernel", before.Run.Host.Kernel, e.Run.Host.Kernel)
	note("Go", before.Run.Host.Go, e.Run.Host.Go)
	note("dyno", before.Run.Dyno, e.Run.Dyno)
	return notes
}
