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

	"github.com/dynolab/dyno/internal/analysis/trend"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// A point is one run of a trend.
type point struct {
	ID            string
	When          time.Time
	Ran           string
	Value, Spread string   // the median of its trials, and its interval
	Notes         []string // what changed since the run before
	Change        bool     // the level changed before this run
}

// A course is a trend.Course as the page shows it.
type course struct {
	Title  string
	Facts  []string // conditions that differ from those of the first course
	Points []point
	Figure template.HTML
	Found  string // how many changes there are, in words
}

// trend shows a metric of one setting over the runs of one name.
func (s *Site) trend(w http.ResponseWriter, r *http.Request) error {
	all, _, err := s.all()
	if err != nil {
		return err
	}
	name := r.FormValue("name")
	names, byName := measured(all)
	slices.Sort(names)
	runs := byName[name]
	if len(runs) == 0 {
		return refuse(http.StatusNotFound, "No run named %q has results.", name)
	}
	metric, setting := shown(runs[len(runs)-1])
	metric = cmp.Or(r.FormValue("metric"), metric)
	if r.Form.Has("setting") {
		setting = r.FormValue("setting")
	}
	for i, e := range runs {
		runs[i] = e.with(metric)
	}
	mixed := r.FormValue("mixed") != ""
	metrics, settings := choices(runs)
	help := ""
	if i := slices.IndexFunc(metrics, func(m measure) bool { return m.Name == metric }); i >= 0 {
		help = metrics[i].Help
	}
	s.show(w, r, http.StatusOK, "trend.tmpl", sheet{Title: "Trend of " + words.Noun(metric) + " of " + name, Body: struct {
		Name, Metric, Setting string
		Help                  string
		Mixed                 bool
		Names, Settings       []string
		Metrics               []measure
		Courses               []course
		Alpha                 string
	}{name, metric, setting, help, mixed, names, settings, metrics, courses(runs, metric, setting, mixed), fmt.Sprintf("%g %%", 100*stats.ChangeAlpha)}})
	return nil
}

// with adds a metric to an entry, which has only the primary ones.
func (e *entry) with(metric string) *entry {
	if slices.ContainsFunc(e.Summary.Metrics, func(m measure) bool { return m.Name == metric && m.Primary }) {
		return e
	}
	more := *e
	if s, err := readSummary(e.path, metric); err == nil {
		more.Summary = s
	}
	return &more
}

// choices are the metrics and settings of all runs, those of the newest first.
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

// courses shows the runs that have the metric.
func courses(runs []*entry, metric, setting string, mixed bool) (cs []course) {
	var values []value
	var compared []trend.Run
	runs = slices.DeleteFunc(runs, func(e *entry) bool {
		v, ok := e.value(setting, metric)
		if ok {
			values = append(values, v)
			compared = append(compared, trend.Run{Conditions: e.Conditions, Value: *v.Center})
		}
		return !ok
	})
	found := trend.Courses(compared, mixed)
	for _, f := range found {
		c := courseOf(runs, values, f, metric)
		c.Title = f.Conditions["machine"]
		if mixed {
			c.Title = "All runs"
		}
		first := found[0].Conditions
		for _, what := range first.Differing(f.Conditions) {
			c.Facts = append(c.Facts, fmt.Sprintf("%s: %s instead of %s", what, cmp.Or(f.Conditions[what], "none"), cmp.Or(first[what], "none")))
		}
		cs = append(cs, c)
	}
	return cs
}

// conditions lack the revision and the Go version, which trends are about, and paths,
// which differ from run to run in CI.
func conditions(e *entry) trend.Conditions {
	h, s := e.Run.Host, &e.Plan.Subject
	text := func(v any) string {
		data, _ := json.Marshal(v) // what was JSON can be written
		return strings.TrimPrefix(string(data), "null")
	}
	return trend.Conditions{
		"machine":       fmt.Sprintf("%s: %d CPUs %s, %s/%s", h.Name, h.CPUs, h.CPU, h.OS, h.Arch),
		"load":          text(e.Plan.Load),
		"limits":        text(e.Plan.Limits),
		"slice":         e.Plan.Slice,
		"program":       cmp.Or(s.Module, s.URL, filepath.Base(cmp.Or(s.Binary, s.Package))),
		"arguments":     text(s.Args),
		"environment":   text(s.Env),
		"files":         text(s.Files),
		"address":       s.Addr,
		"values of arg": text(s.Arg),
		"build flags":   text(s.Build),
	}
}

// courseOf shows the runs of a course.
func courseOf(runs []*entry, values []value, found trend.Course, metric string) (c course) {
	line := chart.Line{Name: words.Noun(metric)}
	for _, n := range found.Runs {
		line.X = append(line.X, float64(runs[n].Run.Started.Unix()))
		line.Y = append(line.Y, *values[n].Center)
	}
	number := layout.Number(metric, line.Y...)
	for i, n := range found.Runs {
		e := runs[n]
		p := point{ID: e.ID, When: e.When(), Ran: e.What(), Value: number(line.Y[i])}
		if v := values[n]; v.Lo != nil && v.Hi != nil {
			p.Spread = number(*v.Lo) + " to " + number(*v.Hi)
		}
		if i > 0 {
			p.Notes = since(runs[found.Runs[i-1]], e)
		}
		c.Points = append(c.Points, p)
	}
	var marks []int
	for _, x := range found.Changes {
		p := &c.Points[x.At]
		text := fmt.Sprintf("the level changed from %s to %s", number(x.Before), number(x.After))
		if x.Before > 0 {
			text += ", " + layout.Change(x.After/x.Before)
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
	case len(found.Runs) < trend.EnoughRuns:
		c.Found = "It takes at least ten runs to find a change of level."
	default:
		c.Found = "No change of level was found."
	}
	return c
}

// since says what else changed since the run before.
func since(before, e *entry) (notes []string) {
	note := func(what, a, b string) {
		if a != b {
			notes = append(notes, fmt.Sprintf("%s %s, previously %s", what, cmp.Or(b, "unknown"), cmp.Or(a, "unknown")))
		}
	}
	if names := before.Conditions.Differing(e.Conditions); len(names) > 0 {
		notes = append(notes, "not comparable with the run before: different "+strings.Join(names, ", "))
	}
	note("kernel", before.Run.Host.Kernel, e.Run.Host.Kernel)
	note("Go", before.Run.Host.Go, e.Run.Host.Go)
	note("dyno", before.Run.Dyno, e.Run.Dyno)
	return notes
}
