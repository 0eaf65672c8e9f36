package lab

import (
	"context"
	"io"
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

const vegetaReport = `{"latencies":{"mean":2000000,"50th":1000000,"90th":3000000,"95th":4000000,"99th":5000000,"max":9000000,"min":500000},
"duration":900000000,"wait":100000000,"requests":4,"throughput":400,"status_codes":{"200":400},"errors":[]}
`

// commandTrial is a trial whose load is a command that writes to standard output.
func commandTrial(t *testing.T, out string, write func(vars map[string]string)) (*fake, *dyno.Result, string) {
	f := newFake()
	dir := t.TempDir()
	f.lab.Dir = func(int) (string, error) { return dir, nil }
	f.lab.Load = nil
	f.lab.Tool = func(_ context.Context, argv []string, vars map[string]string, _ string, stdout, _ io.Writer) (string, error) {
		f.say("%s", argv[len(argv)-1])
		time.Sleep(time.Second)
		io.WriteString(stdout, out)
		if write != nil {
			write(vars)
		}
		return "exit status 0", nil
	}
	e := experiment(1)
	e.Load = dyno.Load{Command: "other {{.arg.n}}", Idle: dyno.Duration(time.Second)}
	e.Subject.Arg = map[string]string{"n": "7"}
	return f, f.lab.Trial(t.Context(), e.Trials()[0]), dir
}

// The whole run of a load command is the measured window. Of latency there is
// what the command says and no more; what is per request is of its requests.
func TestCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r, dir := commandTrial(t, vegetaReport, nil)
		if r.Err != "" || len(r.Warnings) > 0 {
			t.Fatalf("%s, %q", r.Err, r.Warnings)
		}
		if want := []string{"start 1", "probe begins", "other 7", "probe ends", "stop 1"}; !slices.Equal(f.log, want) {
			t.Errorf("got  %q\nwant %q", f.log, want)
		}
		for metric, want := range map[string]float64{
			"p50-sec": .001, "p90-sec": .003, "p95-sec": .004, "p99-sec": .005, "mean-sec": .002, "min-sec": .0005, "max-sec": .009,
			"req/s": 400, "failures": 0, "cpu-sec/req": .02, "req/gc": 100, "rss-peak-B": 7, "rss-idle-B": 42,
		} {
			if got, ok := r.Values.Get(metric); !ok || got != want {
				t.Errorf("%s is %v, want %v", metric, got, want)
			}
		}
		if v, ok := r.Values.Get("p99.9-sec"); ok || r.Latency != nil {
			t.Errorf("p99.9 is %v: vegeta did not say it", v)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "load.log")); string(log) != vegetaReport {
			t.Errorf("load.log: %q, %v", log, err)
		}
	})
}

// k6 writes its summary to a file.
func TestCommandSummaryFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, dir := commandTrial(t, "", func(vars map[string]string) {
			os.WriteFile(vars["K6_SUMMARY_EXPORT"], []byte(`{"root_group":{},"metrics":{"http_reqs":{"count":200,"rate":100},"http_req_duration":{"med":3}}}`), 0o666)
		})
		if got, _ := r.Values.Get("p50-sec"); got != .003 || r.Err != "" {
			t.Errorf("%+v", r)
		}
		if _, err := os.Stat(filepath.Join(dir, "load.json")); err != nil {
			t.Error(err)
		}
	})
}

// Of a command that is not understood there is what the probes saw.
func TestCommandNotUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, _ := commandTrial(t, "done", nil)
		var names []string
		for _, v := range r.Values {
			names = append(names, v.Metric)
		}
		if want := []string{"gc-cycles", "gc-cpu-frac", "rss-peak-B", "rss-idle-B"}; !slices.Equal(names, want) {
			t.Errorf("metrics %q, want %q", names, want)
		}
		if r.Err != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "could not read the output") || r.Elapsed != time.Second {
			t.Errorf("%v %q %q", r.Elapsed, r.Err, r.Warnings)
		}
	})
}

// A mistake in the command is found before the subject is built.
func TestCheckCommand(t *testing.T) {
	e := &dyno.Experiment{Subject: dyno.Subject{Binary: "x"}, Load: dyno.Load{Command: "hey {{.arg.nope}}"}}
	if err := Check(e); err == nil || !strings.Contains(err.Error(), "unknown variable arg.nope") {
		t.Errorf("%v", err)
	}
}

// What a load sends by gRPC is checked before the first trial, and told the program that sends it.
func TestGRPC(t *testing.T) {
	e := experiment(1)
	e.Load.Client, e.Load.GRPC = dyno.Client{}, &dyno.GRPC{Method: "a.B/C", Data: []string{`{"a":"{{.arg.nope}}"}`}}
	if err := Check(e); err == nil || !strings.Contains(err.Error(), "load grpc data: ") || !strings.Contains(err.Error(), "unknown variable arg.nope") {
		t.Errorf("%v", err)
	}
	e.Load.GRPC.Data = []string{`{"a":"{{.arg.size}}"}`}
	e.Subject.Arg = map[string]string{"size": "1"}
	if err := Check(e); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newFake().lab
		l.Program = func(_ context.Context, l dyno.Load, _ string) (string, error) {
			if l.GRPC == nil {
				t.Errorf("the program of %+v", l)
			}
			return "/made", nil
		}
		send := l.Load
		l.Load = func(ctx context.Context, base string, to dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
			if to.Program != "/made" || to.GRPC != nil || !strings.Contains(string(o.Config), `"size":"1"`) {
				t.Errorf("sent by %+v, told %s", to, o.Config)
			}
			return send(ctx, base, to, arg, o)
		}
		if r := l.Trial(t.Context(), e.Trials()[0]); r.Err != "" {
			t.Error(r.Err)
		}
	})
}
