package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/cgroup"
)

func TestMain(m *testing.M) {
	Main()
	stoppedLook = 10 * time.Millisecond
	if dir := os.Getenv("DYNO_TEST_GUARD_VICTIM"); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

// machine is a tree that stands for /proc and /sys/fs/cgroup: of the process's
// groups and mounts, in which $ROOT is the tree's directory. The kernel fills a new
// group with files; here the test does.
func machine(t *testing.T, groups, mounts string, files ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	files = append(files, "proc/1/cgroup", groups, "proc/1/mountinfo", strings.ReplaceAll(mounts, "$ROOT", root))
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("1", filepath.Join(root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	return root
}

const unifiedMount = "30 23 0:26 / $ROOT/cg rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

// Where no group can be made it says where it was tried, and how it can be.
func TestNoGroup(t *testing.T) {
	for name, c := range map[string]struct {
		groups, mounts string
		files, want    []string
	}{
		"no mount": {"0::/\n", "20 1 0:1 / / rw - ext4 /dev/sda rw\n", nil, []string{"no control groups with the controllers memory and cpu are mounted"}},
		"no controller": {"0::/a\n", unifiedMount, []string{
			"cg/a/cgroup.procs", "1\n", "cg/cgroup.procs", "",
		}, []string{"no group allows groups with the controllers memory below it", "cg/a: no such file", "cg: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := machine(t, c.groups, c.mounts, c.files...)
			_, err := makeGroup(&Confinement{Limits: cgroup.Limits{Memory: 64 << 20}, Name: "memory=64MiB", Proc: filepath.Join(root, "proc")}, nil, ledger{})
			wantError(t, err, append(c.want, "cannot set the limit memory=64MiB", "systemd-run is not installed", "(consider: run dyno as root")...)
			if left, _ := filepath.Glob(filepath.Join(root, "cg/*/dyno-*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// systemd is asked where no directory can be made; it must have set the limits.
func TestScope(t *testing.T) {
	root := machine(t, "0::/\n", "20 1 0:1 / / rw - ext4 /dev/sda rw\n",
		"systemd-run", "#!/bin/sh\necho \"$@\" >>$HOME/asked\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n",
		"broken", "#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n")
	ask := func(name string) error {
		tree, err := Start(Job{
			Path: "/bin/true", Args: []string{"true"}, Dir: "/", Env: []string{"HOME=" + root, "PATH=" + os.Getenv("PATH")},
			Confine: &Confinement{cgroup.Limits{CPU: 0.5, Memory: 64 << 20}, "cpu=0.5,memory=64MiB", filepath.Join(root, "proc"), filepath.Join(root, name)},
		}, IO{})
		if err == nil {
			tree.Stop(0)
		}
		return err
	}
	// Nobody has limited anything, as where systemd lacks the controllers.
	err := ask("systemd-run")
	if err == nil || !strings.Contains(err.Error(), "systemd-run --user --scope: its scope has no") && !strings.Contains(err.Error(), "control groups of version 2 are missing") {
		t.Errorf("error %v", err)
	}
	asked, _ := os.ReadFile(filepath.Join(root, "asked"))
	if want := "--user --scope --quiet --collect -p MemoryMax=67108864 -p MemorySwapMax=0 -p CPUQuota=50.00% -- /proc/"; !strings.HasPrefix(string(asked), want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	wantError(t, ask("broken"), "cannot set the limit cpu=0.5,memory=64MiB", "Failed to connect to bus")
}

// The launcher becomes the program: the same process, its environment, its output
// write by write, its mistakes as without.
func TestLauncher(t *testing.T) {
	root := machine(t, "0::/\n", unifiedMount, "cg/cgroup.subtree_control", "cpu memory\n", "cg/cgroup.procs", "1\n")
	free := &Confinement{Proc: filepath.Join(root, "proc")}
	var out strings.Builder
	tree, err := Start(Job{
		Path: "/bin/sh", Args: []string{"sh", "-c", "echo $$ $X; echo two"}, Dir: "/", Env: []string{"X=1", "GODEBUG=gctrace=1"},
		Confine: free,
	}, IO{Stdout: &out, Stderr: &out})
	if err == nil { // the tree is no control group: nobody made the file that is joined
		<-tree.Done
		t.Fatalf("it ran outside of its group: %s", &out)
	}
	wantError(t, err, "join the control group "+root+"/cg/dyno-", "no such file")
	if left, _ := filepath.Glob(filepath.Join(root, "cg/dyno-*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}

	none := &cgroup.Group{}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	if _, err := startInside(none, &Job{Path: "/nosuch/file", Args: []string{"file"}, Dir: "/"}, files); err == nil || err.Error() != "/nosuch/file: no such file or directory" {
		t.Errorf("error %v", err)
	}
	if err := tryGroup(none, nil, nil); err != nil {
		t.Error(err)
	}
}

func wantError(t testing.TB, err error, wants ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q; want it to have %q", err, want)
		}
	}
}

// state is the letter of a process's state, such as T for one that is stopped; 0 if it is gone.
func state(pid int) byte {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := strings.LastIndex(string(stat), ") "); i > 0 {
		return stat[i+2]
	}
	return 0
}

// await waits until a condition holds, a minute at most.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("it is not so after a minute: %s", what)
		}
	}
}

// startShell runs a script and returns when it has written its first line.
func startShell(t *testing.T, script string) *Tree {
	t.Helper()
	ready := make(chan struct{})
	tree, err := Start(Job{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: "/", Env: os.Environ()},
		IO{Stdout: writerFunc(func(b []byte) { close(ready) })})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Stop(0) })
	<-ready
	return tree
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// A paused program and its children rest, and its supervisor does not take them for dead.
func TestPause(t *testing.T) {
	tree := startShell(t, "sleep 1000 & echo; wait")
	family := append(Descendants(tree.PID), tree.PID)
	if len(family) != 2 {
		t.Fatalf("processes %v, want two", family)
	}
	paused := func() (n int) {
		for _, pid := range family {
			if state(pid) == 'T' {
				n++
			}
		}
		return n
	}
	for range 3 {
		if err := tree.Pause(); err != nil {
			t.Fatal(err)
		}
		await(t, "both are paused", func() bool { return paused() == 2 })
		if err := tree.Continue(); err != nil {
			t.Fatal(err)
		}
		await(t, "none is paused", func() bool { return paused() == 0 })
	}
	select {
	case <-tree.Done:
		t.Fatalf("it ended: %s", tree.Status)
	default:
	}
	tree.Pause()
	tree.Stop(0)
	if tree.Alone || tree.Status != "signal: killed" {
		t.Errorf("ended by %q, alone %t", tree.Status, tree.Alone)
	}
	for _, pid := range family {
		if s := state(pid); s != 0 && s != 'Z' {
			t.Errorf("process %d is left in state %c", pid, s)
		}
	}
	if err := tree.Pause(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("pause after the end: error %v", err)
	}
	if err := tree.Continue(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("continue after the end: error %v", err)
	}
	none, err := Start(Job{}, IO{})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Stop(0)
	if err := none.Pause(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("pause of a tree without a program: error %v", err)
	}
}

// A paused program gets SIGTERM, and ends by it rather than by SIGKILL after its time of grace.
func TestStopPaused(t *testing.T) {
	// The shell starts no program: stopped between vfork and exec, it would wait for its child in state D.
	tree := startShell(t, "trap 'exit 7' TERM; echo; while :; do :; done")
	tree.Pause()
	await(t, "it is paused", func() bool { return state(tree.PID) == 'T' })
	if tree.Stop(time.Minute); tree.Status != "exit status 7" || tree.Alone {
		t.Errorf("ended by %q, alone %t", tree.Status, tree.Alone)
	}
}

// Directories that the program made unwritable are removed as well. Root may write to them all the
// same, so this is a test for other users.
func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scratch")
	tree, err := Start(Job{
		Path: "/bin/sh", Args: []string{"sh", "-c", "mkdir -p a/b && echo x >a/b/c && chmod 0 a/b && chmod 500 a"},
		Dir: dir, Env: os.Environ(), Scratch: []string{dir},
	}, IO{})
	if err != nil {
		t.Fatal(err)
	}
	if <-tree.Done; tree.Status != StatusOK {
		t.Fatal(tree.Status)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
}

func BenchmarkPause(b *testing.B) {
	tree, err := Start(Job{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Dir: "/"}, IO{})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Stop(0)
	for b.Loop() {
		tree.Pause()
		tree.Continue()
	}
}

// A program that is to quit gets its signal before all are killed, and what it has started gets time to end by itself.
func TestQuit(t *testing.T) {
	dir := t.TempDir()
	fifo, bye := filepath.Join(dir, "fifo"), filepath.Join(dir, "bye")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	// The child ends when the program, which has the other end of the pipe, does.
	script := `(read x <"$0"; sleep 0.1; echo >"$1") & exec 3>"$0"; trap 'exit 7' QUIT; echo; while :; do sleep 0.01 3>&-; done`
	tree, err := Start(Job{
		Path: "/bin/sh", Args: []string{"sh", "-c", script, fifo, bye}, Dir: "/", Env: os.Environ(), Quit: syscall.SIGQUIT,
	}, IO{Stdout: writerFunc(func([]byte) { close(begun) })})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if tree.Stop(0); tree.Status != "exit status 7" || tree.Alone {
		t.Errorf("ended by %q, alone %t", tree.Status, tree.Alone)
	}
	if _, err := os.Stat(bye); err != nil {
		t.Errorf("the child was killed: %v", err)
	}
}

// The last command runs when all has ended, by itself or because it was stopped.
func TestLast(t *testing.T) {
	for _, script := range []string{"exit 3", "sleep 1000"} {
		flag := filepath.Join(t.TempDir(), "flag")
		tree, err := Start(Job{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: "/", Env: os.Environ(), Last: []string{"/bin/sh", "-c", "echo >" + flag}}, IO{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(script, "exit") {
			<-tree.Done
		}
		tree.Stop(0)
		if _, err := os.Stat(flag); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}
