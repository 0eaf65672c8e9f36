//go:build linux

package main

import (
	"encoding/json"
	"fmt"
)

type table struct {
	Blocks int
	Rows   []struct {
		Name  string
		Units []struct {
			Unit   string
			Versus []struct {
				Verdict       string
				Ratio, Lo, Hi *float64
			}
		}
	}
}

func readTable(data []byte) (*table, error) { var t table; return &t, json.Unmarshal(data, &t) }
func (t *table) changed() (names []string) {
	for _, r := range t.Rows {
		for _, u := range r.Units {
			if u.Unit == "sec/op" {
				for _, v := range u.Versus {
					if v.Verdict == "worse" || v.Verdict == "better" {
						names = append(names, r.Name+" "+v.Verdict)
					}
				}
			}
		}
	}
	return
}
func (t *table) line(name string) string { return fmt.Sprint(name) }
