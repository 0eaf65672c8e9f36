//go:build machine && linux

package cgroup

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is also the program in a group: it eats what DYNO_TEST_EATS says.
func TestMain(m *testing.M) {
	switch eats, n, _ := strings.Cut(os.Getenv("DYNO_TEST_EATS"), ":"); eats {
	case "memory":
		var size int
		fmt.Sscan(n, &size)
		held := make([]byte, size<<20)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		runtime.KeepAlive(held)
		os.Exit(0)
	case "cpu":
		var used unix.Rusage // 100 ms of CPU time: 10 or 20 periods under a limit, however busy the machine is
		for unix.Getrusage(unix.RUSAGE_SELF, &used) == nil && used.Utime.Nano()+used.Stime.Nano() < 1e8 {
		}
		os.Exit(0)
	case "sleep":
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// version is that of the hierarchy that a controller is in here.
func version(t *testing.T, controller string) int {
	t.Helper()
	all, err := hierarchies("/proc", 0)
	if err != nil {
		t.Fatal(err)
	}
	if with(controller, all).unified() {
		return 2
	}
	return 1
}

// group makes a group of the kernel with limits; it is removed after the test.
func group(t *testing.T, l Limits) *Group {
	t.Helper()
	g, err := Make("/proc", fmt.Sprintf("dyno-test-%d", os.Getpid()), l, func(string) {})
	if err == nil {
		t.Cleanup(func() {
			if err := g.Remove(); err != nil {
				t.Error(err)
			}
		})
		err = g.SetLimits()
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// eat runs a program in a group, which begins when it is in it, and calls then while it runs.
func eat(t *testing.T, g *Group, what string, then func(pid int)) error {
	t.Helper()
	// A shell moves itself into the group before it becomes the program.
	script := ""
	for _, file := range g.JoinFiles() {
		script += "echo 0 >" + file + " && "
	}
	cmd := exec.Command("/bin/sh", "-c", script+`exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), "DYNO_TEST_EATS="+what, "GOMAXPROCS=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if then != nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		running := func() bool { // while it is the shell, it may be in some of the groups only
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
			return err == nil && exe == self
		}
		for deadline := time.Now().Add(time.Minute); !running() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		then(cmd.Process.Pid)
	}
	return cmd.Wait()
}

// A program that wants more memory than its group may have is killed, and only then is the limit called the reason. The same events
// read the same in both versions.
func TestMachineMemory(t *testing.T) {
	for _, c := range []struct {
		name    string
		limit   int64 // MiB
		size    int   // MiB that the program wants
		kills   int64
		reached bool
	}{
		{"above the limit", 64, 200, 1, true},
		{"below the limit", 64, 20, 0, false},
		{"no limit", 0, 100, 0, false},
	} {
		g := group(t, Limits{Memory: c.limit << 20})
		err := eat(t, g, fmt.Sprintf("memory:%d", c.size), nil)
		m := g.MemoryEnd()
		t.Logf("version %d, %s: %d MiB of at most %d: kills %d, limit reached %v, peak %.1f MiB, ended: %v",
			version(t, memory), c.name, c.size, c.limit, m.Kills, m.Reached, float64(m.Peak)/(1<<20), err)
		least, most := int64(c.size)<<20, int64(c.size+30)<<20
		if c.reached {
			least, most = c.limit<<20*95/100, c.limit<<20+1<<16 // version 2 counts the page that was refused
		}
		if m.Kills != c.kills || m.Reached != c.reached || m.Limit != c.limit<<20 || m.Peak < least || m.Peak > most || (err != nil) != c.reached {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
		g.Remove()
	}
}

// A CPU limit stops a program that wants a whole CPU, and the account says how often and for how long.
func TestMachineCPU(t *testing.T) {
	for _, limit := range []float64{0, 0.05, 0.1} {
		g := group(t, Limits{CPU: limit})
		var a *Account
		cmd := eat(t, g, "cpu", func(pid int) {
			var err error
			if a, err = OpenAccount("/proc", pid, false); err != nil {
				t.Fatal(err)
			}
		})
		if cmd != nil {
			t.Fatal(cmd)
		}
		got, err := a.Throttling()
		waited, _ := a.CPUPressure.Stalled() // nil in version 1
		a.Close()
		if err != nil {
			t.Fatal(err)
		}
		ran := got.Periods * 0.1 // seconds of periods in which it got CPU time or was stopped
		frac := 0.0
		if got.Periods > 0 {
			frac = got.Throttled / got.Periods
		}
		t.Logf("version %d, limit of %v CPUs: %.0f of %.0f periods (%.0f %%) throttled, for %.2f s of %.2f s", version(t, cpu), limit, got.Throttled, got.Periods, 100*frac, got.Seconds, ran)
		if limit == 0 && got.Throttled != 0 || limit > 0 && (got.Periods < 5 || frac < 0.5 || got.Seconds < 0.3*(1-limit)*ran) {
			t.Errorf("limit %v: %+v", limit, got)
		}
		if limit > 0 && a.CPUPressure != nil {
			t.Logf("version %d, limit of %v CPUs: pressure says that it waited %.2f s", version(t, cpu), limit, waited)
			if waited < 0.3*(1-limit)*ran {
				t.Errorf("limit %v: it waited %v s of %v by its pressure", limit, waited, ran)
			}
		}
		if limit > 0 {
			for _, dir := range g.dirs {
				if q := quotaOf(dir); !math.IsInf(q, 1) && math.Abs(q-limit) > 0.001 {
					t.Errorf("limit %v reads %v", limit, q)
				}
			}
		}
		g.Remove()
	}
}

// The high-water mark of memory starts anew where the kernel can do that, and the account says whether it did.
func TestMachinePeakReset(t *testing.T) {
	g := group(t, Limits{})
	if err := eat(t, g, "memory:100", nil); err != nil {
		t.Fatal(err)
	}
	eat(t, g, "sleep", func(pid int) {
		defer syscall.Kill(pid, syscall.SIGKILL)
		a, err := OpenAccount("/proc", pid, true)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		peak, err := a.Peak.Number()
		t.Logf("version %d: after a program of 100 MiB, and a reset (possible: %v), the peak is %.1f MiB", version(t, memory), a.PeakReset, peak/(1<<20))
		if err != nil || a.PeakReset != (peak < 60<<20) || version(t, memory) == 1 && !a.PeakReset {
			t.Errorf("peak %v, reset %v, %v", peak, a.PeakReset, err)
		}
	})
}

// A group that is removed takes its processes with it, also those of groups below it.
func TestMachineRemove(t *testing.T) {
	g := group(t, Limits{Memory: 64 << 20, CPU: 1})
	for _, dir := range g.dirs {
		if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dirs := g.dirs
	err := eat(t, g, "sleep", func(pid int) {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the program ended: %v", err)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is there still", dir)
		}
	}
}

// What runs in an idle group gives way to what does not.
func TestMachineIdle(t *testing.T) {
	g := group(t, Limits{Idle: true})
	text, err := os.ReadFile(filepath.Join(g.of[cpu], "cpu.idle"))
	if err != nil || strings.TrimSpace(string(text)) != "1" {
		t.Errorf("cpu.idle is %q, %v", text, err)
	}
}
