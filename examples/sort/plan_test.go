package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
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
		e, err := plan.Parse(file, data)
		if err == nil {
			err = check.Experiment(e)
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
