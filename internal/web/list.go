package web

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// A filter is what a list is narrowed to.
type filter struct {
	Name, Subject, Rev, Since, Until, Query string
}

// fits reports whether a run is to be listed. Days are local, and compare as text.
func (f filter) fits(e *entry) bool {
	has := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	day := e.When().Format(time.DateOnly)
	if f.Since != "" && day < f.Since || f.Until != "" && day > f.Until {
		return false
	}
	if f.Name != "" && e.Plan.Name != f.Name || !has(e.Plan.Subject.String(), f.Subject) || !has(e.rev()+" "+e.Ran, f.Rev) {
		return false
	}
	all := strings.Join([]string{e.ID, e.Plan.Name, e.Plan.Subject.String(), e.rev(), e.Ran, strings.Join(e.Run.Settings, " "), e.State, e.Err, e.Question, e.Answer}, " ")
	for word := range strings.FieldsSeq(f.Query) {
		if !has(all, word) {
			return false
		}
	}
	return true
}

// A change is what a run says of a metric, in a word.
type change struct {
	Metric, Text, Verdict string
}

const mostNames = 4 // settings in a row

// Names are the first settings.
func (e *entry) Names() []string { return e.Run.Settings[:min(len(e.Run.Settings), mostNames)] }

// More is how many settings Names leaves out.
func (e *entry) More() int { return len(e.Run.Settings) - len(e.Names()) }

// Progress is how many blocks there are, and of how many unless the run decides that itself:
// "3/6", or "3".
func (e *entry) Progress() string {
	if e.campaign {
		return layout.Count(e.Blocks, "step")
	}
	if e.Open || e.Why() != "" {
		return fmt.Sprint(e.Blocks)
	}
	return fmt.Sprintf("%d/%d", e.Blocks, max(e.Plan.Repeats, e.Blocks))
}

// Why says why a run ended before the last block of its plan.
func (e *entry) Why() string {
	return map[dyno.Ended]string{dyno.EndedDecided: "decided", dyno.EndedTime: "out of time"}[e.Run.Ended]
}

// Changes says of each primary metric what the setting did that changed it most, and
// how many metrics did not change or are unclear; of a run of one setting, what was
// measured.
func (e *entry) Changes() (cs []change) {
	if e.Answer != "" {
		return []change{{"", e.Answer, ""}}
	}
	s := e.Summary
	if s == nil || len(s.Settings) == 0 {
		return nil
	}
	quiet := map[string]int{}
	for _, m := range s.Metrics {
		if !m.Primary {
			continue
		}
		if len(s.Settings) == 1 {
			if v := s.Settings[0].Values[m.Name]; v.Center != nil && !v.Saturated {
				cs = append(cs, change{words.Noun(m.Name), layout.Number(m.Name, *v.Center)(*v.Center), ""})
			}
			continue
		}
		c, ok := loudest(s, m.Name)
		switch {
		case !ok:
		case c.Verdict == "better" || c.Verdict == "worse":
			cs = append(cs, c)
		default:
			quiet[c.Verdict]++
		}
	}
	for _, word := range []string{"same", "unclear"} {
		if n := quiet[word]; n > 0 {
			cs = append(cs, change{"", fmt.Sprintf("%d %s", n, word), word})
		}
	}
	return cs
}

// loudest is the change of a metric that is surest and greatest.
func loudest(s *summary, metric string) (c change, ok bool) {
	var best verdict
	size, name := -1.0, ""
	for _, x := range s.Settings {
		v, ok := x.Versus[metric]
		if !ok || x.Baseline {
			continue
		}
		far := map[string]float64{"better": 1e6, "worse": 1e6, "unclear": 1e3}[v.Verdict] // what is known goes first
		if v.Ratio != nil && *v.Ratio > 0 {
			far += math.Abs(math.Log(*v.Ratio))
		}
		if far > size {
			best, size, name = v, far, x.Setting
		}
	}
	text := best.Verdict
	if best.Ratio != nil && size >= 1e6 {
		text = layout.Change(*best.Ratio) + " " + text
		if len(s.Settings) > 2 {
			text += " (" + name + ")"
		}
	}
	return change{words.Noun(metric), text, best.Verdict}, size >= 0
}

// measured are the runs that have results, by name, the oldest first, and the names, that
// of the newest run first.
func measured(all []*entry) (names []string, runs map[string][]*entry) {
	runs = map[string][]*entry{}
	for _, e := range all {
		if e.State == broken || e.Summary == nil || len(e.Summary.Settings) == 0 {
			continue
		}
		if runs[e.Plan.Name] == nil {
			names = append(names, e.Plan.Name)
		}
		runs[e.Plan.Name] = append(runs[e.Plan.Name], e)
	}
	for _, es := range runs {
		slices.Reverse(es)
	}
	return names, runs
}

// A group is the runs of one name.
type group struct {
	Name   string
	Runs   int
	Last   time.Time
	Metric string
	Text   string // the metric of the newest run
	Trend  string // URL
	Spark  template.HTML
}

// groups are the names of several runs, with the course of the first primary metric at
// the baseline, over the runs that can be compared with the newest.
func groups(all []*entry) (gs []group) {
	names, runs := measured(all)
	for _, name := range names {
		es := runs[name]
		if len(es) < 2 {
			continue
		}
		newest := es[len(es)-1]
		metric, setting := shown(newest)
		g := group{Name: name, Runs: len(es), Last: newest.When(), Metric: metric, Trend: trendURL(name, metric, setting)}
		var xs []float64
		for _, e := range es {
			if v, ok := e.value(setting, metric); ok && len(newest.Conditions.Differing(e.Conditions)) == 0 {
				xs = append(xs, *v.Center)
			}
		}
		if len(xs) > 0 {
			g.Spark, g.Text = chart.Spark(xs), layout.Number(metric, xs[len(xs)-1])(xs[len(xs)-1])
		}
		gs = append(gs, g)
	}
	return gs
}

// shown returns the metric and setting to show by default: p99 latency, if there is
// one, of the baseline.
func shown(e *entry) (metric, setting string) {
	for _, m := range e.Summary.Metrics {
		if m.Name == "p99-sec" || metric == "" && m.Primary {
			metric = m.Name
		}
	}
	if metric == "" && len(e.Summary.Metrics) > 0 {
		metric = e.Summary.Metrics[0].Name
	}
	return metric, e.Summary.Settings[0].Setting
}

// value is what a run has of a metric of a setting.
func (e *entry) value(setting, metric string) (value, bool) {
	if e.Summary == nil {
		return value{}, false
	}
	for _, s := range e.Summary.Settings {
		if s.Setting == setting {
			v := s.Values[metric]
			return v, v.Center != nil && !v.Saturated
		}
	}
	return value{}, false
}

// list shows the runs, the newest first.
func (s *Site) list(w http.ResponseWriter, r *http.Request) error {
	all, note, err := s.all()
	if err != nil {
		return err
	}
	f := filter{r.FormValue("name"), r.FormValue("subject"), r.FormValue("rev"), r.FormValue("since"), r.FormValue("until"), r.FormValue("q")}
	var names []string
	var fit []*entry
	for _, e := range all {
		if e.Plan.Name != "" && !slices.Contains(names, e.Plan.Name) {
			names = append(names, e.Plan.Name)
		}
		if f.fits(e) {
			fit = append(fit, e)
		}
	}
	slices.Sort(names)
	s.show(w, r, http.StatusOK, "list.tmpl", sheet{Title: "Runs", Script: "list.js", Body: struct {
		Root   string
		All    int
		Filter filter
		Names  []string
		Groups []group
		Tracks []tracked
		Rows   []*entry
		Note   string
	}{s.Root, len(all), f, names, groups(fit), s.tracks(r), fit, note}})
	return nil
}
