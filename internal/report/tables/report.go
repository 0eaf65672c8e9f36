package tables

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/advice"
	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/analysis/suite"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// A Report is what was found of a run. Each part but the table may be missing.
type Report struct {
	Table   *compare.Table
	Whys    []profiles.BenchWhy // of benchmarks that changed, in the order of Table
	Dir     string              // the run directory; "" of several
	Against *benchstat.Tables   // the only setting against a file, which was not measured beside it
	Head    answer.Head         // of summary.json; empty of what has none
	LeftOut []string            // what could not be read, and why
}

// ReportOf is the part of findings that every format shows.
func ReportOf(f *findings.Findings) *Report {
	t := f.Table
	if f.Certificate != nil {
		cited := *t
		cited.About = append(slices.Clone(t.About), words.Cited(f.Certificate, f.Expired))
		t = &cited
	}
	r := &Report{Table: t, Whys: f.Whys, Against: f.Against, Head: f.Head(), LeftOut: words.Doubts(nil, f.Notes)}
	if f.Dir != nil {
		r.Dir = f.Dir.Path
	}
	return r
}

// View makes a view of a report.
func (r *Report) View(width int) *View {
	v := NewView(r.Table, width)
	v.against = r.Against != nil
	return v
}

// Title returns what was measured, for a heading.
func (r *Report) Title() string {
	switch {
	case r.Table.Kind != compare.OfBenchmarks:
		return Heading(r.Table)
	case r.Table.Name == "":
		return "Benchmarks"
	}
	return "Benchmarks of " + r.Table.Name
}

// Heading is the line of what was measured.
func Heading(t *compare.Table) string {
	name := ""
	if t.Name != "" {
		name = t.Name + ": "
	}
	settings := ""
	switch {
	case len(t.Settings) > 1:
		settings = fmt.Sprintf(" of %d settings", len(t.Settings))
	case len(t.Settings) == 1 && len(t.Settings[0].Setting) > 0:
		settings = " of " + t.Settings[0].Setting.String()
	}
	if t.Trials == 0 {
		return fmt.Sprintf("%sno finished trial%s, so there is nothing to report", name, settings)
	}
	s := fmt.Sprintf("%s%s in %s%s", name, layout.Count(t.Trials, "trial"), layout.Count(t.Blocks, "block"), settings)
	if n := len(t.Failed); n > 0 {
		s += fmt.Sprintf("; %d more failed", n)
	}
	return s
}

// MarshalJSON implements json.Marshaler: the report as summary.json has it, the table
// and, of benchmarks, what doc/format.md calls pitfalls, why and baseline.
func (r *Report) MarshalJSON() ([]byte, error) {
	words.Spell(r.Table)
	type whyJSON struct {
		Benchmark string           `json:"benchmark"`
		Setting   string           `json:"setting"`
		Profiles  []*profiles.Diff `json:"differences"`
	}
	j := struct {
		compare.Form
		Advice   *advice.Advice    `json:"advice,omitempty"`
		Packages []suite.Form      `json:"packages,omitempty"`
		Pitfalls []pitfallNote     `json:"pitfalls,omitzero"`
		Why      []whyJSON         `json:"why,omitempty"`
		Baseline *benchstat.Tables `json:"baseline,omitempty"`
	}{Form: r.Table.Form(r.Head, r.LeftOut...), Advice: words.Advised(r.Table), Baseline: r.Against}
	if r.Table.Kind == compare.OfBenchmarks {
		j.Packages = suite.Forms(r.Table)
		j.Pitfalls = append([]pitfallNote{}, r.View(0).PitfallNotes()...)
	}
	for _, y := range r.Whys {
		x := whyJSON{Benchmark: y.Benchmark, Setting: y.Setting}
		for _, p := range y.Parts {
			x.Profiles = append(x.Profiles, p.Diff)
		}
		j.Why = append(j.Why, x)
	}
	return json.Marshal(&j)
}
