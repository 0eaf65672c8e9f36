package guard

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// victim is a dyno in little: a program with a directory and a child that has left its session, and
// a tree without a program that has a worktree to remove, with git's entry. It waits to be killed.
func victim(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	ready := make(chan struct{})
	_, err := Start(Job{
		Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 1000 & echo; wait"}, Dir: "/", Env: os.Environ(), Scratch: []string{at("scratch")},
	}, IO{Stdout: writerFunc(func(b []byte) { close(ready) })})
	check(err)
	<-ready
	keeper, err := Start(Job{}, IO{})
	check(err)
	for _, name := range []string{"tree/sub", "entry", "replaced", "others"} {
		check(os.MkdirAll(at(name), 0o700))
	}
	keeper.RemoveInEnd(at("tree"), at("entry"))
	keeper.RemoveInEnd(at("replaced"), at("others"))
	for noted := 0; noted < 3; time.Sleep(time.Millisecond) { // orders are obeyed when they come
		noted = 0
		files, _ := filepath.Glob(at("*" + ledgerSuffix))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			noted += strings.Count(string(text), "\n")
		}
	}
	// Another has made a directory of that name since.
	check(os.Rename(at("replaced"), at("replaced-before")))
	check(os.Mkdir(at("replaced"), 0o700))
	for _, pid := range Descendants(os.Getpid()) {
		fmt.Println("pid", pid)
	}
	fmt.Println("ready")
	select {}
}

// After a dyno was killed with all its guards, as by the kernel for want of memory in their control
// group, the next one collects what is left: not what is another's, and not of one that lives.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	live := startShell(t, "echo; exec sleep 1000")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "DYNO_TEST_GUARD_VICTIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "pid %d", &pid); err != nil {
			t.Error(lines.Text())
		}
		pids = append(pids, pid)
	}
	if len(pids) != 4 { // two supervisors, sh, sleep
		t.Errorf("processes %v", pids)
	}
	sleeps := func(pid int) bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return string(name) == "sleep\n"
	}
	await(t, "the shell has become sleep", func() bool { return slices.ContainsFunc(pids, sleeps) })
	sleeper := 0
	all := append([]int{cmd.Process.Pid}, pids...)
	for _, pid := range all {
		unix.Kill(pid, unix.SIGSTOP) // or one of them cleans up when another is dead
	}
	for _, pid := range all {
		if sleeps(pid) {
			sleeper = pid // whom the kernel would not kill with the others, if it were in another group
			unix.Kill(pid, unix.SIGCONT)
			continue
		}
		unix.Kill(pid, unix.SIGKILL)
	}
	cmd.Wait()
	if _, err := os.Stat(filepath.Join(dir, "scratch")); err != nil || sleeper == 0 {
		t.Fatalf("nothing is left to collect: %v", err)
	}
	gone := func(pid int) bool { s := state(pid); return s == 0 || s == 'Z' }
	for _, pid := range pids {
		await(t, "the guards are dead", func() bool { return pid == sleeper || gone(pid) })
	}

	var collecting sync.WaitGroup
	for range 4 {
		collecting.Go(Collect)
	}
	collecting.Wait()
	await(t, "the process that left its session is dead", func() bool {
		Collect() // a guard that is a zombie holds its lock until its last thread has ended
		return gone(sleeper)
	})
	left, _ := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		if !strings.HasSuffix(e.Name(), ledgerSuffix) {
			names = append(names, e.Name())
		}
	}
	if got := strings.Join(names, " "); got != "others replaced replaced-before" {
		t.Errorf("left: %s", got)
	}
	if ledgers := len(left) - len(names); ledgers != 1 || gone(live.PID) {
		t.Errorf("%d ledgers; the one that lives is in state %c", ledgers, state(live.PID))
	}
	live.Stop(0)
	if files, _ := filepath.Glob(filepath.Join(dir, "*"+ledgerSuffix)); len(files) > 0 {
		t.Errorf("left: %q", files)
	}
}

// A supervisor that was killed or stopped is noticed, and nothing that was its own is left.
func TestSupervisorLost(t *testing.T) {
	for signal, want := range map[unix.Signal]string{unix.SIGKILL: "ended: signal: killed", unix.SIGSTOP: "was stopped from outside"} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "scratch")
			ready := make(chan struct{})
			tree, err := Start(Job{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 1000 & echo; wait"}, Dir: "/", Env: os.Environ(), Scratch: []string{dir}},
				IO{Stdout: writerFunc(func(b []byte) { close(ready) })})
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Stop(0)
			<-ready
			family := Descendants(tree.PID)
			unix.Kill(tree.supervisor.Pid, signal)
			select {
			case <-tree.Done:
			case <-time.After(time.Minute):
				t.Fatal("it is not noticed")
			}
			if !strings.HasPrefix(tree.Broken, want) || !tree.Alone {
				t.Errorf("it %q, alone %t", tree.Broken, tree.Alone)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("its directory is left")
			}
			for _, pid := range append(family, tree.PID) {
				if s := state(pid); s != 0 && s != 'Z' {
					t.Errorf("process %d is left in state %c", pid, s)
				}
			}
		})
	}
}
