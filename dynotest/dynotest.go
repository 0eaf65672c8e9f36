// Package dynotest compares two settings of a service in a test: it runs dyno beneath, fails where a limit is
// surely broken, and skips, saying so, where the machine cannot tell.
//
//	func TestNoSlower(t *testing.T) {
//		s := dynotest.Service{Package: "./cmd/server", Args: []string{"-listen", "{{.Addr}}"}, Path: "/search"}
//		dynotest.Compare(t, s, "rev=main", "rev=HEAD", dynotest.NoWorse("p99", 5), dynotest.NoWorse("alloc_per_req", 1))
//	}
//
// It takes a minute or two, and is skipped by go test -short. go test -artifacts keeps the run directory.
package dynotest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// A Service is a program to build, launch and load.
type Service struct {
	Package string   // of main: a directory or an import path
	Dir     string   // where dyno starts; "" means the test's own directory
	Path    string   // of the requests; "" means /
	Args    []string // of the service; {{.Addr}} is a free address, {{.arg.NAME}} a level of arg.NAME
	Flags   []string // further flags of dyno run, such as -c 4
}

// A Limit is a threshold as dyno run --threshold takes it.
type Limit string

// NoWorse is a limit of a change: the metric may be so many per cent worse, higher or lower as the metric has it.
func NoWorse(metric string, percent float64) Limit {
	much := strconv.FormatFloat(percent, 'f', -1, 64) + "%"
	for _, m := range dyno.Metrics {
		if m.Better > 0 && strings.HasPrefix(strings.ReplaceAll(m.Name, "/", "_per_"), metric) {
			return Limit("change(" + metric + ") > -" + much)
		}
	}
	return Limit("change(" + metric + ") < " + much)
}

// Program is the dyno that is run; "" means the one in the PATH, or else one built from the module of this package.
var Program = os.Getenv("DYNO")

// Compare measures a service under two settings side by side, such as "rev=main" and "rev=HEAD", or "GOGC=100" and
// "GOGC=200", and judges the limits. A limit that is surely broken, or has no data, is an error of the test. If none
// is, and one is unclear, the test is skipped with the reason.
func Compare(t testing.TB, s Service, base, head string, limits ...Limit) {
	t.Helper()
	if testing.Short() {
		t.Skip("dyno measures for a minute or two")
	}
	factor, from, ok := strings.Cut(base, "=")
	other, to, ok2 := strings.Cut(head, "=")
	if !ok || !ok2 || factor != other || len(limits) == 0 {
		t.Fatalf("dynotest: want two levels of one factor, such as rev=main and rev=HEAD, and a limit; got %q and %q, %d limits", base, head, len(limits))
	}
	dir, err := os.MkdirTemp(t.ArtifactDir(), "dyno-") // a test may compare several times
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	argv := []string{program(t), "run", s.Package, "--vary", factor + "=" + quoted(from) + "," + quoted(to), "--path", cmp.Or(s.Path, "/"), "--out", run}
	for _, l := range limits {
		argv = append(argv, "--threshold", string(l))
	}
	argv = append(append(append(argv, s.Flags...), "--"), s.Args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops what it has launched
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 99 {
		t.Fatalf("dyno: %v\n%s%s", err, &stderr, &stdout)
	}
	judge(t, run, stdout.String())
}

func program(t testing.TB) string {
	t.Helper()
	if Program != "" {
		return Program
	}
	if path, err := exec.LookPath("dyno"); err == nil {
		return path
	}
	path := filepath.Join(t.TempDir(), "dyno")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/dynolab/dyno/cmd/dyno").CombinedOutput(); err != nil {
		t.Fatalf("dynotest: there is no dyno in the PATH, and none was built: %v (consider: go install github.com/dynolab/dyno/cmd/dyno@latest, or $DYNO)\n%s", err, out)
	}
	return path
}

// quoted is a level that may have commas.
func quoted(level string) string {
	if strings.Contains(level, ",") {
		return `"` + level + `"`
	}
	return level
}

// judge reads what dyno said of each limit.
func judge(t testing.TB, run, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "summary.json"))
	var summary struct {
		Thresholds []struct{ Threshold, Verdict string }
	}
	if err = errors.Join(err, json.Unmarshal(data, &summary)); err != nil {
		t.Fatalf("dyno: %v\n%s", err, text)
	}
	var unclear []string
	for _, l := range summary.Thresholds {
		switch l.Verdict {
		case "passed":
		case "unclear":
			unclear = append(unclear, l.Threshold)
		default:
			t.Errorf("%s does not hold\n%s", l.Threshold, text)
		}
	}
	switch {
	case len(summary.Thresholds) == 0:
		t.Errorf("dyno judged no limit\n%s", text)
	case unclear != nil && !t.Failed():
		t.Skipf("this machine cannot decide whether %s\n%s", strings.Join(unclear, " and "), text)
	}
}
