//go:build machine

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each of three planted regressions is explained: by the class of its cause, and
// by the function that it was planted in.
func TestMachineWhy(t *testing.T) {
	plants := []struct{ plant, class, metric, function string }{
		{"allocation", "allocation", "cpu-sec/req", "label"},
		{"mutex", "lock contention", "req/s", "count"},
		{"json", "CPU time", "cpu-sec/req", "pretty"},
	}
	cmd := exec.Command("dyno", "run", "--json", "../../examples/testdata/planted", "--out", filepath.Join(t.TempDir(), "run"),
		"--vary", "arg.plant=none,allocation,mutex,json", "--path", "/items?page={{random 0 9}}", "-c", "4", "-n", "4000", "-w", "200ms",
		"--repeat", "6", "--profile", "cpu,allocs,mutex", "--profile-repeat", "6", "--", "-addr", "{{.Addr}}", "-plant", "{{.arg.plant}}")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var table struct {
		Settings []struct {
			Why []struct {
				Metric string
				Causes []struct {
					Class  string
					Places []struct{ Func string }
				}
			}
		}
	}
	if err := json.Unmarshal(out, &table); err != nil {
		t.Fatal(err)
	}
	for i, p := range plants {
		asked, found := false, false
		for _, w := range table.Settings[1+i].Why {
			if w.Metric != p.metric {
				continue
			}
			asked = true
			for _, cause := range w.Causes {
				for _, place := range cause.Places[:min(3, len(cause.Places))] {
					found = found || cause.Class == p.class && strings.Contains(place.Func, p.function)
				}
			}
		}
		why, _ := json.MarshalIndent(table.Settings[1+i].Why, "", " ")
		if !asked {
			t.Errorf("%s: %s did not change; %s", p.plant, p.metric, why)
		} else if !found {
			t.Errorf("want %s in %s as a cause of %s, got %s", p.class, p.function, p.metric, why)
		}
	}
}
