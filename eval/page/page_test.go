package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/store"
)

// Whatever is made opens as a run directory with all its trials, says that it is
// invented, and is the same when it is made again.
func TestKinds(t *testing.T) {
	o := options{seed: 7, scale: 0.002}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			one, two := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "x")
			for _, out := range []string{one, two} {
				if err := k.make(out, o); err != nil {
					t.Fatal(err)
				}
			}
			runs := 0
			for _, path := range []string{one, filepath.Join(one, "harmful")} {
				runs += look(t, path)
			}
			if k.name == "many" || k.name == "hostile" {
				entries, _ := os.ReadDir(one)
				for _, e := range entries {
					if e.IsDir() && e.Name() != "no-json" && e.Name() != "harmful" {
						runs += look(t, filepath.Join(one, e.Name()))
					}
				}
			}
			if runs == 0 {
				t.Error("there is no run")
			}
			same(t, one, two)
		})
	}
}

// look checks a run directory, if it is one, and returns how many that are.
func look(t *testing.T, path string) int {
	t.Helper()
	if _, err := os.Stat(filepath.Join(path, "run.json")); err != nil {
		return 0
	}
	d, err := store.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Run.Plan.Name, "synthetic") {
		t.Errorf("%s does not say that it is synthetic", path)
	}
	for _, r := range d.Results() {
		if r.Err != "" {
			continue
		}
		kept := int64(0)
		for _, err := range d.Requests(r.Trial.N) {
			if err != nil {
				t.Fatal(err)
			}
			kept++
		}
		if kept != r.Sent.Requests || !r.Latency.Whole() {
			t.Errorf("trial %d kept %d of %d requests; histogram whole: %v", r.Trial.N, kept, r.Sent.Requests, r.Latency.Whole())
		}
		if ss, err := d.Series(r.Trial.N, "rss-B"); err != nil || len(ss) != 1 {
			t.Errorf("trial %d: series %v, %v", r.Trial.N, ss, err)
		}
	}
	if n := len(d.Missing()); n > 0 && filepath.Base(path) != "harmful" {
		t.Errorf("%s lacks %d trials", path, n)
	}
	return 1
}

// same compares all files but the holes of logs.
func same(t *testing.T, one, two string) {
	t.Helper()
	err := filepath.WalkDir(one, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, ".log") {
			return err
		}
		rel, _ := filepath.Rel(one, path)
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(two, rel))
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s is not the same again", rel)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
