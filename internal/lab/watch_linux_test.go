package lab

import (
	"context"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/pages"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// watchExperiment is a watch with no load and no end of its own.
func watchExperiment(pid int) *dyno.Experiment {
	return &dyno.Experiment{Subject: dyno.Subject{PID: pid}, Load: dyno.Load{None: true}, Repeats: 1, Memory: new(bool)}
}

// A seeing probe gives one point and, as soon as the window is open, does what the test says.
type seeing struct {
	then func(ctx context.Context)
	open chan struct{} // closed when the window is open; made by watchLab
}

func (p seeing) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	t.Sample("rss-B", 0, 5)
	t.Begun()
	select {
	case <-p.open:
	case <-ctx.Done():
	}
	p.then(ctx)
	return probe.Reading{Values: dyno.Values{{Metric: "rss-peak-B", Value: 5}, {Metric: "cpu-sec", Value: 1}, {Metric: "minflt", Value: 3}}}, nil
}

func watchLab(t *testing.T, p seeing) *Lab {
	dir := t.TempDir()
	p.open = make(chan struct{})
	opened := sync.OnceFunc(func() { close(p.open) })
	return &Lab{Hands: Hands{
		Load: func(ctx context.Context, base string, ld dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
			begin := o.Begin
			o.Begin = func(ctx context.Context) error { defer opened(); return begin(ctx) }
			return putLoad(ctx, base, ld, arg, o)
		},
		Probe: func(name string) (probe.Probe, bool) { return p, true },
		Dir:   func(int) (string, error) { return dir, nil },
	}}
}

func lookUp(t *testing.T, pid int) kernel.Process {
	t.Helper()
	p, err := kernel.Lookup(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Who ends a watch has all that it saw, and the one who looks on saw it too.
func TestWatchEnds(t *testing.T) {
	end := make(chan struct{})
	var live []string
	hands := watchLab(t, seeing{then: func(ctx context.Context) { close(end); <-ctx.Done() }}).Watching(Watching{
		Process: lookUp(t, os.Getpid()), End: end,
	})
	hands.Live = func(_ *dyno.Trial, probe, metric string, v float64) { live = append(live, probe+" "+metric) }
	r := hands.Trial(t.Context(), watchExperiment(os.Getpid()).Trials()[0])
	if r.Err != "" || len(r.Warnings) > 0 || r.Latency != nil {
		t.Errorf("error %q, warnings %q, latency %v", r.Err, r.Warnings, r.Latency)
	}
	for metric, want := range map[string]float64{"rss-peak-B": 5, "cpu-frac": 1 / r.Elapsed.Seconds(), "minflt/s": 3 / r.Elapsed.Seconds()} {
		if v, ok := r.Values.Get(metric); !ok || v != want {
			t.Errorf("%s = %v, %v, want %v", metric, v, ok, want)
		}
	}
	if _, ok := r.Values.Get("failures"); ok {
		t.Error("nothing was sent, and there are failures of it")
	}
	if len(live) != 1 || live[0] != "proc rss-B" {
		t.Errorf("looking on: %q", live)
	}
	if !strings.Contains(r.Subject, "process ") || !strings.Contains(r.Subject, "go1") {
		t.Errorf("subject %q", r.Subject)
	}
}

// A process that ends is no failure of the watch.
func TestWatchedProcessEnds(t *testing.T) {
	cmd := exec.Command("cat")
	in, _ := cmd.StdinPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := lookUp(t, cmd.Process.Pid)
	end := sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	hands := watchLab(t, seeing{then: func(context.Context) { end() }}).Watching(Watching{Process: p})
	r := hands.Trial(t.Context(), watchExperiment(p.PID).Trials()[0])
	if _, ok := r.Values.Get("rss-peak-B"); r.Err != "" || !ok {
		t.Errorf("error %q, values %v", r.Err, r.Values)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "ended") {
		t.Errorf("warnings %q", r.Warnings)
	}
	r = hands.Trial(t.Context(), watchExperiment(p.PID).Trials()[0])
	if !strings.Contains(r.Err, "no process") {
		t.Errorf("a watch of what has ended: %q", r.Err)
	}
}

// Profiles that cannot be taken end the watch before it begins.
func TestWatchProfilesFirst(t *testing.T) {
	hands := watchLab(t, seeing{then: func(context.Context) { t.Error("the probes began") }}).Watching(Watching{Profiles: []string{"heap"}})
	e := watchExperiment(os.Getpid())
	e.Probes.Pprof = "http://127.0.0.1:1/debug/pprof"
	r := hands.Trial(t.Context(), e.Trials()[0])
	if !strings.Contains(r.Err, "take profile heap") {
		t.Errorf("error %q", r.Err)
	}
	dir, _ := hands.Dir(1)
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("files %q", files)
	}
}

// A watch takes execution traces from the service's pages, and is over when the one under way is.
func TestWatchTraces(t *testing.T) {
	service := httptest.NewServer(http.DefaultServeMux) // which net/http/pprof is on
	defer service.Close()
	e := watchExperiment(os.Getpid())
	e.Load.Duration = dyno.Duration(time.Millisecond)
	e.Probes.Pprof = service.URL + "/debug/pprof"
	hands := watchLab(t, seeing{then: func(ctx context.Context) { <-ctx.Done() }}).Watching(Watching{Process: lookUp(t, os.Getpid()), Traces: pages.Traces{Length: 10 * time.Millisecond, Every: time.Hour}})
	if r := hands.Trial(t.Context(), e.Trials()[0]); r.Err != "" || len(r.Warnings) > 0 {
		t.Fatalf("error %q, warnings %q", r.Err, r.Warnings)
	}
	dir, _ := hands.Dir(1)
	data, err := os.ReadFile(filepath.Join(dir, "trace-1.out"))
	if err != nil || !strings.HasPrefix(string(data), "go 1.") {
		t.Errorf("%v: the trace begins with %.20q", err, data)
	}
}

// Without a process and with an end the watch lasts as long as it says.
func TestWatchDuration(t *testing.T) {
	e := watchExperiment(0)
	e.Subject = dyno.Subject{URL: "http://127.0.0.1:1"}
	e.Load.Duration = dyno.Duration(time.Millisecond)
	e.Probes = dyno.Probes{Use: []string{"expvar"}, Expvar: "/debug/vars"}
	hands := watchLab(t, seeing{then: func(ctx context.Context) { <-ctx.Done() }}).Watching(Watching{})
	if r := hands.Trial(t.Context(), e.Trials()[0]); r.Err != "" || r.Elapsed < time.Millisecond {
		t.Errorf("error %q after %v", r.Err, r.Elapsed)
	}
}
