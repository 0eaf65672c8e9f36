package goruntime

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// The probe that package subject injects, in a real process.
func TestInjectedProbe(t *testing.T) {
	dir := t.TempDir()
	bin, socket := filepath.Join(dir, "inject"), filepath.Join(dir, "s")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/dynolab/dyno/internal/subject/inject").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "DYNO_PROBE="+socket, "GODEBUG=gctrace=1,gcpacertrace=1")
	in, _ := cmd.StdinPipe()
	x := gctrace.NewSplitter(io.Discard, io.Discard)
	cmd.Stderr = x
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); cmd.Wait() }()
	c := &Client{Socket: socket}
	defer c.Close()
	for i := 0; ; i++ {
		if _, err := c.Ask("hello"); err == nil {
			break
		} else if i == 6000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Metrics{}.Watch(ctx, probe.Target{Socket: socket, Every: time.Millisecond, Begun: func() {
		for range 5 {
			if _, err := c.Ask("gc"); err != nil {
				t.Error(err)
			}
		}
		cancel()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := r.Values.Get("gc-cycles"); n != 5 {
		t.Errorf("%v cycles, 5 were forced", n)
	}
	cpu, _ := r.Values.Get("cpu-sec")
	for _, metric := range []string{"cpu-sec", "gc-cpu-sec", "alloc-B", "allocs", "goroutines", "heap-live-B", "stw-max-sec", "stw-total-sec"} {
		if v, ok := r.Values.Get(metric); !ok || v <= 0 {
			t.Errorf("%s = %v, %v", metric, v, ok)
		}
	}
	kernel, err := kernel.CPU(cmd.Process.Pid)
	if err != nil || cpu > kernel {
		t.Errorf("the probe says %v s of CPU in its window, the kernel %v s in all; %v", cpu, kernel, err)
	}
	lookInside(t, cmd.Process.Pid, socket)
}

// lookInside looks at a process that does nothing.
func lookInside(t *testing.T, pid int, socket string) {
	l, err := OpenInspector(pid, socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Collect(); err != nil {
		t.Fatal(err)
	}
	s, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.Live < 100_000 || s.Dead > s.Live/4 || s.Stacks <= 0 || s.Metadata <= 0 || s.Other <= 0 || s.RSS < s.Live || s.Goroutines < 2 {
		t.Errorf("after collections: %+v", s)
	}
	if data, err := l.Profile("heap"); err != nil || len(data) == 0 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if err := l.Free(); err != nil {
		t.Fatal(err)
	}
	freed, err := l.Snapshot()
	// The runtime frees a few pages after Free has given all back.
	if err != nil || freed.Idle >= 1<<20 || freed.Released == 0 {
		t.Errorf("before %+v, given back %+v; %v", s, freed, err)
	}
}
