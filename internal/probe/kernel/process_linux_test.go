package kernel

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/probe"
	"golang.org/x/sys/unix"
)

func TestLookup(t *testing.T) {
	p, err := Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.Go != runtime.Version() || p.Program == "" || !strings.Contains(p.Command, os.Args[0]) || p.Grouped {
		t.Errorf("we are %+v", p)
	}
	if age := time.Since(p.Started); age < 0 || age > time.Hour {
		t.Errorf("we are %v old", age)
	}
	if _, err := Lookup(1 << 30); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Error(err)
	}
	thread := make(chan int)
	end := make(chan struct{})
	defer close(end)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		<-end
	}()
	if tid := <-thread; tid != os.Getpid() {
		if _, err := Lookup(tid); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("thread of process %d", os.Getpid())) {
			t.Errorf("thread %d: %v", tid, err)
		}
	}
}

// Neither dyno nor what it started is a candidate, whatever it is called.
func TestFind(t *testing.T) {
	parent, err := Lookup(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	pids := func(name string) (pids []int) {
		ps, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			pids = append(pids, p.PID)
		}
		return pids
	}
	if got := pids("^" + regexp.QuoteMeta(parent.Name) + "$"); !slices.Contains(got, parent.PID) {
		t.Errorf("%q: %v, want %d among them", parent.Name, got, parent.PID)
	}
	cmd := child(t, "work")
	in, _ := cmd.StdinPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got := pids("."); slices.Contains(got, os.Getpid()) || slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("all: %v, with us, %d, or our child, %d", got, os.Getpid(), cmd.Process.Pid)
	}
	if _, err := Find("["); err == nil {
		t.Error("a bad expression is none")
	}
}

// The end of a process that is not dyno's leaves what was seen of it.
func TestProcEndsGently(t *testing.T) {
	cmd := child(t, "work")
	in, _ := cmd.StdinPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	target := probe.Target{PID: cmd.Process.Pid, Every: 10 * time.Millisecond, Gentle: true}
	seen := map[string]int{}
	target.Sample = func(metric string, _ time.Duration, _ float64) {
		if seen[metric]++; metric == "rss-B" && seen[metric] == 3 {
			in.Close()
			cmd.Wait()
		}
	}
	r, err := Proc{}.Watch(t.Context(), target)
	if !errors.Is(err, ErrGone) && !errors.Is(err, unix.ESRCH) { // as its directory has gone
		t.Error(err)
	}
	for _, metric := range []string{"rss-peak-B", "rss-mean-B", "cpu-sec", "minflt", "threads", "fds"} {
		if v, ok := r.Values.Get(metric); !ok || v < 0 {
			t.Errorf("%s = %v, %v", metric, v, ok)
		}
	}
	for _, metric := range []string{"rss-B", "vsz-B", "mem-frac", "threads", "cpu-frac", "minflt/s"} {
		if seen[metric] < 2 {
			t.Errorf("%s: %d points", metric, seen[metric])
		}
	}
	if _, err := (Proc{}).Watch(t.Context(), target); err == nil {
		t.Error("a process that has ended can be watched")
	}
}
