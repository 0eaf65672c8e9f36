//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed testdata/hello/main.go
var helloService string

// A session is a dyno that runs in a process of its own, and what can be found
// of it: every process that it started inherits mark, every temporary file is
// below tmp.
type session struct {
	t              *testing.T
	cmd            *exec.Cmd
	out            string // the run directory
	mark, tmp      string
	stdout, stderr bytes.Buffer
}

// built is a program that was built ahead, where the go command is missing: see eval/cgroups; "" elsewhere.
func built(name string) string {
	if dir := os.Getenv("DYNO_TEST_SUBJECTS"); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

func startSession(t *testing.T, args ...string) *session {
	t.Helper()
	dir, subject := t.TempDir(), cmp.Or(built("hello"), ".")
	for name, text := range map[string]string{"go.mod": "module hello\n\ngo 1.22\n", "main.go": helloService} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := &session{t: t, out: filepath.Join(dir, "run"), mark: fmt.Sprintf("DYNO_TEST_MARK=%s-%d", t.Name(), os.Getpid()), tmp: t.TempDir()}
	s.run(dir, append([]string{"run", subject, "--out", s.out, "--vary", "GOGC=100,50", "--repeat", "3", "-d", "400ms", "-c", "2"}, args...)...)
	return s
}

func (s *session) run(dir string, args ...string) {
	s.t.Helper()
	s.stdout.Reset()
	s.stderr.Reset()
	s.cmd = exec.Command("dyno", args...)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), s.mark, "TMPDIR="+s.tmp, "GOFLAGS=")
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.cmd.Process.Kill() })
}

// await waits until the run has n results.
func (s *session) await(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if data, _ := os.ReadFile(filepath.Join(s.out, "results.jsonl")); bytes.Count(data, []byte("\n")) >= n {
			return
		}
	}
	s.t.Fatalf("no %d results in time; stderr:\n%s", n, &s.stderr)
}

// exit waits for dyno and returns its status.
func (s *session) exit() int {
	err := s.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return 0
}

// nothingIsLeft fails the test if a process or a temporary file of the session
// is there still. Guards need a moment after dyno was killed.
func (s *session) nothingIsLeft() {
	s.t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left = nil
		files, _ := os.ReadDir(s.tmp)
		for _, f := range files {
			left = append(left, filepath.Join(s.tmp, f.Name()))
		}
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range environs {
			if env, _ := os.ReadFile(file); strings.Contains(string(env), s.mark) {
				comm, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
				left = append(left, fmt.Sprintf("%s (%s)", filepath.Dir(file), bytes.TrimSpace(comm)))
			}
		}
		if len(left) == 0 {
			return
		}
	}
	s.t.Errorf("left behind: %q", left)
}

// kill -9 in the middle of a trial: nothing is left, nothing is lost, and
// --resume finishes the run.
func TestKilledAndResumed(t *testing.T) {
	s := startSession(t)
	s.await(2)
	time.Sleep(300 * time.Millisecond) // into the third trial
	s.cmd.Process.Kill()
	s.exit()
	s.nothingIsLeft()
	before, err := os.ReadFile(filepath.Join(s.out, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}

	s.run(filepath.Dir(s.out), "run", "--resume", s.out)
	if status := s.exit(); status != 0 {
		t.Fatalf("resume ended with status %d:\n%s", status, &s.stderr)
	}
	s.nothingIsLeft()
	after, err := os.ReadFile(filepath.Join(s.out, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(after, before) || bytes.Count(after, []byte("\n")) != 6 {
		t.Errorf("results.jsonl was\n%s\nand is\n%s", before, after)
	}
	if !strings.Contains(s.stdout.String(), "6 trials in 3 blocks of 2 settings") {
		t.Errorf("the report is not of the whole run:\n%s", &s.stdout)
	}
}

// Neither the subject nor the load's program outlives a dyno that was killed.
func TestKilledWithProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "loader")
	if out, err := exec.Command("go", "build", "-o", program, "../../internal/lab/cluster/conform/testdata/load").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := startSession(t, "--load-program", program, "--repeat", "50")
	s.await(1)
	for runs := false; !runs; { // of the next block
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		runs = slices.ContainsFunc(links, func(link string) bool {
			exe, _ := os.Readlink(link)
			return exe == program
		})
	}
	s.cmd.Process.Kill()
	s.exit()
	s.nothingIsLeft()
}

// Ctrl-C reaches the whole process group of the terminal: the report is made
// of what there is, and says so.
func TestInterrupted(t *testing.T) {
	s := startSession(t, "--repeat", "50") // it does not come to that
	s.await(2)
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
	if status := s.exit(); status != exitInterrupted {
		t.Errorf("status %d, want %d", status, exitInterrupted)
	}
	s.nothingIsLeft()
	if !strings.Contains(s.stdout.String(), "planned trials were run") || !strings.Contains(s.stderr.String(), "resume with dyno run --resume "+s.out) {
		t.Errorf("stdout:\n%s\nstderr:\n%s", &s.stdout, &s.stderr)
	}
	for _, name := range []string{"summary.json", "bench.txt"} {
		if _, err := os.Stat(filepath.Join(s.out, name)); err != nil {
			t.Error(err)
		}
	}
}

// An interrupt while the subject is being built or launched ends dyno too.
func TestInterruptedEarly(t *testing.T) {
	s := startSession(t)
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if files, _ := os.ReadDir(s.tmp); len(files) > 0 { // the builder's
			break
		}
	}
	s.cmd.Process.Signal(syscall.SIGINT)
	if status := s.exit(); status != exitInterrupted {
		t.Errorf("status %d, want %d; stderr:\n%s", status, exitInterrupted, &s.stderr)
	}
	s.nothingIsLeft()
}

// A run that ends by itself leaves nothing either.
func TestFinished(t *testing.T) {
	s := startSession(t, "--repeat", "1", "-d", "100ms")
	if status := s.exit(); status != 0 {
		t.Errorf("status %d; stderr:\n%s", status, &s.stderr)
	}
	s.nothingIsLeft()
}

// The first signal ends a command that only reads.
func TestInterruptReading(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // no signal: it would read for ever
	defer cancel()
	cmd := exec.CommandContext(ctx, "dyno", "gc", "-")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(bytes.Repeat([]byte("a log\n"), 100_000)); err != nil { // more than a pipe holds, so it is being read
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v", cmd.ProcessState)
	}
}
