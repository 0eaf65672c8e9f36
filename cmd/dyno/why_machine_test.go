//go:build machine

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A planted regression is explained: by the class of its cause, and by the function that it
// was planted in.
func TestLongWhy(t *testing.T) {
	names := []string{"allocation", "mutex", "json"}
	plants := map[string]struct{ class, function string }{
		"allocation": {"allocation", "label"},
		"mutex":      {"lock contention", "count"},
		"json":       {"CPU time", "pretty"},
	}
	cmd := exec.Command("dyno", "run", "--json", "../../examples/testdata/planted", "--out", filepath.Join(t.TempDir(), "run"),
		"--vary", "arg.plant=none,"+strings.Join(names, ","), "--path", "/items?page={{random 0 9}}", "-c", "4", "-n", "3000", "-w", "200ms",
		"--repeat", "10", "--profile", "cpu,allocs,mutex", "--profile-repeat", "6", "--", "-addr", "{{.Addr}}", "-plant", "{{.arg.plant}}")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var table struct {
		Settings []struct {
			Why []struct {
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
	for i, name := range names {
		p, found := plants[name], false
		for _, w := range table.Settings[1+i].Why {
			for _, cause := range w.Causes {
				for _, place := range cause.Places[:min(3, len(cause.Places))] {
					found = found || cause.Class == p.class && strings.Contains(place.Func, p.function)
				}
			}
		}
		if !found {
			why, _ := json.MarshalIndent(table.Settings[1+i].Why, "", " ")
			t.Errorf("%s: %s in %s is no cause of what changed, but %s", name, p.class, p.function, why)
		}
	}
}
