//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/store"
)

// measured makes a run directory of 8 blocks of three settings: the second is 20 %
// slower, the third about 1 %.
func measured(t *testing.T) string { return measuredBlocks(t, 8, 8) }

// measuredBlocks makes one of so many blocks, of a plan with so many or, with 0, of one
// that leaves it to the run.
func measuredBlocks(t *testing.T, repeats, blocks int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	e := &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}, Repeats: repeats, Factors: dyno.Factors{{Name: "A", Levels: []string{"1", "2", "3"}}}}
	dir, err := store.Create(path, store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range e.Trials() {
		if tr.Block > blocks {
			break
		}
		noise := 1 + 0.01*float64(tr.Block*7%5)
		switch tr.Setting[0].Value {
		case "2":
			noise *= 1 + 0.005*float64(tr.Block%3)
		case "3": // whose change is too uncertain
			noise *= 1 + 0.04*float64(1-2*(tr.Block%2))
		}
		r := &dyno.Result{Trial: tr, Start: time.Unix(1700000000, 0), Elapsed: time.Second, Values: dyno.Values{
			{Metric: "p99-sec", Value: 0.010 * noise * map[string]float64{"1": 1, "2": 1.2, "3": 1.02}[tr.Setting[0].Value]},
			{Metric: "failures", Value: 0},
		}}
		if err := dir.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGate(t *testing.T) {
	path := measured(t)
	for _, c := range []struct {
		args string
		want int
		out  string
	}{
		{"--threshold|change(p99) < 50%", exitDone, "passed  change(p99) < 50%  A=2"},
		{"--threshold|change(p99) < 50%|--strict", exitDone, "passed  change(p99) < 50%  A=2"}, // it is decided, whatever the verdict on A=3
		{"--strict", exitUnclear, "(--strict)"},
		{"--threshold|change(p99) < 10%", exitThreshold, "1 of 2 thresholds failed: change(p99) < 10% of A=2 (+"},
		{"--threshold|change(p99) < 2%|--threshold|p99 < 1s", exitThreshold, "unclear  change(p99) < 2%  A=3"},
		{"--threshold|p99 < 11.5ms", exitThreshold, "FAILED  p99 < 11.5ms  A=2"},
		{"--threshold|p99 < 10.2ms", exitThreshold, "close: the median's 95% interval crosses the limit"},
		{"--threshold|p99 < 10.2ms|--format|junit", exitThreshold, `<testsuite name="x A=2" tests="1" failures="1"`},
		{"--threshold|change(p99) != 2%|--format|junit|--strict", exitUnclear, `<failure message="unclear: +`},
		{"--threshold|change(p99) != 2%|--format|junit", exitDone, `<system-out>unclear: +`},
		{"--threshold|failures == 0|--json", exitDone, `"threshold": "failures == 0"`},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"report", path}, strings.Split(c.args, "|")...)
		if got := run(context.Background(), args, &stdout, &stderr); got != c.want || !strings.Contains(stdout.String()+stderr.String(), c.out) {
			t.Errorf("%s: status %d, want %d with %s\n%s%s", c.args, got, c.want, c.out, &stdout, &stderr)
		}
	}
}

// A gate of a service fails by a primary metric that is surely worse, and says what it lets
// pass and why.
func TestFailWorse(t *testing.T) {
	for _, c := range []struct {
		repeats, blocks int
		args            string
		want            int
		out             string
	}{
		{16, 16, "--fail-worse", exitThreshold, "1 comparison of primary metrics is worse (--fail-worse)"},
		{16, 16, "--fail-worse|--threshold|p99 < 1ms", exitThreshold, "3 of 3 thresholds failed"},
		{12, 12, "", exitDone, "worse"},
		{16, 14, "--fail-worse", exitDone, "--fail-worse lets everything pass in 14 blocks: at an error of 0.1% it takes 15 (consider: --resume DIR --more 1)"},
		{8, 8, "--fail-worse", exitUsage, "--fail-worse cannot fail with 8 blocks: an error of 0.1% needs 15 (consider: --repeat 15, or no --repeat)"},
		{0, 15, "--fail-worse", exitThreshold, "1 comparison of primary metrics is worse (--fail-worse)"},
		{0, 12, "--fail-worse", exitDone, "--fail-worse lets everything pass in 12 blocks: at an error of 0.1% it takes 15 (consider: --resume DIR --more 3)"},
		{0, 12, "--full", exitDone, "Both hold whenever they are looked at"},
	} {
		var stdout, stderr bytes.Buffer
		args := []string{"report", measuredBlocks(t, c.repeats, c.blocks)}
		if c.args != "" {
			args = append(args, strings.Split(c.args, "|")...)
		}
		if got := run(context.Background(), args, &stdout, &stderr); got != c.want || !strings.Contains(strings.Join(strings.Fields(stdout.String()+stderr.String()), " "), c.out) {
			t.Errorf("%d blocks of %d, %s: status %d, want %d with %s\n%s%s", c.blocks, c.repeats, c.args, got, c.want, c.out, &stdout, &stderr)
		}
	}
}

// An interrupt says more than a threshold that it left without data.
func TestGateInterrupted(t *testing.T) {
	s := startSession(t, "--repeat", "50", "--threshold", "failures < 0", "--strict") // it does not come to that
	s.await(1)
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
	if status := s.exit(); status != exitInterrupted {
		t.Errorf("status %d, want %d; stderr:\n%s", status, exitInterrupted, &s.stderr)
	}
	if !strings.Contains(s.stdout.String(), "FAILED  failures < 0") {
		t.Errorf("stdout:\n%s", &s.stdout)
	}
	s.nothingIsLeft()
}

// But it is the normal end of a watch, which thresholds judge.
func TestGateOfWatch(t *testing.T) {
	for threshold, want := range map[string]int{"rss_peak < 1B": exitThreshold, "rss_peak < 1TiB": exitDone} {
		s, _ := startWatch(t, "--threshold", threshold)
		s.cmd.Process.Signal(os.Interrupt)
		if status := s.exit(); status != want {
			t.Errorf("%s: status %d, want %d; stderr:\n%s", threshold, status, want, &s.stderr)
		}
		if !strings.Contains(s.stderr.String(), "results are in ") {
			t.Errorf("stderr:\n%s", &s.stderr)
		}
	}
}

// A summary that GitHub would not take any more is left as it is.
func TestStepSummaryFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step.md")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", path)
	dir, err := store.Read(measured(t))
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	f, err := findings.Read(dir, findings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := newRoot()
	cmd.SetErr(&stderr)
	tellGitHub(cmd, f)
	if info, err := os.Stat(path); err != nil || info.Size() != 1<<20 || !strings.Contains(stderr.String(), "has no room") {
		t.Errorf("%v, %v, %s", info, err, &stderr)
	}
}

// What is left out of a report is said in its page too, which is what is passed on.
func TestPageSaysWhatIsLeftOut(t *testing.T) {
	path := measured(t)
	results, err := os.OpenFile(filepath.Join(path, "results.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	results.WriteString(`{"trial":99`)
	results.Close()
	var stdout, stderr bytes.Buffer
	if got := run(context.Background(), []string{"report", path, "--format", "html"}, &stdout, &stderr); got != exitDone || !strings.Contains(stdout.String(), "Not shown: results.jsonl: its last line was cut off") {
		t.Errorf("status %d: %s", got, &stderr)
	}
}
