package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno/cgroup"
)

func TestMain(m *testing.M) {
	Main()
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
		}, []string{"no group can have groups with the controllers memory below it", "cg/a: no such file", "cg: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := machine(t, c.groups, c.mounts, c.files...)
			_, err := makeGroup(&Confinement{Limits: cgroup.Limits{Memory: 64 << 20}, Name: "memory=64MiB", Proc: filepath.Join(root, "proc")}, nil)
			wantError(t, err, append(c.want, "cannot set the limit memory=64MiB", "there is no systemd-run", "(consider: run dyno as root")...)
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
	if err == nil || !strings.Contains(err.Error(), "systemd-run --user --scope: the scope that it made has no") && !strings.Contains(err.Error(), "no control groups of version 2") {
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
