//go:build machine && linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tenthOfACore makes a control group with a tenth of a core and returns its file
// of processes. It needs root.
func tenthOfACore(t *testing.T) (procs string) {
	group := filepath.Join("/sys/fs/cgroup/cpu", fmt.Sprint("dyno-test-", os.Getpid())) // version 1
	files := map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil { // version 2
		group = filepath.Join("/sys/fs/cgroup", filepath.Base(group))
		files = map[string]string{"cpu.max": "10000 100000"}
		os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0)
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(group, "cgroup.procs")
}

// A generator that has a tenth of a core is the limit of what it measures: each
// trial is marked with the reason, and its latency is not compared. On a busy machine
// the service may be slower than that, which is the limit of a closed load then.
func TestLongSaturated(t *testing.T) {
	procs := tenthOfACore(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	defer srv.Close()
	for args, least := range map[string]int{
		"-d 1s --timeout 1s --max-failures 100% --vary load.rate=9000/s,10000/s": 6,
		"-d 1s --vary load.concurrency=16,32":                                    1,
	} {
		script := fmt.Sprintf("echo $$ > %s && exec dyno load %s --repeat 3 --json %s", procs, srv.URL, args)
		cmd := exec.Command("sh", "-c", script)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil && len(out) == 0 {
			t.Fatalf("%s: %v\n%s", args, err, &stderr)
		}
		s := string(out)
		n := strings.Count(s, `"reason": "`)
		t.Logf("%s: %d of 6 trials are marked", args, n)
		if n < least {
			t.Errorf("%s: too few\n%s", args, s)
		}
		if n < 6 {
			continue
		}
		for _, want := range []string{`"note": "not compared: `, `"verdict": "unclear"`} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: no %s\n%s", args, want, s)
			}
		}
		if t.Failed() {
			return
		}
	}
}
