//go:build linux

package main

import (
	"encoding/json"
	"fmt"
)

// A table is what of summary.json is used.
type table struct {
	Blocks     int `json:"blocks"`
	Benchmarks []struct {
		Package string `json:"package"`
		Name    string `json:"name"`
		Blocks  int    `json:"blocks"`
	} `json:"benchmarks"`
	Settings []struct {
		Versus map[string]versus `json:"versus"` // by package.name unit
	} `json:"settings"`

	rows []row
}

type row struct {
	Name   string
	Blocks int
	versus
}

// versus is the change of sec/op.
type versus struct {
	Verdict string   `json:"verdict"`
	Ratio   *float64 `json:"ratio"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
}

func readTable(data []byte) (*table, error) {
	var t table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, err
	}
	if len(t.Settings) != 2 {
		return nil, fmt.Errorf("summary.json has %d settings", len(t.Settings))
	}
	for _, b := range t.Benchmarks {
		v, ok := t.Settings[1].Versus[b.Package+"."+b.Name+" sec/op"]
		if !ok {
			return nil, fmt.Errorf("summary.json has no comparison of the sec/op of %s", b.Name)
		}
		t.rows = append(t.rows, row{b.Name, b.Blocks, v})
	}
	return &t, nil
}

// changed are the benchmarks whose sec/op dyno calls changed, and how.
func (t *table) changed() (names []string) {
	for _, r := range t.rows {
		if v := r.Verdict; v == "worse" || v == "better" {
			names = append(names, r.Name+" "+v)
		}
	}
	return names
}

// line tells of one benchmark.
func (t *table) line(name string) string {
	for _, r := range t.rows {
		if v := r.versus; r.Name == name && v.Ratio != nil && v.Lo != nil && v.Hi != nil {
			return fmt.Sprintf("%s %s %+.1f %% [%+.1f, %+.1f] in %d blocks", name, v.Verdict, 100*(*v.Ratio-1), 100*(*v.Lo-1), 100*(*v.Hi-1), r.Blocks)
		}
	}
	return name + ": nothing"
}
