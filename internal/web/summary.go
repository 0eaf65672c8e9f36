package web

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"

	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/safe"
)

// A summary is what an entry needs of summary.json.
type summary struct {
	Planned  int
	Trials   int
	Blocks   int
	Failed   []struct{}
	Metrics  []measure
	Settings []setting
}

// A setting is one of a summary.
type setting struct {
	Setting  string
	Baseline bool
	Values   map[string]value   // of the metrics that were asked for
	Versus   map[string]verdict // of them
}

type measure struct {
	Name    string `json:"name"`
	Primary bool   `json:"primary"`
	Help    string `json:"help"`
}

type value struct {
	Center, Lo, Hi *float64 // nil where not known
	Saturated      bool     // of the generator, not of the service
}

type verdict struct {
	Ratio, Lo, Hi *float64
	Verdict       string
}

// readSummary reads the primary metrics of a summary and another one, "" for none.
func readSummary(path, metric string) (*summary, error) {
	s := new(summary)
	if err := safe.ReadJSON(filepath.Join(path, "summary.json"), s); err != nil {
		return nil, err
	}
	unwanted := map[string]bool{}
	for i, m := range s.Metrics {
		unwanted[m.Name] = !m.Primary && m.Name != metric
		s.Metrics[i].Help = short(m.Help)
	}
	for i, x := range s.Settings {
		s.Settings[i].Setting = distinct(x.Setting)
		maps.DeleteFunc(x.Values, func(name string, _ value) bool { return unwanted[name] })
		maps.DeleteFunc(x.Versus, func(name string, _ verdict) bool { return unwanted[name] })
	}
	return s, nil
}

// mostShort is how many characters of a name are shown in a list.
const mostShort = 300

// short cuts a text for a list.
func short(s string) string { return html.Tame(s, mostShort) }

// distinct is short, but of two texts the same only if these are.
func distinct(s string) string {
	cut := short(s)
	if cut == s {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return cut + " (" + hex.EncodeToString(sum[:4]) + ")"
}

// tame shortens the texts of a run for lists. Filters compare the shortened ones.
func (e *entry) tame() {
	p, h := &e.Plan.Subject, &e.Run.Host
	for _, s := range []*string{
		&e.Plan.Name, &e.Ran, &e.Question, &e.Answer, &p.Package, &p.Module, &p.Binary, &p.URL, &p.Process, &p.Rev,
		&e.Run.Dyno, &h.Name, &h.OS, &h.Arch, &h.CPU, &h.Kernel, &h.Go,
	} {
		*s = short(*s)
	}
	for i, s := range e.Run.Settings {
		e.Run.Settings[i] = distinct(s)
	}
	for what, text := range e.Conditions {
		e.Conditions[what] = distinct(text)
	}
	e.Run.Command, e.Plan.Load, e.Plan.Limits, e.Plan.Bench = nil, nil, nil, nil
	p.Args, p.Env, p.Arg, p.Build = nil, nil, nil, nil
}
