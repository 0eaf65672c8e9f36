//go:build machine

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Of four services side by side for 40 s, the two that leak are not called level, and where
// a leak is found its place is right; the two that do not leak are not accused, though one
// of them grows by 8 MiB at once.
// A busy machine leaves too few readings to find a leak in so short a time: eval/leak, on a
// quiet one, asks for more than "not level".
func TestLongLeak(t *testing.T) {
	t.Parallel() // it mostly waits
	type service struct {
		mode, site string
		args       []string
		verdict    func(t *testing.T) leakSaid
	}
	services := []service{
		{mode: "leak", site: "journal).add", args: []string{"--arg", "leak=1048576", "-r", "400/s"}},
		{mode: "goroutine", site: "shop).notify", args: []string{"--arg", "every=20", "-r", "400/s"}},
		{mode: "step", args: []string{"--arg", "at=25s", "-r", "400/s"}},
		{mode: "steady", args: []string{"-r", "400/s"}},
	}
	for i, s := range services {
		services[i].verdict = lookForLeak(t, append(s.args, "--arg", "mode="+s.mode, "-d", "40s")...)
	}
	for _, s := range services {
		t.Run(s.mode, func(t *testing.T) {
			leak := s.verdict(t)
			text, _ := json.Marshal(leak)
			t.Logf("%s", text)
			found, others := leak.grown, leak.Others
			if s.mode == "goroutine" { // its memory is too little for so short a time
				found = others["goroutines"]
				delete(others, "goroutines")
			}
			switch {
			case s.site == "" && found.Verdict == "leaking":
				t.Error("a leak that is not there")
			case s.site == "" || found.Verdict == "unclear":
			case found.Verdict != "leaking" || len(found.Sites) == 0 || !strings.Contains(found.Sites[0].Func, s.site):
				t.Errorf("want a leak in %s", s.site)
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

type leakSaid struct {
	grown
	Others map[string]grown
}

// lookForLeak starts dyno on a service of which is known whether it leaks, and returns
// what waits for its verdict.
func lookForLeak(t *testing.T, args ...string) func(t *testing.T) leakSaid {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "dyno", append([]string{"run", "--json", "-f", "../../examples/testdata/leaks/dyno.yaml",
		"--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	t.Cleanup(func() { wait() })
	return func(t *testing.T) leakSaid {
		t.Helper()
		if err := wait(); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		var s struct {
			Settings []struct{ Leak *leakSaid }
			Failed   []any
		}
		if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Failed) > 0 || len(s.Settings) != 1 || s.Settings[0].Leak == nil {
			t.Fatalf("no verdict: %v\n%s", s.Failed, &stderr)
		}
		return *s.Settings[0].Leak
	}
}
