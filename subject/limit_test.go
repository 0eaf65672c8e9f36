//go:build linux

package subject

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// machine is a tree that stands for /proc and /sys/fs/cgroup: of the process's
// groups and mounts, in which $ROOT is the tree's directory. The kernel fills a new
// group with files; here the test does.
func machine(t *testing.T, groups, mounts string, files ...string) (root string) {
	t.Helper()
	root = tree(t, append(files, "proc/1/cgroup", groups)...)
	writeFiles(t, root, "proc/1/mountinfo", strings.ReplaceAll(mounts, "$ROOT", root))
	if err := os.Symlink("1", filepath.Join(root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	return root
}

const (
	unifiedMount = "30 23 0:26 / $ROOT/cg rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	hybridMounts = "33 30 0:30 / $ROOT/cg/memory rw shared:8 - cgroup cgroup rw,memory\n" +
		"34 30 0:31 / $ROOT/cg/unified rw shared:9 - cgroup2 cgroup2 rw\n"
)

func TestCage(t *testing.T) {
	both := dyno.Limits{CPU: 0.5, Memory: 64 << 20}
	for _, c := range []struct {
		name           string
		groups, mounts string
		files          []string // of the tree, name and text in turn
		limits         dyno.Limits
		kernel         []string          // files that the kernel makes in each new group
		want           map[string]string // what is in them then, by directory above the group and file
		switched       string            // subtree_control that was written to, and what
	}{
		{
			name: "version 2, beside the group that this process is in", mounts: unifiedMount, limits: both,
			groups: "0::/user.slice/app.slice/run.scope\n",
			files: []string{
				"cg/user.slice/app.slice/cgroup.subtree_control", "cpu memory pids\n", "cg/user.slice/app.slice/cgroup.procs", "",
				"cg/user.slice/app.slice/run.scope/cgroup.subtree_control", "\n", "cg/user.slice/app.slice/run.scope/cgroup.procs", "1\n",
			},
			kernel: []string{"memory.max", "memory.swap.max", "cpu.max"},
			want: map[string]string{
				"cg/user.slice/app.slice/*/memory.max": "67108864", "cg/user.slice/app.slice/*/memory.swap.max": "0", "cg/user.slice/app.slice/*/cpu.max": "50000 100000",
			},
		},
		{
			name: "version 2, at the root, of which controllers are asked", mounts: unifiedMount, limits: both, groups: "0::/\n",
			files:    []string{"cg/cgroup.subtree_control", "\n", "cg/cgroup.procs", "1\n"},
			kernel:   []string{"memory.max", "cpu.max"},
			want:     map[string]string{"cg/*/memory.max": "67108864", "cg/*/cpu.max": "50000 100000"},
			switched: "cg/cgroup.subtree_control +cpu",
		},
		{
			name: "a container of version 1 sees its own group as the mount", limits: dyno.Limits{Memory: 1 << 30},
			groups: "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc\n",
			mounts: "31 30 0:30 /docker/abc $ROOT/m rw - cgroup cgroup rw,memory\n32 30 0:29 /docker/abc $ROOT/c rw - cgroup cgroup rw,cpu,cpuacct\n",
			files:  []string{"m/cgroup.procs", "1\n", "c/cgroup.procs", "1\n"},
			kernel: []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness"},
			want:   map[string]string{"m/*/memory.limit_in_bytes": "1073741824", "m/*/memory.memsw.limit_in_bytes": "1073741824", "m/*/memory.swappiness": "0", "c/*/memory.limit_in_bytes": ""},
		},
		{
			name: "a hybrid has memory in version 1 and the CPU in version 2", mounts: hybridMounts, limits: both,
			groups: "5:memory:/a/b\n0::/a/b\n",
			files: []string{
				"cg/memory/a/b/cgroup.procs", "1\n", "cg/unified/a/b/cgroup.procs", "1\n", "cg/unified/a/b/cgroup.subtree_control", "\n",
				"cg/unified/a/cgroup.procs", "", "cg/unified/a/cgroup.subtree_control", "cpu\n",
			},
			kernel: []string{"memory.limit_in_bytes", "cpu.max"},
			want:   map[string]string{"cg/memory/a/b/*/memory.limit_in_bytes": "67108864", "cg/unified/a/*/cpu.max": "50000 100000"},
		},
		{
			name: "without limits, it is there all the same", mounts: unifiedMount, groups: "0::/\n",
			files:  []string{"cg/cgroup.subtree_control", "cpu memory\n", "cg/cgroup.procs", "1\n"},
			kernel: []string{"memory.max"},
			want:   map[string]string{"cg/*/memory.max": ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := machine(t, c.groups, c.mounts, c.files...)
			cage := &cage{limits: c.limits}
			if err := cage.make(filepath.Join(root, "proc")); err != nil {
				t.Fatal(err)
			}
			for _, dir := range cage.dirs {
				for _, file := range c.kernel {
					writeFiles(t, dir, file, "")
				}
			}
			if err := cage.limit(); err != nil {
				t.Fatal(err)
			}
			for pattern, want := range c.want {
				files, _ := filepath.Glob(filepath.Join(root, strings.Replace(pattern, "*", "dyno-*", 1)))
				if len(files) != 1 {
					t.Errorf("%s: there are %q", pattern, files)
				} else if got, _ := os.ReadFile(files[0]); string(got) != want {
					t.Errorf("%s: %q, want %q", pattern, got, want)
				}
			}
			if file, want, _ := strings.Cut(c.switched, " "); file != "" {
				if got, _ := os.ReadFile(filepath.Join(root, file)); string(got) != want {
					t.Errorf("%s: %q, want %q", file, got, want)
				}
			}
		})
	}
}

// Where no group can be made it says where it was tried, and how it can be.
func TestNoCage(t *testing.T) {
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
			_, err := newCage(&confinement{Limits: dyno.Limits{Memory: 64 << 20}, Proc: filepath.Join(root, "proc")}, nil)
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
	for _, name := range []string{"systemd-run", "broken"} {
		if err := os.Chmod(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name string) error {
		g, err := launch(job{
			Path: "/bin/true", Args: []string{"true"}, Dir: "/", Env: []string{"HOME=" + root, "PATH=" + os.Getenv("PATH")},
			Confine: &confinement{dyno.Limits{CPU: 0.5, Memory: 64 << 20}, filepath.Join(root, "proc"), filepath.Join(root, name)},
		})
		if err == nil {
			g.stop(0)
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
	free := &confinement{Proc: filepath.Join(root, "proc")}
	var out strings.Builder
	g, err := launch(job{
		Path: "/bin/sh", Args: []string{"sh", "-c", "echo $$ $X; echo two"}, Dir: "/", Env: []string{"X=1", "GODEBUG=gctrace=1"},
		stdout: &out, stderr: &out, Confine: free,
	})
	if err == nil { // the tree is no control group: nobody made the file that is joined
		<-g.done
		t.Fatalf("it ran outside of its group: %s", &out)
	}
	wantError(t, err, "join the control group "+root+"/cg/dyno-", "no such file")
	if left, _ := filepath.Glob(filepath.Join(root, "cg/dyno-*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}

	c := &cage{} // of no group at all
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	if _, err := c.start(&job{Path: "/nosuch/file", Args: []string{"file"}, Dir: "/"}, files); err == nil || err.Error() != "/nosuch/file: no such file or directory" {
		t.Errorf("error %v", err)
	}
	if err := c.try(nil); err != nil {
		t.Error(err)
	}
}

func TestKilledForMemory(t *testing.T) {
	full := memoryEnd{Kills: 1, Reached: true, Limit: 64 << 20, Peak: 64 << 20}
	for _, c := range []struct {
		m      memoryEnd
		status string
		env    string
		want   string
	}{
		{memoryEnd{}, statusKilled, "", ""},
		{full, statusKilled, "GOGC=400", "the subject was killed by the kernel for want of memory: the control group reached its limit of 64 MiB (most: 64.0 MiB); GOMEMLIMIT is not set, GOGC=400 (consider: GOMEMLIMIT=57MiB, a higher limit)"},
		{full, statusKilled, "GOMEMLIMIT=1GiB", "GOMEMLIMIT=1GiB, GOGC is not set (consider: GOMEMLIMIT=57MiB, a higher limit)"},
		{full, statusKilled, "GOMEMLIMIT=50MiB", "(consider: a lower GOMEMLIMIT"},
		{full, "exit status 1", "", "subject ended: exit status 1, after the kernel killed a process of its control group for want of memory"},
		{memoryEnd{Kills: 1, Limit: 64 << 20, Peak: 3 << 20}, statusKilled, "", "the machine, or a control group above the subject's, had no more (most: 3.0 MiB)"},
	} {
		if got := c.m.killed(c.status, strings.Fields(c.env)); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v, %s: %s", c.m, c.env, got)
		}
	}
}

func TestLimitDoubts(t *testing.T) {
	b, _ := service(t, "") // go 1.22 in its go.mod
	for _, c := range []struct {
		limit dyno.CPUs
		env   string
		cpus  int
		want  string
	}{
		{0, "", 8, ""},
		{16, "", 8, "the CPU limit of 16 is above the 8 CPUs"},
		{2.5, "", 8, "GOMAXPROCS does not follow the CPU limit: the executable has containermaxprocs=0 in its DefaultGODEBUG, as where go.mod says go 1.24 or older (consider: go 1.25 in go.mod, GODEBUG=containermaxprocs=1, or GOMAXPROCS=3)"},
		{0.5, "", 2, "(consider: GOMAXPROCS=1)"},
		{7.5, "", 8, ""},
		{2.5, "GODEBUG=containermaxprocs=1", 8, ""},
		{2.5, "GODEBUG=containermaxprocs=0", 8, "GODEBUG has containermaxprocs=0"},
		{2.5, "GOMAXPROCS=3", 8, ""},
	} {
		got := strings.Join(limitDoubts(c.limit, b.Path, strings.Fields(c.env), c.cpus), "|")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v %s: %q, want %q", c.limit, c.env, got, c.want)
		}
	}
	if why, cures := unaware(&debug.BuildInfo{GoVersion: "go1.24.11"}, "containermaxprocs=1"); !strings.Contains(why, "built by go1.24.11") || cures != "Go 1.25, " {
		t.Errorf("%q %q", why, cures)
	}
	if why, _ := unaware(&debug.BuildInfo{GoVersion: "go1.26.0"}, ""); why != "" {
		t.Error(why)
	}
}
