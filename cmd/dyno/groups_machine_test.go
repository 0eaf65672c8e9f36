//go:build machine && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// A place is a control group that a test has made for dyno to be in: one directory, or in version 1 one for each controller.
type place struct{ dirs []string }

// placeOf makes a group with one below it, in which processes are: in version 2 a group has either processes or controllers for groups
// below. It is gone after the test.
func placeOf(t *testing.T, name string) *place {
	t.Helper()
	const root = "/sys/fs/cgroup"
	p := &place{}
	parents := []string{root}
	if _, err := os.Stat(root + "/cgroup.controllers"); err == nil {
		if err := os.WriteFile(root+"/cgroup.subtree_control", []byte("+cpu +memory"), 0); err != nil {
			t.Fatal(err)
		}
	} else if parents, err = filepath.Glob(root + "/[cm][pe][um]*"); err != nil { // cpu, cpuacct, memory; cpuset wants more than a directory
		t.Fatal(err)
	}
	for _, parent := range parents {
		if strings.Contains(parent, "cpuset") {
			continue
		}
		if real, err := filepath.EvalSymlinks(parent); err != nil || real != parent { // cpu may be a link to cpu,cpuacct
			continue
		}
		p.dirs = append(p.dirs, filepath.Join(parent, name))
	}
	for _, dir := range p.dirs {
		if err := os.MkdirAll(filepath.Join(dir, "session"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, d := range []string{filepath.Join(dir, "session"), dir} {
				if err := os.Remove(d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	return p
}

// offer gives the group below a place the controllers: in version 1 it has them.
func (p *place) offer() {
	for _, d := range p.dirs {
		os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte("+cpu +memory"), 0)
	}
}

// within is a command of the shell that moves itself to the place's group name, and becomes command.
func (p *place) within(name, command string) string {
	var script strings.Builder
	for _, dir := range p.dirs {
		fmt.Fprintf(&script, "echo 0 >%s || exit 9; ", filepath.Join(dir, name, "cgroup.procs"))
	}
	return script.String() + "exec " + command
}

// forAll is a directory that everybody may enter, with dyno and a subject.
func forAll(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "groups")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dyno, err := exec.LookPath("dyno")
	if err != nil {
		t.Fatal(err)
	}
	svc := built("hello")
	if svc == "" {
		svc = filepath.Join(t.TempDir(), "hello")
		if text, err := exec.Command("go", "build", "-o", svc, "./testdata/hello").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	for name, from := range map[string]string{"dyno": dyno, "hello": svc} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// limited is a short run with a limit in dir.
func limited(dir string) string {
	return fmt.Sprintf("%[1]s/dyno run %[1]s/hello --limit cpu=0.5,memory=64MiB --vary X=1,2 --repeat 2 -d 300ms -w 0s --out %[1]s/run", dir)
}

func shell(dir, script string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	return cmd
}

// accounted fails the test if the run in dir has not n trials, each with the account of a group.
func accounted(t *testing.T, dir string, n int, text []byte, err error) {
	t.Helper()
	data, _ := os.ReadFile(filepath.Join(dir, "run/results.jsonl"))
	if got := strings.Count(string(data), "cgroup-peak-B"); err != nil || got != n {
		t.Errorf("%v: %d trials with a group's memory, want %d\n%s\n%s", err, got, n, text, data)
	}
	noGroups(t)
}

// Who owns a subtree, and is in a leaf of it, needs no other right to set limits.
func TestMachineDelegated(t *testing.T) {
	dir := forAll(t)
	p := placeOf(t, "delegated")
	p.offer()
	for _, d := range p.dirs {
		for _, own := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "session", "session/cgroup.procs", "session/cgroup.threads"} {
			if err := os.Chown(filepath.Join(d, own), nobody, nobody); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	text, err := shell(dir, p.within("session", "su -s /bin/sh nobody -c '"+limited(dir)+"'")).CombinedOutput()
	accounted(t, dir, 4, text, err)
}

// In a container whose groups cannot be written, a limit is refused before anything is measured, and without one all goes well.
func TestMachineReadOnly(t *testing.T) {
	dir := forAll(t)
	inside := func(command string) ([]byte, error) {
		cmd := shell(dir, "for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,ro $d 2>/dev/null; done; exec "+command)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return cmd.CombinedOutput()
	}
	text, err := inside(limited(dir))
	for _, want := range []string{"cannot set the limit cpu=0.5,memory=64MiB", "read-only file system", "(consider: "} {
		if err == nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, no %q in\n%s", err, want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("something was measured")
	}
	text, err = inside(strings.Replace(limited(dir), "--limit cpu=0.5,memory=64MiB", "", 1))
	if data, _ := os.ReadFile(filepath.Join(dir, "run/results.jsonl")); err != nil || strings.Count(string(data), "rss-peak-B") != 4 {
		t.Errorf("%v\n%s\n%s", err, text, data)
	}
}

// In a container that has its own group as the root of all, a limit is set where dyno is not itself in the way.
func TestMachineContainer(t *testing.T) {
	dir := forAll(t)
	p := placeOf(t, "container")
	p.offer()
	mounts := "mount --make-rprivate / && "
	if len(p.dirs) == 1 {
		mounts += "umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && "
	} else {
		for _, d := range p.dirs {
			at := filepath.Dir(d)
			mounts += fmt.Sprintf("umount -l %s && mount -t cgroup -o %s c %[1]s && ", at, filepath.Base(at))
		}
	}
	in := func(move string) ([]byte, error) {
		// The new namespace has the group of who makes it for its root: this process goes there and back.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		enter := func(name string) {
			for _, d := range p.dirs {
				if err := os.WriteFile(filepath.Join(d, name, "cgroup.procs"), []byte("0"), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		home := where(t, p)
		enter("session")
		cmd := shell(dir, mounts+move+"exec "+limited(dir))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | 0x02000000} // CLONE_NEWCGROUP
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Start()
		for file := range home {
			if err := os.WriteFile(file, []byte("0"), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			err = cmd.Wait()
		}
		return []byte(out.String()), err
	}
	text, err := in("")
	if len(p.dirs) == 1 { // version 2: its only group has processes
		const cure = "mkdir /sys/fs/cgroup/own && for p in $(cat /sys/fs/cgroup/cgroup.procs); do echo $p >/sys/fs/cgroup/own/cgroup.procs 2>/dev/null; done"
		for _, want := range []string{"cannot set the limit", "busy", "(consider: " + cure + ")"} {
			if err == nil || !strings.Contains(string(text), want) {
				t.Errorf("%v, no %q in\n%s", err, want, text)
			}
		}
		text, err = in(cure + "; ")
		defer os.Remove(filepath.Join(p.dirs[0], "session/own"))
	}
	accounted(t, dir, 4, text, err)
}

// where is the file to write to for being again where this process is, in each hierarchy of a place.
func where(t *testing.T, p *place) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, d := range p.dirs {
			mount := filepath.Dir(d)
			if parts[1] == filepath.Base(mount) || parts[1] == "" && len(p.dirs) == 1 {
				files[filepath.Join(mount, parts[2], "cgroup.procs")] = true
			}
		}
	}
	if len(files) != len(p.dirs) {
		t.Fatalf("%q names not the groups of %q", text, p.dirs)
	}
	return files
}

// A user of systemd sets limits without being root: from a group of the system, by a scope that systemd makes, and from a
// scope of their own, by the groups that are theirs there. Runs in eval/cgroups, as the user with the number 1000.
func TestUserOfSystemd(t *testing.T) {
	const bus = "XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus "
	for name, before := range map[string]string{
		"from a group of the system": "",
		"from a scope of their own":  "systemd-run --user --scope --quiet --collect ",
	} {
		t.Run(name, func(t *testing.T) {
			dir := forAll(t)
			text, err := shell(dir, "su user -c '"+bus+before+limited(dir)+"'").CombinedOutput()
			accounted(t, dir, 4, text, err)
			if data, _ := os.ReadFile(filepath.Join(dir, "run/results.jsonl")); strings.Count(string(data), `"throttled-frac"`) != 4 {
				t.Errorf("no CPU limit was accounted:\n%s", data)
			}
		})
	}
}
