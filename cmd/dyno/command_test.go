//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startCommand starts a dyno whose load is a command that does not end, and
// returns when the command runs. What it starts has left its process group and
// its session, as a generator with workers might.
func startCommand(t *testing.T) *session {
	t.Helper()
	svc, err := exec.LookPath("svc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := "load: {command: 'trap \"\" TERM; setsid sleep 1000 & (sleep 1000 & touch runs; wait)'}\nrepeat: 1\n"
	if err := os.WriteFile(filepath.Join(dir, "dyno.yaml"), []byte(plan), 0o666); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, out: filepath.Join(dir, "run"), mark: "DYNO_TEST_MARK=" + t.Name() + filepath.Base(dir), tmp: t.TempDir()}
	s.run(dir, "run", svc, "-f", "dyno.yaml", "--out", s.out)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
			return s
		}
	}
	t.Fatalf("the command did not start; stderr:\n%s", &s.stderr)
	return nil
}

// Ctrl-C ends a load command and all that it started.
func TestCommandInterrupted(t *testing.T) {
	s := startCommand(t)
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
	if status := s.exit(); status != exitInterrupted {
		t.Errorf("status %d, want %d; stderr:\n%s", status, exitInterrupted, &s.stderr)
	}
	s.nothingIsLeft()
	if !strings.Contains(s.stderr.String(), "interrupted") {
		t.Errorf("stderr:\n%s", &s.stderr)
	}
}

// So does a kill -9 of dyno.
func TestCommandKilled(t *testing.T) {
	s := startCommand(t)
	s.cmd.Process.Kill()
	s.exit()
	s.nothingIsLeft()
}
