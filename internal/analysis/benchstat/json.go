package benchstat

import (
	"encoding/json"

	"github.com/dynolab/dyno"
)

// Schema is the version of this form; it changes when a field changes its meaning or goes.
const Schema = 1

type tablesJSON struct {
	Schema int `json:"schema"`
	Options
	Files       []string    `json:"files"`
	Comparisons int         `json:"comparisons"`    // that could show a change by chance
	Changed     int         `json:"changed"`        // of them
	ByChance    dyno.Number `json:"false_expected"` // of them at most, if nothing changed
	Apart       []string    `json:"apart,omitempty"`
	Tables      []tableJSON `json:"tables"`
	Notes       []string    `json:"notes"`
}

type tableJSON struct {
	Config  map[string]string   `json:"config"`
	Unit    string              `json:"unit"`
	Better  string              `json:"better,omitempty"`
	Exact   bool                `json:"exact,omitempty"`
	Columns []map[string]string `json:"columns"`
	Rows    []Row               `json:"rows"`
	Geomean []Mean              `json:"geomean"`
}

// MarshalJSON implements json.Marshaler: cells in the order of the columns, null where
// there are no results; unknown and infinite numbers are null.
func (t *Tables) MarshalJSON() ([]byte, error) {
	o := t.Options
	comparisons, changed := t.Count()
	_, apart := t.Apart()
	j := tablesJSON{
		Schema: Schema, Options: o, Files: append([]string{}, t.Files...),
		Comparisons: comparisons, Changed: changed, ByChance: dyno.Number(o.Alpha * float64(comparisons)), Apart: apart,
		Tables: []tableJSON{}, Notes: append([]string{}, t.Notes...),
	}
	for i := range t.Tables {
		table := &t.Tables[i]
		x := tableJSON{
			Config: map[string]string{}, Unit: table.Unit, Exact: table.Exact, Geomean: table.Geomean,
			Better: map[int]string{-1: "lower", +1: "higher"}[table.Better], Rows: append([]Row{}, table.Rows...),
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
		j.Tables = append(j.Tables, x)
	}
	return json.Marshal(j)
}

// MarshalJSON implements json.Marshaler.
func (c *Cell) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N      int         `json:"n"`
		Center dyno.Number `json:"center"`
		Lo     dyno.Number `json:"lo"`
		Hi     dyno.Number `json:"hi"`
		Notes  []string    `json:"notes,omitempty"`
		Versus *Versus     `json:"versus,omitempty"`
	}{len(c.Samples), dyno.Number(c.Center), dyno.Number(c.Lo), dyno.Number(c.Hi), c.Notes, c.Versus})
}

// MarshalJSON implements json.Marshaler.
func (v *Versus) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Ratio   dyno.Number `json:"ratio"`
		P       dyno.Number `json:"p"`
		Changed bool        `json:"changed"`
		Notes   []string    `json:"notes,omitempty"`
	}{dyno.Number(v.Ratio), dyno.Number(v.P), v.Changed(), v.Notes})
}
