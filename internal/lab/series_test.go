package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/probe"
)

// A sampler is a probe that gives a point of some series at every reading, of
// those that name a rate from the second on.
type sampler struct {
	name string
	gets []string
}

func (s sampler) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	start := time.Now()
	read := func() {
		for _, metric := range s.gets {
			if at := time.Since(start); at > 0 || !strings.HasSuffix(metric, "/s") {
				t.Sample(metric, at, float64(len(s.name)))
			}
		}
	}
	read()
	t.Begun()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			read()
			return probe.Reading{Values: dyno.Values{{Metric: "rss-peak-B", Value: 1}}}, nil
		case <-tick.C:
			read()
		}
	}
}

// sampled runs a trial of five seconds whose probes are samplers, with a look at
// its directory at some moments.
func sampled(t *testing.T, dir string, samplers []sampler, look map[time.Duration]func()) *dyno.Result {
	f := newFake()
	f.lab.Dir = func(int) (string, error) { return dir, nil }
	f.lab.Start = func(context.Context, *dyno.Trial, string, time.Duration) (*Running, error) {
		return &Running{Base: "http://127.0.0.1:1", Target: probe.Target{PID: 1, Socket: "s", Expvar: "e", Trace: new(gctrace.Splitter)}}, nil
	}
	f.lab.Probe = func(name string) (probe.Probe, bool) {
		for _, s := range samplers {
			if s.name == name {
				return s, true
			}
		}
		return sampler{}, true
	}
	f.lab.Load = func(ctx context.Context, _ string, _ dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
		if err := o.Begin(ctx); err != nil {
			return nil, err
		}
		began := time.Now()
		for at := time.Duration(0); at <= 5*time.Second; at += 100 * time.Millisecond {
			time.Sleep(time.Until(began.Add(at)))
			if now := look[at]; now != nil {
				now()
			}
		}
		o.End()
		return &load.Record{Elapsed: 5 * time.Second}, nil
	}
	e := experiment(1)
	e.Load.Idle, e.Probes.Expvar = 0, "/debug/vars"
	trial := e.Trials()[0]
	trial.Probes.Every = dyno.Duration(300 * time.Millisecond)
	return f.lab.Trial(t.Context(), trial)
}

// What the probes saw is on disk about a second later, so that a kill loses no
// more, and each series is of the probe that is trusted most, from its beginning.
func TestSeriesAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "series.csv")
		var killed string
		r := sampled(t, dir, []sampler{
			{"expvar", []string{"heap-B", "alloc-B/s", "expvar/a,\"b\"\nc"}},
			{"runtime", []string{"heap-B", "alloc-B/s"}},
			{"proc", []string{"rss-B"}},
		}, map[time.Duration]func(){
			1500 * time.Millisecond: func() {
				if _, err := os.Stat(file); err == nil {
					t.Error("points were written before it was known who is trusted")
				}
			},
			4500 * time.Millisecond: func() {
				data, _ := os.ReadFile(file)
				killed = string(data)
			},
		})
		if r.Err != "" || len(r.Warnings) > 0 {
			t.Fatal(r.Err, r.Warnings)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if !strings.HasPrefix(text, killed) || !strings.Contains(killed, "\nrss-B,3.600000,4\n") || !strings.HasSuffix(killed, "\n") {
			t.Errorf("after 4.5 s there was %q", killed)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		counts := map[string]int{}
		for _, line := range lines[1:] {
			i := strings.LastIndex(line[:strings.LastIndex(line, ",")], ",")
			counts[line[:i]]++
			if strings.HasPrefix(line, "heap-B,") != strings.HasSuffix(line, ",7") && !strings.HasPrefix(line, "alloc-B/s,") {
				t.Errorf("of a probe that is trusted less: %s", line)
			}
		}
		for name, want := range map[string]int{"heap-B": 18, "alloc-B/s": 17, "rss-B": 18, `"expvar/a,""b"" c"`: 18} {
			if counts[name] != want {
				t.Errorf("%d points of %s, want %d", counts[name], name, want)
			}
		}
		if lines[0] != "metric,sec,value" || len(counts) != 4 {
			t.Errorf("head %q, series %v", lines[0], counts)
		}
	})
}

// Series that cannot be written are a doubt, and hold nobody up; without a
// directory there are none.
func TestSeriesNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "series.csv"), 0o777); err != nil {
			t.Fatal(err)
		}
		r := sampled(t, dir, []sampler{{"proc", []string{"rss-B"}}}, nil)
		if r.Err != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "the series are incomplete: open ") {
			t.Errorf("error %q, warnings %q", r.Err, r.Warnings)
		}
		if r := sampled(t, "", []sampler{{"proc", []string{"rss-B"}}}, nil); r.Err != "" || len(r.Warnings) > 0 {
			t.Errorf("without a directory: error %q, warnings %q", r.Err, r.Warnings)
		}
	})
}
