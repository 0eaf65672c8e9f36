//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startWatch watches a process that it starts, and returns when the first samples
// are on disk.
func startWatch(t *testing.T, args ...string) (s *session, watched *exec.Cmd) {
	t.Helper()
	watched = exec.Command("cat")
	if _, err := watched.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := watched.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { watched.Process.Kill(); watched.Wait() })
	dir := t.TempDir()
	s = &session{t: t, out: filepath.Join(dir, "run"), mark: "DYNO_TEST_MARK=" + t.Name() + filepath.Base(dir), tmp: t.TempDir()}
	s.run(dir, append([]string{"watch", strconv.Itoa(watched.Process.Pid), "--every", "10ms", "--out", s.out}, args...)...)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if data, _ := os.ReadFile(filepath.Join(s.out, "trials", "0001", "series.csv")); strings.Count(string(data), "\nrss-B,") > 2 {
			return s, watched
		}
	}
	t.Fatalf("no samples in time; stderr:\n%s", &s.stderr)
	return nil, nil
}

// whole fails the test if what was seen is not all there.
func (s *session) whole() {
	s.t.Helper()
	if status := s.exit(); status != exitDone {
		s.t.Errorf("status %d; stderr:\n%s", status, &s.stderr)
	}
	if !strings.Contains(s.stdout.String(), "\nrss-peak ") || strings.Contains(s.stdout.String(), "failed") {
		s.t.Errorf("stdout:\n%s", &s.stdout)
	}
	if _, err := os.Stat(filepath.Join(s.out, "trials", "0001", "series.parquet")); err != nil {
		s.t.Error(err)
	}
	s.nothingIsLeft()
}

// A signal is the normal end of a watch.
func TestWatchInterrupted(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s, watched := startWatch(t)
		s.cmd.Process.Signal(signal)
		s.cmd.Process.Signal(signal) // as timeout(1) does
		s.whole()
		if err := watched.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the watched process: %v", err)
		}
	}
}

// So is the end of what is watched.
func TestWatchedEnds(t *testing.T) {
	s, watched := startWatch(t)
	watched.Process.Kill()
	s.whole()
	if !strings.Contains(s.stdout.String(), "ended") {
		t.Errorf("stdout:\n%s", &s.stdout)
	}
}

// A killed watch keeps its samples, and cannot be resumed.
func TestWatchKilled(t *testing.T) {
	s, _ := startWatch(t)
	s.cmd.Process.Kill()
	s.exit()
	s.run(filepath.Dir(s.out), "run", "--resume", s.out)
	if status := s.exit(); status != exitUsage || !strings.Contains(s.stderr.String(), "a watch cannot be resumed") {
		t.Errorf("status %d; stderr:\n%s", status, &s.stderr)
	}
	s.run(filepath.Dir(s.out), "report", s.out)
	if status := s.exit(); status != exitFailed || !strings.Contains(s.stderr.String(), filepath.Join("0001", "series.csv")) {
		t.Errorf("report: status %d; stderr:\n%s", status, &s.stderr)
	}
	s.nothingIsLeft()
}
