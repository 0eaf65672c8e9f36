package goruntime

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A locked buffer is a child's standard error.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

// startInjected builds and starts the smallest service with a probe.
func startInjected(t *testing.T, flags ...string) (k *Knobs, stderr *locked) {
	t.Helper()
	dir := t.TempDir()
	bin, socket := filepath.Join(dir, "inject"), filepath.Join(dir, "s")
	args := append(append([]string{"build", "-o", bin}, flags...), "github.com/dynolab/dyno/internal/subject/inject")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stderr = new(locked)
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "DYNO_PROBE="+socket, "GODEBUG=gctrace=1", "GOGC=100")
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	for i := 0; ; i++ {
		if k, err = OpenKnobs(cmd.Process.Pid, socket); err == nil {
			t.Cleanup(k.Close)
			return k, stderr
		} else if i == 6000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The trace of collections stops and goes on in a program that runs.
func TestTraceSwitch(t *testing.T) { testTraceSwitch(t, "exe") }

func testTraceSwitch(t *testing.T, mode string) {
	k, stderr := startInjected(t, "-buildmode="+mode)
	collect := func(want int) {
		t.Helper()
		before := stderr.count(" P (forced)\n")
		for range 3 {
			if _, err := k.client.Ask("gc"); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; stderr.count(" P (forced)\n")-before < want && i < 6000; i++ {
			time.Sleep(10 * time.Millisecond) // a copying goroutine of os/exec
		}
		if got := stderr.count(" P (forced)\n") - before; got != want {
			t.Errorf("%d of 3 collections were traced, want %d", got, want)
		}
	}
	for _, on := range []bool{true, false, true, true} {
		if err := k.Trace(on); err != nil {
			t.Fatal(err)
		}
		if on {
			collect(3)
		} else {
			collect(0)
		}
	}
	if n, err := k.Collections(); err != nil || n < 12 {
		t.Errorf("%v collections, %v", n, err)
	}
}

// Without symbols nothing is written anywhere, and the error says why.
func TestTraceSwitchStripped(t *testing.T) {
	for flag, want := range map[string]string{"-ldflags=-s": "without -ldflags=-s", "-ldflags=-w": "without -ldflags=-w"} {
		k, _ := startInjected(t, flag)
		if err := k.Trace(false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", flag, err)
		}
	}
}

func TestKnobs(t *testing.T) {
	k, _ := startInjected(t)
	for _, l := range [][2]string{{"GOGC", "50"}, {"GOGC", "off"}, {"GOMEMLIMIT", "2GiB"}, {"GOMEMLIMIT", "off"}, {"GOMAXPROCS", "1"}} {
		if err := k.Set(l[0], l[1]); err != nil {
			t.Errorf("%s=%s: %v", l[0], l[1], err)
		}
	}
	if was, err := k.client.Ask("set gogc 100"); err != nil || string(was) != "-1" {
		t.Errorf("GOGC was %s, %v", was, err)
	}
	if err := k.Set("GODEBUG", "x"); err == nil {
		t.Error("GODEBUG was set")
	}
	for _, on := range []bool{false, true} {
		if err := k.Tick(on); err != nil {
			t.Error(err)
		}
	}
}
