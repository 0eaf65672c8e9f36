//go:build machine

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Of four services side by side for 40 s, the two that leak are found, and where; the
// two that do not are not accused, though one of them grows by 8 MiB at once.
// bench/leak has them all, twenty times, for longer.
func TestMachineLeak(t *testing.T) {
	for _, c := range []struct {
		mode, rate, site string
		args             []string
		goroutines       bool
	}{
		{mode: "leak", rate: "1000/s", site: "journal).add", args: []string{"--arg", "leak=102400"}},
		{mode: "goroutine", rate: "400/s", site: "shop).notify", args: []string{"--arg", "every=20"}, goroutines: true},
		{mode: "step", rate: "400/s", args: []string{"--arg", "at=25s"}},
		{mode: "steady", rate: "400/s"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			leak := leakOf(t, append([]string{"--arg", "mode=" + c.mode, "-r", c.rate, "-d", "40s"}, c.args...)...)
			text, _ := json.Marshal(leak)
			t.Logf("%s", text)
			what, others := leak.grown, leak.Others
			if c.goroutines {
				what = others["goroutines"]
				delete(others, "goroutines")
			}
			switch {
			case c.site == "" && what.Verdict == "leaking":
				t.Error("a leak that is not there")
			case c.site == "":
			case what.Verdict != "leaking" || len(what.Sites) == 0 || !strings.Contains(what.Sites[0].Func, c.site):
				t.Errorf("want a leak in %s", c.site)
			}
			for name, o := range others {
				if o.Verdict == "leaking" {
					t.Errorf("a leak of %s that is not there", name)
				}
			}
		})
	}
}

type grown struct {
	Verdict    string   `json:"verdict"`
	Rate       *float64 `json:"B/h"`
	Detectable *float64 `json:"detectable-B/h"`
	Sites      []struct{ Func, File string }
}

type leak struct {
	grown
	Others map[string]grown
}

// leakOf runs dyno on a service of which is known whether it leaks.
func leakOf(t *testing.T, args ...string) leak {
	t.Helper()
	cmd := exec.Command("dyno", append([]string{"run", "--json", "-f", "../../examples/testdata/leaks/dyno.yaml",
		"--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var s struct {
		Settings []struct{ Leak *leak }
		Failed   []any
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Failed) > 0 || len(s.Settings) != 1 || s.Settings[0].Leak == nil {
		t.Fatalf("no verdict: %v\n%s", s.Failed, &stderr)
	}
	return *s.Settings[0].Leak
}
