//go:build machine

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A service that collects a good part of the time is slow where it collects; the
// same service without a collector is not.
func TestLongTail(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	dyno := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("dyno", args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("dyno %q: %v\n%s", args, err, &stderr)
		}
		return string(out)
	}
	text := dyno("run", "-f", "testdata/collector/dyno.yaml", "--json", "--out", run)
	type estimate struct{ Mean, Lo, Hi float64 }
	var s struct {
		Settings []struct {
			Setting string
			Values  map[string]struct{ Center float64 }
			Tail    struct {
				Trials  int
				Verdict string
				Met     estimate `json:"met-frac"`
				Slow    estimate `json:"slow-met-frac"`
				Chance  estimate `json:"slow-chance-frac"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	on, off := s.Settings[0], s.Settings[1]
	wall := on.Values["gc-wall-frac"].Center
	t.Logf("%s: collecting %.0f %% of the time, tail %+v", on.Setting, 100*wall, on.Tail)
	if on.Tail.Verdict == "no" || on.Tail.Slow.Mean <= on.Tail.Met.Mean || wall < 0.05 {
		t.Errorf("%s: collecting %.0f %% of the time, %+v", on.Setting, 100*wall, on.Tail)
	}
	if off.Tail.Verdict == "yes" || off.Tail.Slow.Hi != 0 || off.Tail.Trials == 0 {
		t.Errorf("%s: %+v", off.Setting, off.Tail)
	}
	if on.Tail.Verdict != "yes" || off.Tail.Verdict != "no" || on.Tail.Slow.Mean <= on.Tail.Chance.Mean {
		t.Errorf("%s: %+v; %s: %+v", on.Setting, on.Tail, off.Setting, off.Tail)
	}
}
