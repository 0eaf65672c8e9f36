package kernel

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// groupTree is a tree that stands for /proc and for the mounted groups of version 1
// or 2, as a Linux of that kind shows them.
func groupTree(t *testing.T, v2 bool) (proc string, set func(file, text string)) {
	t.Helper()
	root := t.TempDir()
	set = func(file, text string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mounts, groups := "33 30 0:30 / $ROOT/memory rw shared:8 - cgroup cgroup rw,memory\n34 30 0:31 / $ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 30 0:31 / $ROOT/unified rw - cgroup2 cgroup2 rw\n",
		"5:memory:/a/dyno-x\n4:cpu,cpuacct:/dyno-x\n0::/\n"
	if v2 {
		mounts, groups = "34 30 0:31 / $ROOT rw - cgroup2 cgroup2 rw\n", "0::/dyno-x\n"
	}
	set("proc/7/cgroup", groups)
	set("proc/7/statm", "100 50 20 1 0 30 0\n")
	set("proc/1/mountinfo", strings.ReplaceAll(mounts, "$ROOT", root))
	if err := os.Symlink("1", filepath.Join(root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "proc"), set
}

func TestCgroup(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		proc, set := groupTree(t, v2)
		state := func(bytes, kills, periods, throttled, us, stall string) {
			if !v2 {
				set("memory/a/dyno-x/memory.usage_in_bytes", bytes+"\n")
				set("memory/a/dyno-x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill "+kills+"\n")
				set("cpu/dyno-x/cpu.stat", "nr_periods "+periods+"\nnr_throttled "+throttled+"\nthrottled_time "+us+"000\nnr_bursts 0\nburst_time 0\n")
				return
			}
			set("dyno-x/memory.current", bytes+"\n")
			set("dyno-x/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill "+kills+"\noom_group_kill 0\n")
			set("dyno-x/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods "+periods+"\nnr_throttled "+throttled+"\nthrottled_usec "+us+"\n")
			for _, file := range []string{"cpu.pressure", "memory.pressure"} {
				set("dyno-x/"+file, "some avg10=1.00 avg60=0.00 avg300=0.00 total="+stall+"\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
			}
		}
		peak := func(bytes string) {
			file := "memory/a/dyno-x/memory.max_usage_in_bytes"
			if v2 {
				file = "dyno-x/memory.peak"
			}
			set(file, bytes+"\n")
		}
		state("1000", "1", "10", "5", "700000", "100000")
		peak("9999")
		w, err := openGroups(proc, 7, false)
		if err != nil {
			t.Fatal(err)
		}
		defer w.account.Close()
		step := func(f func(time.Duration) error, at time.Duration) {
			t.Helper()
			if err := f(at); err != nil {
				t.Fatal(err)
			}
		}
		step(w.sample, 0)
		state("5000", "1", "15", "8", "900000", "300000")
		step(w.fine, time.Second/2)
		state("3000", "1", "20", "12", "1700000", "600000")
		step(w.sample, time.Second)
		peak("6000") // since it was reset
		want := map[string]float64{"cgroup-peak-B": 6000, "oom-kills": 0, "throttled-frac": 0.7, "throttled-sec": 1}
		if v2 {
			want["memory-stall-frac"], want["cpu-stall-frac"] = 0.5, 0.5
		}
		r := w.reading(false)
		for name, v := range want {
			if got, ok := r.Values.Get(name); !ok || got != v {
				t.Errorf("version 2 %t: %s is %v, want %v", v2, name, got, v)
			}
		}
		if len(r.Values) != len(want) || len(r.Warnings) > 0 {
			t.Errorf("version 2 %t: %v %q", v2, r.Values, r.Warnings)
		}

		// A child is killed, and then the process itself: what was seen is kept, to
		// the last sample, and not what it has left to give back.
		state("8000", "2", "20", "12", "1700000", "600000")
		step(w.fine, 1100*time.Millisecond)
		if r := w.reading(false); len(r.Warnings) != 0 {
			t.Errorf("a warning of what was not sampled: %q", r.Warnings)
		}
		set("proc/7/statm", "0 0 0 0 0 0 0\n")
		state("10", "3", "20", "12", "1700000", "600000")
		if err := w.fine(1200 * time.Millisecond); err == nil {
			t.Error("a process without memory is taken for alive")
		}
		r = w.reading(true)
		if kills, _ := r.Values.Get("oom-kills"); kills != 2 {
			t.Errorf("version 2 %t: %v kills", v2, kills)
		}
		for _, s := range r.Series {
			if n := len(s.Value); s.Metric == "cgroup-memory-B" && (n != 3 || s.Value[2] != 8000) {
				t.Errorf("version 2 %t: memory %v", v2, s.Value)
			}
		}
	}
}

// A process that does not exist cannot be watched, nor a group without files.
func TestCgroupMissing(t *testing.T) {
	proc, _ := groupTree(t, true)
	if _, err := openGroups(proc, 8, false); err == nil {
		t.Error("a process that is not there has control groups")
	}
	if _, err := openGroups(proc, 7, false); err == nil {
		t.Error("a group without files is watched")
	}
}

// Whatever a group lacks, its files are closed.
func TestCgroupCloses(t *testing.T) {
	debug.SetGCPercent(-1) // a collection would close unused files
	defer debug.SetGCPercent(100)
	proc, set := groupTree(t, true)
	set("dyno-x/memory.events", "oom_kill 0\n")
	before := descriptors(t)
	if _, err := openGroups(proc, 7, false); err == nil {
		t.Error("a group is watched of which neither memory nor CPU time is accounted")
	}
	set("dyno-x/memory.current", "1000\n")
	set("dyno-x/memory.pressure", "")
	set("dyno-x/cpu.pressure", "")
	w, err := openGroups(proc, 7, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.sample(0); err != nil || w.account.MemoryPressure != nil {
		t.Errorf("pressure that is switched off: %v, %v", err, w.account.MemoryPressure)
	}
	w.account.Close()
	if after := descriptors(t); after != before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
