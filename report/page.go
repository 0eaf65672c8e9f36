package report

import (
	"encoding/json"
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/benchstat"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/report/profile"
)

// A Report is what was found of a run. Each part but the table may be missing.
type Report struct {
	Table   *compare.Table
	Whys    []profiles.BenchWhy // of benchmarks that changed, in the order of Table
	Against *benchstat.Tables   // the only setting against a file, which was not measured beside it
}

// view makes a view of a report.
func (r *Report) view(width int) *view {
	v := newView(r.Table, width)
	v.against = r.Against != nil
	return v
}

// title is what was measured, for a heading.
func (r *Report) title() string {
	switch {
	case r.Table.Kind != compare.OfBenchmarks:
		return heading(r.Table)
	case r.Table.Name == "":
		return "Benchmarks"
	}
	return "Benchmarks of " + r.Table.Name
}

// JSON writes a report, a log or a profile as JSON, indented. The error is w's.
func JSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// MarshalJSON implements json.Marshaler: the report as summary.json has it, the table
// and, of benchmarks, what doc/format.md calls pitfalls, why and baseline.
func (r *Report) MarshalJSON() ([]byte, error) {
	spell(r.Table)
	type whyJSON struct {
		Benchmark string           `json:"benchmark"`
		Setting   string           `json:"setting"`
		Profiles  []*profiles.Diff `json:"differences"`
	}
	j := struct {
		compare.Form
		Pitfalls []pitfallNote     `json:"pitfalls,omitzero"`
		Why      []whyJSON         `json:"why,omitempty"`
		Baseline *benchstat.Tables `json:"baseline,omitempty"`
	}{Form: r.Table.Form(), Baseline: r.Against}
	if r.Table.Kind == compare.OfBenchmarks {
		j.Pitfalls = append([]pitfallNote{}, r.view(0).pitfalls()...)
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

// A Page is one run as the HTML report shows it. Each part but the table may be
// missing.
type Page struct {
	Report
	Origin  findings.Origin
	Picture *timeline.Picture
	Trials  []*dyno.Result   // all that have a result, failed ones and those for looks included
	Profile *profile.Profile // tables of what profiles tell; nil if none was taken
	Flames  []Flame          // the most telling first
	Notes   []string         // what could not be shown, and why
	Site    *Site            // nil in a file
}

// A Flame is a page of pprof's own: the flame graph of one setting's profiles,
// or of their difference to the baseline's.
type Flame struct {
	Kind    string // of dyno.ProfileNames
	Setting string
	Base    string // "" for the setting alone
	HTML    []byte // of the file, which needs no server; nil in a served page, which has URL
	URL     string
}

// A Site is what a served page has beyond a file: links, and where scripts ask
// for more.
type Site struct {
	Home   string // URL of the list of runs
	Assets string // URL of the folder of Assets, with a final slash
	Detail string // URL that answers with a picture of a part: ?from=&to= in seconds of the axis, &columns=
	Live   string // URL of server-sent events; "" once the run is over
	Token  string // of forms that change something
	Files  []File // of the run directory, to look at or to save
	Others []File // other settings as a baseline, other runs to compare with
}

// A File is a link.
type File struct{ Name, URL string }
