//go:build machine

package main

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/store"
)

// These tests need a Go module proxy and root: they measure a module nobody wrote here,
// build with other toolchains, ask the released benchstat, and fill a disk. .ci/run runs
// them as a step of its own.

type summary struct {
	Settings []struct {
		Setting string
		Trials  int
		Values  map[string]struct{ Center float64 }
	}
	Failed []any
}

// measureWith runs dyno and returns its summary.
func measureWith(t *testing.T, args ...string) summary {
	t.Helper()
	cmd := exec.Command("dyno", append([]string{"run", "--json"}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var s summary
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Failed) > 0 {
		t.Errorf("failed trials: %v", s.Failed)
	}
	return s
}

// A published module is measured with the probe inside, and the module cache
// stays as it was.
func TestMachineModule(t *testing.T) {
	const module = "github.com/mccutchen/go-httpbin/v2@v2.20.0"
	dir := func() string {
		out, err := exec.Command("go", "mod", "download", "-json", module).Output()
		if err != nil {
			t.Fatalf("go mod download: %v\n%s", err, out)
		}
		var m struct{ Dir string }
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		return m.Dir
	}()
	list := func() string {
		out, err := exec.Command("find", dir, "-printf", "%p %s %T@\n").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := list()
	s := measureWith(t, "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin@v2.20.0", "--out", filepath.Join(t.TempDir(), "run"),
		"--vary", "GOGC=100,400", "--path", "/json", "-n", "1000", "-c", "2", "--repeat", "1")
	for _, x := range s.Settings {
		if x.Values["alloc-B/req"].Center <= 0 {
			t.Errorf("%s: the injected probe says nothing of allocations", x.Setting)
		}
	}
	if list() != before {
		t.Error("the module cache changed")
	}
}

// The demo's service is built by two toolchains, each of which the binary names.
func TestLongToolchains(t *testing.T) {
	src := t.TempDir()
	if err := examples.Extract(filepath.Join(src, "x"), "sessions"); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(src, "run")
	measureWith(t, "-f", filepath.Join(src, "x", "dyno.yaml"), "--vary", "GOGC=100", "--vary", "go=1.24.11,1.26.8",
		"--out", out, "-n", "500", "-w", "0s", "--idle", "0s", "--repeat", "1")
	results, err := os.ReadFile(filepath.Join(out, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"1.24.11", "1.26.8"} {
		if !regexp.MustCompile(`"go":"` + regexp.QuoteMeta(v) + `"\},"subject":"go` + regexp.QuoteMeta(v)).Match(results) {
			t.Errorf("no trial of Go %s was built by it:\n%s", v, results)
		}
	}
}

// benchstat's medians of bench.txt are dyno's.
func TestMachineBenchstat(t *testing.T) {
	bin := t.TempDir()
	install := exec.Command("go", "install", "golang.org/x/perf/cmd/benchstat@latest")
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-mod=mod")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install benchstat: %v\n%s", err, out)
	}
	svc, err := exec.LookPath("svc")
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	s := measureWith(t, svc, "--out", run, "--vary", "GOGC=100,off", "--vary", "A=x/y z-8,1", "--repeat", "6", "-n", "300", "-c", "2")
	out, err := exec.Command(filepath.Join(bin, "benchstat"), "-format", "csv", "-col", "/GOGC,/A", filepath.Join(run, "bench.txt")).Output()
	if err != nil {
		t.Fatal(err)
	}
	medians := csvMedians(t, string(out))
	for _, metric := range []string{"p50-sec", "p99-sec", "req/s", "cpu-sec/req", "rss-peak-B"} {
		for i, x := range s.Settings {
			got, want := medians[metric][i], x.Values[metric].Center
			if math.Abs(got-want) > 1e-5*want {
				t.Errorf("%s of %s: benchstat says %v, dyno %v", metric, x.Setting, got, want)
			}
		}
	}
}

// csvMedians returns benchstat's centers, by unit, in the order of columns.
func csvMedians(t *testing.T, text string) map[string][]float64 {
	t.Helper()
	medians := map[string][]float64{}
	var unit string
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) > 1 && f[0] == "" && strings.Contains(line, ",CI") {
			unit = f[1]
		}
		if !strings.HasPrefix(f[0], "Svc") && !strings.HasPrefix(f[0], "svc") {
			continue
		}
		for _, field := range f[1:] {
			if v, err := strconv.ParseFloat(field, 64); err == nil {
				medians[unit] = append(medians[unit], v)
			}
		}
	}
	if len(medians) == 0 {
		t.Fatalf("benchstat printed\n%s", text)
	}
	return medians
}

// A full disk ends the run with a message that names the directory and the
// cure; no finished trial is lost, and with more room the run goes on.
func TestMachineFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=72k"); err != nil {
		t.Fatalf("mount: %v (this test needs root)", err)
	}
	defer syscall.Unmount(disk, 0)
	svc, err := exec.LookPath("svc")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(disk, "run")
	text, err := exec.Command("dyno", "run", svc, "--out", out, "--vary", "GOGC=100,200", "--repeat", "20", "-n", "300").CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Fatalf("ended with %v, want status %d:\n%s", err, exitFailed, text)
	}
	for _, want := range []string{"no space left on device", "the trials before it are safe; consider: dyno run --resume " + out} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q was not said:\n%s", want, text)
		}
	}
	before, err := os.ReadFile(filepath.Join(out, "results.jsonl"))
	if err != nil || len(before) == 0 {
		t.Fatalf("results: %v, %d bytes", err, len(before))
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("dyno", "run", "--resume", out).CombinedOutput(); err != nil {
		t.Fatalf("resume: %v\n%s", err, text)
	}
	after, err := os.ReadFile(filepath.Join(out, "results.jsonl"))
	// A block in which a trial found the disk full was measured again as a whole, so that a trial that was good may
	// have two results.
	good := map[int]bool{}
	for line := range strings.Lines(string(after)) {
		var r struct {
			Trial int    `json:"trial"`
			Err   string `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %.1000s", err, line)
		}
		if r.Err != "" {
			t.Logf("%.1000s", line)
		}
		good[r.Trial] = r.Err == ""
	}
	maps.DeleteFunc(good, func(_ int, is bool) bool { return !is })
	if err != nil || !strings.HasPrefix(string(after), string(before)) || len(good) != 40 {
		t.Errorf("after resuming: %v, %d trials have a good result, want 40", err, len(good))
	}
}

// Every profile and the trace of the demo's service is read by Go's own tools,
// and nothing of it is compared.
func TestMachineProfiles(t *testing.T) {
	src := t.TempDir()
	if err := examples.Extract(filepath.Join(src, "x"), "sessions"); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(src, "run")
	s := measureWith(t, "-f", filepath.Join(src, "x", "dyno.yaml"), "--vary", "GOGC=100", "--out", out, "-d", "2s", "-w", "1s",
		"--repeat", "1", "--profile", "cpu,heap,allocs,goroutine,mutex,block", "--trace", "1s")
	if len(s.Settings) != 1 || s.Settings[0].Trials != 1 {
		t.Errorf("settings %+v", s.Settings)
	}
	for profile, want := range map[string]string{
		"cpu": "Type: cpu", "heap": "Type: inuse_space", "allocs": "Type: alloc_space",
		"goroutine": "Type: goroutine", "mutex": "Type: delay", "block": "Type: delay",
	} {
		text, err := exec.Command("go", "tool", "pprof", "-top", filepath.Join(out, "trials/0002", profile+".pb.gz")).CombinedOutput()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("go tool pprof %s: %v\n%s", profile, err, text)
		}
	}
	trace := filepath.Join(out, "trials/0003/trace.out")
	text, err := exec.Command("go", "tool", "trace", "-pprof=sched", trace).Output()
	if err != nil || len(text) == 0 {
		t.Errorf("go tool trace: %v, %d bytes", err, len(text))
	}
	dir, err := store.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := findings.Read(dir, findings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := f.Table.Settings[0].Trace; a == nil || a.Requests < 100 {
		t.Errorf("attribution: %+v", a)
	}
}
