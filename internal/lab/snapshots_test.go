package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
)

// A fakeInspector writes down what it is told. Its memory falls while it settles.
type fakeInspector struct {
	f    *fake
	rss  *float64
	fail string // the act that fails
}

func (l fakeInspector) did(act string) error {
	l.f.say("%s", act)
	if act == l.fail {
		return errors.New("cannot " + act)
	}
	return nil
}

func (l fakeInspector) Snapshot() (dyno.Snapshot, error) {
	return dyno.Snapshot{RSS: *l.rss, Live: 1}, l.did("snapshot")
}

func (l fakeInspector) Brief() (dyno.Snapshot, error) {
	*l.rss *= 0.9
	return dyno.Snapshot{RSS: *l.rss, Idle: 5, Released: 6}, nil
}

func (l fakeInspector) Collect() error { return l.did("collect") }
func (l fakeInspector) Free() error    { *l.rss /= 2; return l.did("free") }
func (l fakeInspector) Close()         {}

func (l fakeInspector) Profile(name string) ([]byte, error) {
	if name == "goroutineleak" {
		return nil, errors.ErrUnsupported
	}
	return []byte(name), l.did(name)
}

// looking is a fake with an inspector and an injected probe.
func looking(l fakeInspector) *fake {
	f := newFake()
	l.f, l.rss = f, new(float64)
	*l.rss = 100
	f.lab.Inspect = func(int, string) (Inspector, error) { return l, nil }
	start := f.lab.Start
	f.lab.Start = func(ctx context.Context, t *dyno.Trial, dir string, _ time.Duration) (*Running, error) {
		r, err := start(ctx, t, dir, 0)
		r.Target.Socket = "s"
		return r, err
	}
	return f
}

// watchless is the log without the probes, of which there are several.
func (f *fake) watchless() []string {
	return slices.CompactFunc(slices.Clone(f.log), func(a, b string) bool { return a == b && strings.HasPrefix(a, "probe ") })
}

func leaking() dyno.Trial {
	e := experiment(1)
	e.Load.Idle = 0
	t := e.Trials()[0]
	t.Leak = true
	return t
}

// What is forced to see leaks is all outside the window in which probes watch, and
// the end is looked at before anything is forced.
func TestSnapshotsAroundTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dir := looking(fakeInspector{}), t.TempDir()
		f.lab.Dir = func(int) (string, error) { return dir, nil }
		r := f.lab.Trial(t.Context(), leaking())
		want := []string{"start 1", "snapshot", "collect", "heap", "goroutine", "collect", "snapshot",
			"probe begins", "load", "probe ends", "snapshot", "collect", "snapshot", "heap", "goroutine", "teardown", "stop 1"}
		if got := f.watchless(); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		var stages []string
		for _, s := range r.Memory {
			stages = append(stages, s.Stage)
		}
		if !slices.Equal(stages, []string{"ready", "before", "end", "after"}) || r.Err != "" || len(r.Warnings) > 0 {
			t.Errorf("stages %q, error %q, warnings %q", stages, r.Err, r.Warnings)
		}
		if first, end := r.Memory[0].At, r.Memory[2].At; first != -time.Second || end != time.Second {
			t.Errorf("ready %v and end %v since the window began, want -1s and 1s", first, end)
		}
		for _, name := range []string{"heap-before.pb.gz", "goroutine-before.pb.gz", "heap-after.pb.gz", "goroutine-after.pb.gz"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "goroutineleak-after.pb.gz")); err == nil {
			t.Error("there is a profile that the runtime does not have")
		}
	})
}

// An inspection that fails is a doubt about the trial, not its end.
func TestInspectionFails(t *testing.T) {
	for _, act := range []string{"collect", "snapshot", "heap", "goroutine", "free"} {
		synctest.Test(t, func(t *testing.T) {
			f := looking(fakeInspector{fail: act})
			f.lab.Dir = func(int) (string, error) { return t.TempDir(), nil }
			tr := leaking()
			if act == "free" {
				tr.For, tr.Leak, tr.Load.Idle = dyno.ForMemory, false, dyno.Duration(time.Second)
			}
			r := f.lab.Trial(t.Context(), tr)
			if r.Err != "" || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0].Text, "cannot "+act) {
				t.Errorf("%s: error %q, warnings %q", act, r.Err, r.Warnings)
			}
		})
	}
}

// An injected probe that does not answer is given up after two time-outs: each keeps the trial
// waiting. What takes a minute is not asked a second time.
func TestSilentProbeIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		take  time.Duration // until a time-out
		asked int
	}{"short": {5 * time.Second, 2}, "long": {time.Minute, 1}} {
		synctest.Test(t, func(t *testing.T) {
			f := looking(fakeInspector{})
			f.lab.Dir = func(int) (string, error) { return t.TempDir(), nil }
			asked, outside := 0, 0
			f.lab.Inspect = func(_ int, socket string) (Inspector, error) {
				if socket == "" {
					outside++
					return fakeInspector{f: f, rss: new(float64)}, nil
				}
				asked++
				time.Sleep(c.take)
				return nil, fmt.Errorf("ask injected probe: %w", os.ErrDeadlineExceeded)
			}
			r := f.lab.Trial(t.Context(), leaking())
			last := r.Warnings[len(r.Warnings)-1]
			if asked != c.asked || outside == 0 || r.Err != "" || !strings.Contains(last.Text, "stopped answering") {
				t.Errorf("%s: asked %d times, %d from outside, error %q, warnings %q", name, asked, outside, r.Err, r.Warnings)
			}
		})
	}
}

// In a trial ForMemory nothing is forced before the rest is over, and then memory is
// given back and left to settle.
func TestMemoryTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dir := looking(fakeInspector{}), t.TempDir()
		f.lab.Dir = func(int) (string, error) { return dir, nil }
		e := experiment(1)
		*e.Memory = true
		trials := e.Trials()
		tr := trials[len(trials)-1]
		r := f.lab.Trial(t.Context(), tr)
		want := []string{"start 4", "snapshot", "probe begins", "load", "probe ends", "snapshot", "teardown", "snapshot", "free", "snapshot", "stop 4"}
		if got := f.watchless(); tr.For != dyno.ForMemory || !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		n := len(r.Memory)
		if n != 4 || r.Memory[n-2].Stage != "idle" || r.Memory[n-1].Stage != "freed" || r.Err != "" || len(r.Warnings) > 0 {
			t.Fatalf("memory %+v, error %q, warnings %q", r.Memory, r.Err, r.Warnings)
		}
		idle, freed := r.Memory[n-2], r.Memory[n-1]
		if idle.At != 6*time.Second || freed.At-idle.At != time.Second {
			t.Errorf("rested until %v, settled until %v", idle.At, freed.At)
		}
		data, err := os.ReadFile(filepath.Join(dir, seriesFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range []string{"idle-rss-B", "idle-heap-idle-B", "idle-heap-released-B"} {
			for sec := range 5 {
				if line := fmt.Sprintf("\n%s,%d.000000,", metric, sec+1); !strings.Contains(string(data), line) {
					t.Errorf("series lack %q:\n%s", line, data)
				}
			}
		}
	})
}

// A subject that dies meanwhile fails its trial at once.
func TestSubjectDiesAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := looking(fakeInspector{})
		f.lab.Watch = func(tr *dyno.Trial, _ *load.Meter) {
			time.AfterFunc(3*time.Second, func() { close(f.alive[tr.N]) })
		}
		began := time.Now()
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		if took := time.Since(began); r.Err != "subject: exit status 3" || took != 3*time.Second || len(r.Warnings) > 0 {
			t.Errorf("error %q after %v, warnings %q", r.Err, took, r.Warnings)
		}
	})
}
