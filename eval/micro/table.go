//go:build linux

package main

import (
	"encoding/json"
	"fmt"
)

// A table is what of summary.json is used.
type table struct {
	Blocks int   `json:"blocks"`
	Rows   []row `json:"benchmarks"`
}

type row struct {
	Name   string `json:"name"`
	Blocks int    `json:"blocks"`
	Units  []struct {
		Unit   string `json:"unit"`
		Versus []struct {
			Verdict string   `json:"verdict"`
			Ratio   *float64 `json:"ratio"`
			Lo      *float64 `json:"lo"`
			Hi      *float64 `json:"hi"`
		} `json:"versus"`
	} `json:"units"`
}

func readTable(data []byte) (*table, error) {
	var t table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, err
	}
	for _, r := range t.Rows {
		if len(r.Units) == 0 || r.Units[0].Unit != "sec/op" || len(r.Units[0].Versus) != 1 {
			return nil, fmt.Errorf("summary.json has no comparison of the sec/op of %s", r.Name)
		}
	}
	return &t, nil
}

// changed are the benchmarks whose sec/op dyno calls changed, and how.
func (t *table) changed() (names []string) {
	for _, r := range t.Rows {
		if v := r.Units[0].Versus[0].Verdict; v == "worse" || v == "better" {
			names = append(names, r.Name+" "+v)
		}
	}
	return names
}

// line tells of one benchmark.
func (t *table) line(name string) string {
	for _, r := range t.Rows {
		if v := r.Units[0].Versus[0]; r.Name == name && v.Ratio != nil && v.Lo != nil && v.Hi != nil {
			return fmt.Sprintf("%s %s %+.1f %% [%+.1f, %+.1f] in %d blocks", name, v.Verdict, 100*(*v.Ratio-1), 100*(*v.Lo-1), 100*(*v.Hi-1), r.Blocks)
		}
	}
	return name + ": nothing"
}
