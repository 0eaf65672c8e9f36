package benchstat

import (
	"encoding/json"
	"github.com/dynolab/dyno"
)

// statSchema is the version of this form; it changes when a field changes its
// meaning or goes.
const Schema = 1

type benchstatJSON struct {
	Schema      int                  `json:"schema"`
	Filter      string               `json:"filter"`
	Table       string               `json:"table"`
	Row         string               `json:"row"`
	Col         string               `json:"col"`
	Ignore      string               `json:"ignore,omitempty"`
	Confidence  float64              `json:"confidence"`
	Alpha       float64              `json:"alpha"`
	Files       []string             `json:"files"`
	Comparisons int                  `json:"comparisons"`    // that could show a change by chance
	Changed     int                  `json:"changed"`        // of them
	ByChance    dyno.Number          `json:"false_expected"` // of them at most, if nothing changed
	Apart       []string             `json:"apart,omitempty"`
	Tables      []benchstatTableJSON `json:"tables"`
	Notes       []string             `json:"notes"`
}

type benchstatTableJSON struct {
	Config  map[string]string   `json:"config"`
	Unit    string              `json:"unit"`
	Better  string              `json:"better,omitempty"`
	Exact   bool                `json:"exact,omitempty"`
	Columns []map[string]string `json:"columns"`
	Rows    []benchstatRowJSON  `json:"rows"`
	Geomean []benchstatMeanJSON `json:"geomean"`
}

type benchstatRowJSON struct {
	Name  string               `json:"name"`
	Cells []*benchstatCellJSON `json:"cells"`
}

type benchstatCellJSON struct {
	N      int                  `json:"n"`
	Center dyno.Number          `json:"center"`
	Lo     dyno.Number          `json:"lo"`
	Hi     dyno.Number          `json:"hi"`
	Notes  []string             `json:"notes,omitempty"`
	Versus *benchstatVersusJSON `json:"versus,omitempty"`
}

type benchstatVersusJSON struct {
	Ratio   dyno.Number `json:"ratio"`
	P       dyno.Number `json:"p"`
	Changed bool        `json:"changed"`
	Notes   []string    `json:"notes,omitempty"`
}

type benchstatMeanJSON struct {
	Center dyno.Number `json:"center"`
	Ratio  dyno.Number `json:"ratio"`
	Notes  []string    `json:"notes,omitempty"`
}

// MarshalJSON implements json.Marshaler: cells in the order of the columns, null
// where there are no results; numbers are null where they are not known or
// infinite. Schema is that of summary.json.
func (t *Tables) MarshalJSON() ([]byte, error) {
	o := t.Options
	comparisons, changed := t.Count()
	_, apart := t.Apart()
	j := benchstatJSON{
		Schema: Schema, Filter: o.Filter, Table: o.Table, Row: o.Row, Col: o.Col, Ignore: o.Ignore,
		Confidence: o.Confidence, Alpha: o.Alpha, Files: append([]string{}, t.Files...),
		Comparisons: comparisons, Changed: changed, ByChance: dyno.Number(o.Alpha * float64(comparisons)), Apart: apart,
		Tables: []benchstatTableJSON{}, Notes: append([]string{}, t.Notes...),
	}
	for i := range t.Tables {
		table := &t.Tables[i]
		x := benchstatTableJSON{
			Config: map[string]string{}, Unit: table.Unit, Exact: table.Exact,
			Better: map[int]string{-1: "lower", +1: "higher"}[table.Better], Rows: []benchstatRowJSON{},
		}
		for _, k := range table.Config {
			x.Config[k.Key] = k.Value
		}
		for _, c := range table.Cols {
			keys := map[string]string{}
			for n, v := range c {
				keys[t.Columns[n]] = v
			}
			x.Columns = append(x.Columns, keys)
		}
		for _, r := range table.Rows {
			row := benchstatRowJSON{Name: r.Name}
			for _, c := range r.Cells {
				row.Cells = append(row.Cells, c.json())
			}
			x.Rows = append(x.Rows, row)
		}
		for _, m := range table.Geomean {
			x.Geomean = append(x.Geomean, benchstatMeanJSON{dyno.Number(m.Center), dyno.Number(m.Ratio), m.Notes})
		}
		j.Tables = append(j.Tables, x)
	}
	return json.Marshal(j)
}

func (c *Cell) json() *benchstatCellJSON {
	if c == nil {
		return nil
	}
	j := &benchstatCellJSON{N: len(c.Samples), Center: dyno.Number(c.Center), Lo: dyno.Number(c.Lo), Hi: dyno.Number(c.Hi), Notes: c.Notes}
	if v := c.Versus; v != nil {
		j.Versus = &benchstatVersusJSON{dyno.Number(v.Ratio), dyno.Number(v.P), v.Changed(), v.Notes}
	}
	return j
}
