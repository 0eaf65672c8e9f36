package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/report"
)

// A study is what an example's study.yaml says: tables as they were published.
type study struct {
	Source string       `yaml:"source"`
	Tables []studyTable `yaml:"tables"`

	Benchmarks []benchmarks `yaml:"benchmarks"` // that are run beside the plans
}

type studyTable struct {
	Title   string        `yaml:"title"`
	Plan    string        `yaml:"plan"` // of the demo whose settings these are
	Columns []studyColumn `yaml:"columns"`
	Rows    []studyRow    `yaml:"rows"`
	Note    string        `yaml:"note"`
}

type studyColumn struct {
	Setting string `yaml:"setting"` // as dyno.Setting.String; "" where there is none here
	Name    string `yaml:"name"`
}

type studyRow struct {
	Label  string   `yaml:"label"`
	Unit   string   `yaml:"unit"`
	Metric string   `yaml:"metric"` // "" where nothing here corresponds
	Scale  float64  `yaml:"scale"`  // from the metric's base unit to Unit; 0 means 1
	Study  []string `yaml:"study"`
}

// readStudy reads a study.yaml; where there is none the study has no tables.
func readStudy(file string) (*study, error) {
	s := new(study)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(s)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return s, nil
}

// beside returns the published tables of a plan with what t found.
func (s *study) beside(plan string, t *analysis.Table) []*report.Published {
	var tables []*report.Published
	for _, table := range s.Tables {
		if table.Plan != plan {
			continue
		}
		p := &report.Published{Title: table.Title, Source: s.Source, Note: table.Note, Trials: fmt.Sprintf("medians of %d trials", t.Blocks)}
		if t.Blocks == 1 {
			p.Trials = "one trial"
		}
		for _, c := range table.Columns {
			p.Columns = append(p.Columns, c.Name)
		}
		for _, r := range table.Rows {
			row := report.PublishedRow{Label: r.Label, Unit: r.Unit, Study: r.Study}
			for _, c := range table.Columns {
				if r.Metric != "" {
					row.Here = append(row.Here, found(t, c.Setting, r.Metric)*cmp.Or(r.Scale, 1))
				}
			}
			p.Rows = append(p.Rows, row)
		}
		tables = append(tables, p)
	}
	return tables
}

// found is the median of a metric in a setting, or NaN.
func found(t *analysis.Table, setting, metric string) float64 {
	i := slices.IndexFunc(t.Settings, func(s analysis.Setting) bool { return s.Setting.String() == setting })
	if i < 0 {
		return math.NaN()
	}
	v, ok := t.Settings[i].Values[metric]
	if !ok {
		return math.NaN()
	}
	return v.Center
}
