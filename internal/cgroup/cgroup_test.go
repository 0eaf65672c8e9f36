//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a tree that stands for /proc and /sys/fs/cgroup: of the process's
// groups and mounts, in which $ROOT is the tree's directory. The kernel fills a new
// group with files; here the test does.
func machine(t testing.TB, groups, mounts string, files ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	writeFiles(t, root, append(files, "proc/1/cgroup", groups)...)
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

func writeFiles(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMake(t *testing.T) {
	both := Limits{CPU: 0.5, Memory: 64 << 20}
	for _, c := range []struct {
		name           string
		groups, mounts string
		files          []string // of the tree, name and text in turn
		limits         Limits
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
			name: "a container of version 1 sees its own group as the mount", limits: Limits{Memory: 1 << 30},
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
			name: "what is idle, in version 2", mounts: unifiedMount, limits: Limits{Idle: true}, groups: "0::/\n",
			files:  []string{"cg/cgroup.subtree_control", "cpu memory\n", "cg/cgroup.procs", "1\n"},
			kernel: []string{"cpu.idle"},
			want:   map[string]string{"cg/*/cpu.idle": "1"},
		},
		{
			name: "what is idle, in version 1", limits: Limits{Idle: true}, groups: "3:cpu:/\n",
			mounts: "32 30 0:29 / $ROOT/c rw - cgroup cgroup rw,cpu\n",
			files:  []string{"c/cgroup.procs", "1\n"},
			kernel: []string{"cpu.idle"},
			want:   map[string]string{"c/*/cpu.idle": "1"},
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
			group, err := Make(filepath.Join(root, "proc"), "dyno-x", c.limits, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range group.dirs {
				for _, file := range c.kernel {
					writeFiles(t, dir, file, "")
				}
			}
			if err := group.SetLimits(); err != nil {
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

// A group of its own is one that this process is not in, and not the root of all.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		name, of, ours string
		want           bool
	}{
		{"the same, v2", "0::/user.slice\n", "0::/user.slice\n", false},
		{"a container, v2", "0::/system.slice/docker-1.scope\n", "0::/user.slice\n", true},
		{"the root", "0::/\n", "0::/user.slice\n", false},
		{"a container, v1", "5:pids:/x\n4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/\n", "5:pids:/\n4:memory:/\n2:cpu,cpuacct:/\n0::/\n", true},
		{"only of pids", "5:pids:/x\n4:memory:/\n", "5:pids:/\n4:memory:/\n", false},
		{"a path with colons", "0::/a:b\n", "0::/a:b\n", false},
		{"none", "", "0::/user.slice\n", false},
	} {
		root := machine(t, c.ours, "", "proc/7/cgroup", c.of)
		if got := Apart(filepath.Join(root, "proc"), 7); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
