package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/goccy/go-yaml"
)

// plans parses and checks all plans of this directory and returns them by file.
func plans(t *testing.T) map[string]*dyno.Experiment {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	short, err := filepath.Glob("demo/*.yaml")
	if err != nil || len(short) == 0 {
		t.Fatalf("no plans of the demo (%v)", err)
	}
	all := make(map[string]*dyno.Experiment)
	for _, file := range append(files, short...) {
		if file == "study.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := dyno.ParsePlan(file, data)
		if err == nil {
			err = e.Check()
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.ToSlash(file)] = e
	}
	return all
}

// TestPlans sends what the plans send.
func TestPlans(t *testing.T) {
	srv := httptest.NewServer(routes(1, sortedNumbers, func() {}))
	defer srv.Close()
	for file, e := range plans(t) {
		for _, step := range e.Load.Client.Loop {
			get(t, srv, 200, step.Path)
		}
		for _, s := range e.Levels() {
			for _, l := range s {
				if _, known := calls[l.Value]; l.Factor == "arg.call" && !known {
					t.Errorf("%s: no call %q", file, l.Value)
				}
			}
		}
	}
}

// TestStudy holds study.yaml against the plans and metrics that it names.
func TestStudy(t *testing.T) {
	data, err := os.ReadFile("study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var study struct {
		Source string
		Needs  map[string]string // plan of the demo → command without which it cannot run
		Tables []struct {
			Title, Plan, Note string
			Columns           []struct{ Setting, Name string }
			Rows              []struct {
				Label, Unit, Metric string
				Scale               float64
				Study               []*float64
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(data, &study, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	all := plans(t)
	for plan := range study.Needs {
		if all["demo/"+plan+".yaml"] == nil {
			t.Errorf("needs: no plan %q", plan)
		}
	}
	for _, table := range study.Tables {
		if table.Plan == "" {
			continue // the study's alone, such as benchmarks
		}
		e := all["demo/"+table.Plan+".yaml"]
		if e == nil {
			t.Errorf("%s: no plan %q", table.Title, table.Plan)
			continue
		}
		for _, c := range table.Columns {
			if !slices.ContainsFunc(e.Levels(), func(s dyno.Setting) bool { return s.String() == c.Setting }) {
				t.Errorf("%s: plan %s has no setting %q", table.Title, table.Plan, c.Setting)
			}
		}
		for _, r := range table.Rows {
			if _, ok := dyno.MetricByName(r.Metric); r.Metric != "" && (!ok || r.Scale == 0) {
				t.Errorf("%s: row %s: metric %q, scale %v", table.Title, r.Label, r.Metric, r.Scale)
			}
			if len(r.Study) != len(table.Columns) {
				t.Errorf("%s: row %s has %d figures for %d columns", table.Title, r.Label, len(r.Study), len(table.Columns))
			}
		}
	}
}
