package examples

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
)

// A Study is what an example's study.yaml says: tables as they were published,
// to be shown beside what was found here.
type Study struct {
	Source     string            `yaml:"source"` // author, title, place
	Tables     []StudyTable      `yaml:"tables"`
	Benchmarks []Benchmark       `yaml:"benchmarks"` // of bench_test.go, that are run beside the plans
	Listings   []Listing         `yaml:"listings"`   // of profiles that the plans take
	Needs      map[string]string `yaml:"needs"`      // by plan: a program without which it cannot run
}

// A StudyTable is one table of a study.
type StudyTable struct {
	Title   string        `yaml:"title"`
	Plan    string        `yaml:"plan"` // of the demo, without .yaml, or benchmark as PLAN/NAME
	Columns []StudyColumn `yaml:"columns"`
	Rows    []StudyRow    `yaml:"rows"`
	Note    string        `yaml:"note"` // what differs here, and why
}

// A StudyColumn is a setting of the plan, and the study's name of it.
type StudyColumn struct {
	Setting string `yaml:"setting"` // as dyno.Setting.String gives it
	Name    string `yaml:"name"`
}

// A StudyRow is one quantity, with a figure of the study for each column.
type StudyRow struct {
	Label  string     `yaml:"label"`
	Unit   string     `yaml:"unit"`
	Metric string     `yaml:"metric"` // "" where nothing here corresponds
	Scale  float64    `yaml:"scale"`  // from the metric's base unit to Unit; 0 means 1
	Study  []*float64 `yaml:"study"`  // nil where the study has none
}

// A Benchmark is a run of an example's benchmarks.
type Benchmark struct {
	Plan  string `yaml:"plan"`  // what the tables of the study call it
	Bench string `yaml:"bench"` // as go test -bench takes it
	Time  string `yaml:"time"`  // as -benchtime; "" means 100ms
	Count int    `yaml:"count"` // rounds; 0 means 6
}

// A Listing is the source of a function with what a profile says of its lines,
// which the study shows too.
type Listing struct {
	Plan    string `yaml:"plan"`
	Setting string `yaml:"setting"`
	Type    string `yaml:"type"` // of dyno.ProfileNames
	Func    string `yaml:"func"` // a regular expression
}

// ParseStudy reads a study.yaml.
func ParseStudy(data []byte) (*Study, error) {
	s := new(Study)
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(s); err != nil {
		return nil, fmt.Errorf("parse study.yaml: %w", err)
	}
	return s, nil
}
