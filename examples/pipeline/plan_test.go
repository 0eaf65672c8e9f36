package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
	for file, e := range plans(t) {
		o := options{variant: "fast", workers: 1, kind: "goroutines", n: 1, pool: 1}
		for i, arg := range e.Subject.Args {
			if arg == "-mode" {
				o.mode = e.Subject.Args[i+1]
			}
		}
		srv := httptest.NewServer(routes(o))
		for _, step := range e.Load.Client.Loop {
			path := strings.Replace(step.Path, "n=200000", "n=20", 1) // for the time that it takes
			resp, err := srv.Client().Get(srv.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("%s: GET %s in mode %q: %s", file, path, o.mode, resp.Status)
			}
		}
		srv.Close()
	}
}
