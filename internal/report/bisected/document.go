package bisected

import (
	"maps"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/stats"
)

// Schema is the version of bisect.json.
const Schema = 1

// The shape of bisect.json, which doc/format.md describes.
type (
	document struct {
		answer.Envelope[answer.Setting, string]

		Name string `json:"name"`
		body
	}
	body struct {
		Answer   bisect.Kind   `json:"answer"`
		Metric   string        `json:"metric,omitempty"`
		Bench    string        `json:"benchmark,omitempty"`
		Plain    bool          `json:"plain,omitempty"`
		After    string        `json:"after,omitempty"`
		At       string        `json:"at,omitempty"`
		Ends     *difference   `json:"ends,omitempty"`
		Pair     *difference   `json:"pair,omitempty"`
		Failed   []failedPair  `json:"failed,omitempty"`
		Function *Function     `json:"function,omitempty"`
		More     []further     `json:"more,omitempty"`
		Partly   bool          `json:"partly,omitempty"`
		Versions []measuredRow `json:"versions"`
		Passed   int           `json:"passed"`
		Merges   []merge       `json:"merges,omitempty"`
	}
	merge struct {
		Merge string   `json:"merge"`
		Notes []string `json:"notes,omitempty"`
		Cut   bool     `json:"interrupted,omitempty"`
		body
	}
	difference struct {
		Ratio   dyno.Number   `json:"ratio"`
		Diff    dyno.Number   `json:"diff"`
		Lo      dyno.Number   `json:"lo"`
		Hi      dyno.Number   `json:"hi"`
		P       dyno.Number   `json:"p"`
		Verdict stats.Verdict `json:"verdict"`
		Run     string        `json:"run,omitempty"`
	}
	further struct {
		Answer bisect.Kind `json:"answer"`
		After  string      `json:"after"`
		At     string      `json:"at"`
		Plain  bool        `json:"plain,omitempty"`
		Ends   *difference `json:"ends,omitempty"`
		Pair   *difference `json:"pair,omitempty"`
	}
	failedPair struct {
		After string `json:"after"`
		At    string `json:"at"`
		*difference
	}
	measuredRow struct {
		Name    string      `json:"version"`
		Title   string      `json:"title,omitempty"`
		Ratio   dyno.Number `json:"ratio"`         // against the good end; null if it was not measured, or if there are no ratios
		Diff    dyno.Number `json:"diff,omitzero"` // against the good end, if there are no ratios
		Blocks  int         `json:"blocks"`
		Weight  float64     `json:"probability"` // of the model, that the change came with it
		Skipped string      `json:"left_out,omitempty"`
	}
)

// Document is bisect.json.
func (r *Report) Document() any {
	return document{answer.New("bisect", Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made, Interrupted: r.Interrupted}, []answer.Setting{}, r.Notes), r.Name, r.body()}
}

func (r *Report) body() body {
	d := body{Answer: r.Kind, Metric: r.Metric, Bench: r.Benchmark(), Plain: r.Plain, Function: r.Function, Partly: r.Partly, Passed: r.Passed, Versions: []measuredRow{}}
	if r.Kind != bisect.NoChange && r.Kind != bisect.OneBuild {
		d.After, d.At = r.Versions[r.Lo].Name, r.Versions[r.Hi].Name
	}
	if r.Ends.Verdict != "" {
		d.Ends = differenceOf(r.Ends, r.EndsRun)
	}
	if r.PairTable != nil {
		d.Pair = differenceOf(r.Pair, r.PairRun)
	}
	for _, p := range r.Failed {
		d.Failed = append(d.Failed, failedPair{r.Versions[p.Lo].Name, r.Versions[p.Hi].Name, differenceOf(p.Versus, p.Run)})
	}
	for _, m := range r.More {
		f := further{Answer: m.Kind, After: r.Versions[m.Lo].Name, At: r.Versions[m.Hi].Name, Plain: m.Plain}
		if m.Ends.Verdict != "" {
			f.Ends = differenceOf(m.Ends, m.EndsRun)
		}
		if m.PairRun != "" {
			f.Pair = differenceOf(m.Pair, m.PairRun)
		}
		d.More = append(d.More, f)
	}
	for v, x := range r.Versions {
		row := measuredRow{Name: x.Name, Title: x.Title, Ratio: dyno.Number(math.NaN())}
		if v < len(r.Posterior) {
			row.Weight = r.Posterior[v]
		}
		if i := slices.IndexFunc(r.Measured, func(m bisect.Measured) bool { return m.Version == v }); i >= 0 {
			row.Blocks = r.Measured[i].Blocks
			if change := dyno.Number(r.Measured[i].Change); r.Plain {
				row.Diff = change
			} else {
				row.Ratio = change
			}
		}
		if err := r.Skipped[v]; err != nil {
			row.Skipped = err.Error()
		}
		d.Versions = append(d.Versions, row)
	}
	for _, v := range slices.Sorted(maps.Keys(r.Opened)) {
		d.Merges = append(d.Merges, merge{r.Versions[v].Name, r.Opened[v].Notes, r.Opened[v].Interrupted, r.Opened[v].body()})
	}
	return d
}

func differenceOf(v compare.Versus, run string) *difference {
	return &difference{dyno.Number(v.Ratio), dyno.Number(v.Diff), dyno.Number(v.Lo), dyno.Number(v.Hi), dyno.Number(v.P), v.Verdict, run}
}
