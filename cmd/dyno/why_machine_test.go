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
	for _, c := range []struct{ plant, class, metric, function, requests string }{
		{"allocation", "allocation", "cpu-sec/req", "label", "8000"},
		{"mutex", "lock contention", "req/s", "count", "2000"},
		{"json", "CPU time", "cpu-sec/req", "pretty", "6000"},
	} {
		t.Run(c.plant, func(t *testing.T) {
			cmd := exec.Command("dyno", "run", "--json", "../../examples/testdata/planted", "--out", filepath.Join(t.TempDir(), "run"),
				"--vary", "arg.plant=none,"+c.plant, "--path", "/items?page={{random 0 9}}", "-c", "4", "-n", c.requests, "-w", "200ms", "--repeat", "8",
				"--profile", "cpu,allocs,mutex", "--profile-repeat", "8", "--", "-addr", "{{.Addr}}", "-plant", "{{.arg.plant}}")
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
			asked, found := false, false
			for _, w := range table.Settings[1].Why {
				if w.Metric != c.metric {
					continue
				}
				asked = true
				for _, cause := range w.Causes {
					for _, p := range cause.Places[:min(3, len(cause.Places))] {
						found = found || cause.Class == c.class && strings.Contains(p.Func, c.function)
					}
				}
			}
			why, _ := json.MarshalIndent(table.Settings[1].Why, "", " ")
			if !asked {
				t.Errorf("%s did not change; %s", c.metric, why)
			} else if !found {
				t.Errorf("want %s in %s as a cause of %s, got %s", c.class, c.function, c.metric, why)
			}
		})
	}
}
