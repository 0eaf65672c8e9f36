package analysis

import (
	"encoding/json"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/stats"
)

type benchTableJSON struct {
	Schema      int                  `json:"schema"`
	Name        string               `json:"name"`
	Settings    []benchSettingJSON   `json:"settings"`
	Blocks      int                  `json:"blocks"`
	Seconds     number               `json:"elapsed-sec"`
	Error       number               `json:"error"`
	Negligible  number               `json:"negligible"`
	Precision   number               `json:"precision"`
	Looks       []int                `json:"looks,omitempty"`
	Comparisons int                  `json:"comparisons"`
	FalseChance number               `json:"false-change-frac"`
	Benchmarks  []benchRowJSON       `json:"benchmarks"`
	Warnings    []string             `json:"warnings"`
	Thresholds  []benchJudgementJSON `json:"thresholds,omitempty"`
}

type benchSettingJSON struct {
	Setting  string       `json:"setting"`
	Levels   dyno.Setting `json:"levels"`
	Baseline bool         `json:"baseline,omitempty"`
}

type benchRowJSON struct {
	Package string          `json:"package"`
	Name    string          `json:"name"`
	Blocks  int             `json:"blocks"`
	N       int64           `json:"n"`
	Pairs   int             `json:"pairs"`
	Settled bool            `json:"settled"`
	File    string          `json:"file,omitempty"`
	Line    int             `json:"line,omitempty"`
	Units   []benchUnitJSON `json:"units"`
	Err     string          `json:"error,omitempty"`
}

type benchUnitJSON struct {
	Unit   string            `json:"unit"`
	Better string            `json:"better,omitempty"`
	Values []benchCenterJSON `json:"values"` // of each setting
	Versus []benchVersusJSON `json:"versus"` // of each setting but the first
}

type benchCenterJSON struct {
	Blocks int    `json:"blocks"`
	Center number `json:"center"`
	Lo     number `json:"lo"`
	Hi     number `json:"hi"`
}

type benchVersusJSON struct {
	Blocks   int           `json:"blocks"`
	Ratio    number        `json:"ratio"`
	Lo       number        `json:"lo"`
	Hi       number        `json:"hi"`
	Diff     number        `json:"diff"`
	P        number        `json:"p"`
	Adjusted number        `json:"adjusted-p"`
	SD       number        `json:"sd"`
	Verdict  stats.Verdict `json:"verdict"`
}

type benchJudgementJSON struct {
	Package string `json:"package,omitempty"`
	Name    string `json:"name,omitempty"`
	thresholdJSON
}

// MarshalJSON implements json.Marshaler: the shape of summary.json of benchmarks.
// What is not known is null.
func (t *BenchTable) MarshalJSON() ([]byte, error) {
	j := benchTableJSON{
		Schema: Schema, Name: t.Name, Settings: []benchSettingJSON{}, Blocks: t.Blocks, Seconds: number(t.Seconds),
		Error: number(t.Error), Negligible: number(t.Negligible), Precision: number(t.Precision), Looks: t.Looks,
		Comparisons: t.Comparisons, FalseChance: number(t.FalseChance),
		Benchmarks: []benchRowJSON{}, Warnings: append([]string{}, t.Notes...),
	}
	for i, s := range t.Settings {
		j.Settings = append(j.Settings, benchSettingJSON{s.String(), s, i == 0})
	}
	for i := range t.Rows {
		j.Benchmarks = append(j.Benchmarks, t.Rows[i].json())
	}
	for _, x := range t.Thresholds {
		j.Thresholds = append(j.Thresholds, benchJudgementJSON{x.Package, x.Name, x.Judgement.json(func(i int) dyno.Setting { return t.Settings[i] })})
	}
	return json.Marshal(j)
}

func (r *BenchRow) json() benchRowJSON {
	j := benchRowJSON{
		Package: r.Package, Name: r.Name, Blocks: r.Blocks, N: r.N, Pairs: r.Pairs, Settled: r.Settled,
		File: r.Source.File, Line: r.Source.Line, Units: []benchUnitJSON{}, Err: r.Err,
	}
	for _, u := range r.Units {
		x := benchUnitJSON{Unit: u.Unit, Better: map[int]string{-1: "lower", +1: "higher"}[u.Better], Values: []benchCenterJSON{}, Versus: []benchVersusJSON{}}
		for _, c := range u.Centers {
			x.Values = append(x.Values, benchCenterJSON{c.N, number(c.Center), number(c.Lo), number(c.Hi)})
		}
		for _, v := range u.Versus {
			x.Versus = append(x.Versus, benchVersusJSON{
				v.N, number(v.Ratio), number(v.Lo), number(v.Hi), number(v.Diff), number(v.P), number(v.Adjusted), number(v.SD), v.Verdict,
			})
		}
		j.Units = append(j.Units, x)
	}
	return j
}
