//go:build linux

package subject

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// victim is a dyno in little: it builds, starts a service that forks, beside it one with data that is
// paused, and a program that has stopped itself, and begins a second build,
// in a worktree, that does not end. It says what there is to be cleaned up and waits to be killed.
func victim() {
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	b, err := NewBuilder(os.Getenv("DYNO_TEST_VICTIM"))
	check(err)
	s := dyno.Subject{Package: "testdata/service", Args: []string{"-addr", "{{.Addr}}", "-mode", "fork"}}
	built, err := b.Build(ctx, s)
	check(err)
	p, err := Start(ctx, built, s, Options{})
	check(err)
	s.Args[3], s.Env = "", map[string]string{"DATA": "{{.Dir}}"}
	paused, err := Start(ctx, built, s, Options{})
	check(err)
	data := variable(paused.env, "DATA")
	check(os.WriteFile(filepath.Join(data, "journal"), []byte("x"), 0o600))
	check(paused.Pause())
	_, err = b.Build(ctx, dyno.Subject{Package: os.Getenv("DYNO_TEST_REPO"), Rev: "HEAD"})
	check(err)
	go b.command(ctx, b.dir, nil, "sh", "-c", "sleep 1000 & while :; do mkdir -p tmp/x; done")
	stopped, err := guard.Start(guard.Job{Path: "/bin/sh", Args: []string{"sh", "-c", "kill -STOP $$"}, Dir: b.dir}, guard.IO{})
	check(err)
	rests := func(pid int) bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(stat), ") T ")
	}
	// the builder's supervisor; supervisor, service, sh, sleep; supervisor, service; supervisor, sh,
	// sleep; supervisor, sh
	for len(guard.Descendants(os.Getpid())) < 12 || !rests(stopped.PID) || !rests(paused.PID) {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range guard.Descendants(os.Getpid()) {
		fmt.Println("pid", pid)
	}
	for _, path := range []string{b.dir, filepath.Dir(p.Socket), filepath.Dir(paused.Socket), data} {
		fmt.Println("path", path)
	}
	fmt.Println("ready")
	select {}
}

// After a kill -9 of dyno no process and no temporary file of ours is left.
func TestKilled(t *testing.T) {
	repo := tree(t, "go.mod", goMod, "main.go", helloMain)
	run(t, repo, "git", "init", "-q")
	run(t, repo, "git", "add", ".")
	run(t, repo, "git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "one")

	cmd := exec.Command(must(t, os.Executable))
	cmd.Env = append(os.Environ(), "DYNO_TEST_VICTIM="+t.TempDir(), "DYNO_TEST_REPO="+repo)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	var paths []string
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "pid %d", &pid); err == nil {
			pids = append(pids, pid)
		} else if path, ok := strings.CutPrefix(lines.Text(), "path "); ok {
			paths = append(paths, path)
		} else {
			t.Error(lines.Text())
		}
	}
	missing := slices.ContainsFunc(paths, func(path string) bool { return !exists(path) })
	if len(pids) < 12 || len(paths) != 4 || missing {
		t.Errorf("processes %v, paths %v: want more to clean up", pids, paths)
	}
	if list := run(t, repo, "git", "worktree", "list"); !strings.Contains(list, "\n") {
		t.Error("no worktree to clean up")
	}
	cmd.Process.Kill()
	cmd.Wait()

	deadline := time.Now().Add(time.Minute)
	left := func() (list []string) {
		for _, pid := range pids {
			if !gone(pid) {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				list = append(list, fmt.Sprintf("process %d %q", pid, name))
			}
		}
		for _, path := range paths {
			if exists(path) {
				list = append(list, path)
			}
		}
		if list2 := run(t, repo, "git", "worktree", "list"); strings.Contains(list2, "\n") {
			list = append(list, list2)
		}
		return list
	}
	for len(left()) > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if l := left(); len(l) > 0 {
		t.Errorf("left after kill -9: %v", l)
	}
}

// If only the supervisor of a builder is killed, builds stay, and Close removes them all the same.
func TestBuilderWithoutGuard(t *testing.T) {
	before := guard.Descendants(os.Getpid())
	b, err := NewBuilder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range guard.Descendants(os.Getpid()) {
		if !slices.Contains(before, pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if <-b.guard.Done; b.guard.Broken == "" || !exists(b.dir) {
		t.Errorf("it %q; the builds are there: %t", b.guard.Broken, exists(b.dir))
	}
	if err := b.Close(); err != nil || exists(b.dir) {
		t.Errorf("%v; the builds are left: %t", err, exists(b.dir))
	}
}
