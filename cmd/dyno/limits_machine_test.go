//go:build machine && linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/examples"
)

// groups lists the control groups that dyno has made and that are there.
func groups() (list []string) {
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "dyno-") {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// noGroups fails the test if a control group is left. Supervisors need a moment after dyno was killed. .ci/run runs tests of other packages
// beside, which make groups of their own: a group that comes later does not count, nor one that has a process.
func noGroups(t *testing.T) {
	t.Helper()
	left := groups()
	for deadline := time.Now().Add(time.Minute); len(left) > 0; time.Sleep(20 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(dir string) bool {
			_, err := os.Stat(dir)
			return err != nil
		})
		if time.Now().Before(deadline) {
			continue
		}
		left = slices.DeleteFunc(left, func(dir string) bool {
			processes, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			return err != nil || len(processes) > 0
		})
		if len(left) > 0 {
			t.Fatalf("left behind: %q", left)
		}
	}
}

// A service that has outgrown its limit is reported as killed by the kernel, with the
// memory that it had until then; with GOMEMLIMIT it lives.
func TestMachineLimitMemory(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	// So many requests, as emulated CPUs answer few in a time.
	args := []string{"run", "-f", "../../examples/testdata/limited/dyno.yaml", "--repeat", "1", "-n", "500", "--out", run}
	if path := built("limited"); path != "" {
		args = append(args, path)
	}
	cmd := exec.Command("dyno", args...)
	text, _ := cmd.CombinedOutput() // half of the trials fail
	noGroups(t)
	lines, err := os.ReadFile(filepath.Join(run, "results.jsonl"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	const killed = "the kernel killed the subject for lack of memory: the control group reached its limit of 64 MiB (most: 64.0 MiB); GOMEMLIMIT is not set, GOGC=400 (consider: GOMEMLIMIT=57MiB, a higher limit)"
	seen := map[string]bool{}
	for line := range strings.Lines(string(lines)) {
		var r dyno.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Trial.For != "" {
			continue
		}
		setting := r.Trial.Setting.String()
		peak, _ := r.Values.Get("cgroup-peak-B")
		kills, counted := r.Values.Get("oom-kills")
		seen[setting] = true
		switch setting {
		case "GOGC=400 limit.memory=none":
			if r.Err != "" || kills != 0 || !counted || peak < 80<<20 {
				t.Errorf("without a limit: error %q, %v kills, most %v", r.Err, kills, peak)
			}
		case "GOGC=400 GOMEMLIMIT=56MiB":
			if r.Err != "" || kills != 0 || !counted || peak < 30<<20 || peak > 64<<20 {
				t.Errorf("with GOMEMLIMIT: error %q, %v kills, most %v", r.Err, kills, peak)
			}
		case "GOGC=400":
			series, _ := filepath.Glob(filepath.Join(run, fmt.Sprintf("trials/%04d/series.*", r.Trial.N)))
			if !strings.Contains(r.Err, killed) || kills != 1 || peak < 60<<20 || r.Latency == nil || len(series) != 1 {
				t.Errorf("with the limit: error %q, %v kills, most %v, latency %v, series %q", r.Err, kills, peak, r.Latency, series)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("settings %v:\n%s", seen, text)
	}
}

// A tenth of a CPU is shown as throttling, and named as the first cause of p99. What is named has a verdict of its own among
// all metrics, which takes more blocks than p99 itself.
func TestLongLimitCPU(t *testing.T) {
	dir := t.TempDir()
	if err := examples.Extract(filepath.Join(dir, "x"), "sessions"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dyno", "run", "--json", "-f", filepath.Join(dir, "x", "limits.yaml"), "-d", "1s", "-w", "300ms", "--repeat", "12", "--out", filepath.Join(dir, "run"))
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	noGroups(t)
	var table struct {
		Settings []struct {
			Values map[string]struct{ Center float64 }
			Why    []struct {
				Metric string
				Causes []struct{ Class string }
			}
		}
	}
	if err := json.Unmarshal(out, &table); err != nil {
		t.Fatal(err)
	}
	none, tenth := table.Settings[0], table.Settings[1]
	if v := none.Values["throttled-frac"].Center; v != 0 {
		t.Errorf("without a limit %v of the periods were throttled", v)
	}
	throttled := tenth.Values["throttled-frac"].Center
	if throttled == 0 {
		t.Error("with a limit no period was throttled")
	}
	if throttled < 0.5 { // others use the CPUs, so that it seldom gets as much as its limit
		return
	}
	for _, w := range tenth.Why { // p99 has a reason only where its change is sure, which takes a quiet machine
		if (w.Metric == "req/s" || w.Metric == "p99-sec") && len(w.Causes) > 0 && w.Causes[0].Class == "the CPU limit" {
			return
		}
	}
	t.Errorf("%v → %v requests a second, and why is %+v", none.Values["req/s"].Center, tenth.Values["req/s"].Center, tenth.Why)
}

// However dyno ends, no control group is left, nor a process in it.
func TestMachineLimitKilled(t *testing.T) {
	for name, end := range map[string]func(*session){
		"kill -9":   func(s *session) { s.cmd.Process.Kill() },
		"interrupt": func(s *session) { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT) },
		"finished":  func(s *session) {},
	} {
		t.Run(name, func(t *testing.T) {
			repeat := "50" // it does not come to that
			if name == "finished" {
				repeat = "2"
			}
			s := startSession(t, "--limit", "cpu=0.5,memory=64MiB", "--repeat", repeat)
			s.await(1)
			for deadline := time.Now().Add(time.Minute); len(groups()) == 0 && name != "finished" && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if len(groups()) == 0 && name != "finished" {
				t.Error("there is no control group to leave behind")
			}
			end(s)
			s.exit()
			s.nothingIsLeft()
			noGroups(t)
		})
	}
}

// Where nobody can set the limit, nothing is run without.
func TestMachineLimitRefused(t *testing.T) {
	dir, err := os.MkdirTemp("", "limited")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bin, err := exec.LookPath("dyno")
	if err != nil {
		t.Fatal(err)
	}
	if bin, err = filepath.EvalSymlinks(bin); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dyno", "svc"} { // where nobody may read them
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"--limit=memory=64MiB", "--vary=limit.cpu=none,10%"} {
		cmd := exec.Command(filepath.Join(dir, "dyno"), "run", filepath.Join(dir, "svc"), limit, "--out", filepath.Join(dir, "run"), "-n", "10")
		cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		text, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: no error\n%s", limit, text)
		}
		for _, want := range []string{"cannot set ", "permission denied", "(consider: run dyno as root"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", limit, want, text)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
			t.Errorf("%s: something was measured", limit)
		}
	}
	noGroups(t)
}
