package examples

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
)

// TestPlans parses every plan of every example. It is what dyno demo and the
// READMEs run.
func TestPlans(t *testing.T) {
	plans, err := filepath.Glob("*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	demos, err := filepath.Glob("*/demo/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	gallery, err := filepath.Glob("../doc/gallery/*.yaml")
	if err != nil || len(gallery) < 10 {
		t.Fatalf("%d plans in the gallery (%v)", len(gallery), err)
	}
	for _, file := range gallery {
		if e := readPlan(t, file); e.Subject.Module == "" || check.Experiment(e) != nil {
			t.Errorf("%s: %q, %v", file, e.Subject.Module, check.Experiment(e))
		}
	}
	for _, file := range slices.Concat(plans, demos) {
		if filepath.Base(file) == "study.yaml" {
			continue
		}
		e := readPlan(t, file)
		example, _, _ := strings.Cut(filepath.ToSlash(file), "/")
		if want, err := filepath.Abs(example); err != nil || e.Subject.Package != want && !e.Subject.InPod() {
			t.Errorf("%s measures %s, want %s", file, e.Subject.Package, want)
		}
		if err := check.Experiment(e); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func readPlan(t *testing.T, file string) *dyno.Experiment {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := plan.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestStudies holds each study.yaml against the plans that it is to be printed
// with: its columns are their settings, its metrics are dyno's.
func TestStudies(t *testing.T) {
	files, err := filepath.Glob("*/study.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no studies (%v)", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		study, err := ParseStudy(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, l := range study.Listings {
			e := readPlan(t, filepath.Join(filepath.Dir(file), "demo", l.Plan+".yaml"))
			if !slices.Contains(e.Profile, l.Type) || !slices.ContainsFunc(e.Levels(), func(s dyno.Setting) bool { return s.String() == l.Setting }) {
				t.Errorf("%s: plan %s has no %s profile of %s", file, l.Plan, l.Type, l.Setting)
			}
		}
		for name := range study.Needs {
			readPlan(t, filepath.Join(filepath.Dir(file), "demo", name+".yaml"))
		}
		if study.Source == "" || len(study.Tables) == 0 {
			t.Errorf("%s has no source or no table", file)
		}
		for _, table := range study.Tables {
			if strings.Contains(table.Plan, "/") || table.Plan == "" { // of benchmarks; the study's alone
				continue
			}
			var settings []string
			for _, s := range readPlan(t, filepath.Join(filepath.Dir(file), "demo", table.Plan+".yaml")).Levels() {
				settings = append(settings, s.String())
			}
			for _, c := range table.Columns {
				if !slices.Contains(settings, c.Setting) {
					t.Errorf("%s: %s: plan %s has no setting %q, but %q", file, table.Title, table.Plan, c.Setting, settings)
				}
			}
			for _, r := range table.Rows {
				if len(r.Study) != len(table.Columns) {
					t.Errorf("%s: %s: %s has %d figures for %d columns", file, table.Title, r.Label, len(r.Study), len(table.Columns))
				}
				if _, ok := dyno.MetricByName(r.Metric); !ok && r.Metric != "" {
					t.Errorf("%s: %s: %s: no metric is called %q", file, table.Title, r.Label, r.Metric)
				}
			}
		}
	}
}
