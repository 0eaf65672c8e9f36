package awake

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	Main()
	os.Exit(m.Run())
}

// A trial that was withheld time by the hypervisor begins the loops, and that is said once; less steal does not, and what
// cannot run is not tried again.
func TestSaw(t *testing.T) {
	began := 0
	k := &Keeper{start: func() (*guard.Tree, error) { began++; return new(guard.Tree), nil }}
	broken := &Keeper{start: func() (*guard.Tree, error) { began++; return nil, errors.New("no") }}
	for i, c := range []struct {
		k     *Keeper
		steal float64
		want  string
	}{
		{nil, 0.1, ""},
		{broken, 0.1, ""},
		{broken, 0.1, ""},
		{k, 0.004, ""},
		{k, 0.05, "begun after trial 4, in which the hypervisor withheld 5.0 % of the time"},
		{k, 0.05, ""},
	} {
		r := dyno.Result{Trial: dyno.Trial{N: i}, Values: dyno.Values{{Metric: "steal-frac", Value: c.steal}}}
		if got := c.k.Saw(&r); got != c.want {
			t.Errorf("%d: said %q, want %q", i, got, c.want)
		}
	}
	if began != 2 {
		t.Errorf("begun %d times, want 2", began)
	}
	if since := k.Saw(&dyno.Result{}); since != "" {
		t.Errorf("a trial in which steal is unknown: %q", since)
	}
}

// Loops are for subjects that dyno launches here.
func TestFor(t *testing.T) {
	no := false
	here := dyno.Experiment{Subject: dyno.Subject{Package: "./svc"}}
	url := dyno.Experiment{Subject: dyno.Subject{URL: "http://127.0.0.1:1"}}
	pods := dyno.Experiment{Subject: dyno.Subject{Image: "svc"}, On: dyno.On{Kubernetes: &dyno.Kubernetes{}}}
	for _, c := range []struct {
		name  string
		e     dyno.Experiment
		awake *bool
		some  bool
	}{
		{"here", here, nil, true},
		{"here, not wanted", here, &no, false},
		{"a URL", url, nil, false},
		{"in a cluster", pods, nil, false},
	} {
		c.e.Awake = c.awake
		k, err := For(&c.e)
		if err != nil || (k != nil) != c.some {
			t.Errorf("%s: error %v, a keeper: %t", c.name, err, k != nil)
		}
		k.Stop()
	}
}

// There is a loop of the lowest priority on each CPU, in a session of the least weight, until the keeper stops; also in a control group of its own, where
// one can be made.
func TestLoops(t *testing.T) {
	for _, apart := range []bool{false, true} {
		cpus := guard.PinnedCPUs(1 << 20)
		k := &Keeper{start: func() (*guard.Tree, error) { return start(apart) }}
		defer k.Stop()
		if _, err := k.begin("a test"); err != nil {
			if apart && strings.Contains(err.Error(), "cpu.idle") { // which needs root, or a group of one's own
				continue
			}
			t.Fatal(err)
		}
		pids := loopsOf(k.tree.PID, len(cpus))
		if len(pids) != len(cpus) {
			t.Fatalf("%d loops on %d CPUs", len(pids), len(cpus))
		}
		var all unix.CPUSet
		for _, pid := range pids {
			var n int
			fmt.Sscan(pid, &n)
			var on unix.CPUSet
			a, err := unix.SchedGetAttr(n, 0)
			if err = errors.Join(err, unix.SchedGetaffinity(n, &on)); err != nil || a.Policy != unix.SCHED_IDLE || on.Count() != 1 {
				t.Errorf("loop %s: policy %+v, on %d CPUs, error %v", pid, a, on.Count(), err)
			}
			if session, err := os.ReadFile("/proc/" + pid + "/autogroup"); err == nil && !strings.Contains(string(session), "nice 19") {
				t.Errorf("loop %s: its session is %s", pid, session)
			}
			for i := range all {
				all[i] |= on[i]
			}
		}
		if all.Count() != len(cpus) {
			t.Errorf("the loops are on %d of %d CPUs", all.Count(), len(cpus))
		}
		if broke := k.Stop(); broke || k.Since() != "a test" {
			t.Errorf("ended before: %t; since %q", broke, k.Since())
		}
		for _, pid := range pids {
			if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.HasPrefix(string(text), name) {
				t.Errorf("loop %s goes on", pid)
			}
		}
	}
}

// Loops that do not come to run are an error, with the reason, and those that end before their keeper stops are told.
func TestLoopsBreak(t *testing.T) {
	if _, err := run(guard.Job{Path: self, Args: []string{name, "100000"}, Dir: "/", Env: environ()}); err == nil || !strings.Contains(err.Error(), "sched_setaffinity") {
		t.Errorf("on a CPU that there is not: %v", err)
	}
	k := &Keeper{start: func() (*guard.Tree, error) { return start(false) }}
	defer k.Stop()
	if _, err := k.begin(""); err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Sscan(loopsOf(k.tree.PID, 1)[0], &pid)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-k.tree.Done
	if !k.Stop() {
		t.Error("loops that ended are not told")
	}
}

// loopsOf are the loops among the children of a process, as soon as there are so many: a program of the lowest priority has its arguments late.
func loopsOf(pid, many int) (pids []string) {
	for end := time.Now().Add(20 * time.Second); len(pids) < many && time.Now().Before(end); time.Sleep(time.Millisecond) {
		pids = loopsNow(pid)
	}
	return pids
}

func loopsNow(pid int) (pids []string) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(text)) {
			if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.Contains(string(line), "\x00on-") {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
