package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/probe"
)

// A fake is a lab whose hands only write down what they were told.
type fake struct {
	lab   Lab
	mu    sync.Mutex // of log: several probes write it
	log   []string
	alive map[int]chan struct{} // of the subject of trial n; closed when it dies
}

func newFake() *fake {
	f := &fake{alive: map[int]chan struct{}{}}
	f.lab = Lab{Hands: Hands{
		Prepare: func(context.Context, dyno.Subject) error { return nil },
		Start: func(_ context.Context, t *dyno.Trial, _ string, _ time.Duration) (*Running, error) {
			f.say("start %d", t.N)
			died := make(chan struct{})
			f.alive[t.N] = died
			exit := func() error {
				select {
				case <-died:
					return errors.New("subject: exit status 3")
				default:
					return nil
				}
			}
			return &Running{
				Base: "http://127.0.0.1:1", Target: probe.Target{PID: 1}, What: "go1.26",
				Done: died, Err: exit,
				Stop: func() error { f.say("stop %d", t.N); return nil },
			}, nil
		},
		Load: func(ctx context.Context, _ string, l dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
			time.Sleep(time.Duration(l.Warmup))
			if err := o.Begin(ctx); err != nil {
				return nil, err
			}
			f.say("load")
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Second):
			}
			o.End()
			f.say("teardown")
			h := hist.New()
			h.Add(time.Millisecond)
			h.Add(3 * time.Millisecond)
			return &load.Record{Sent: dyno.Sent{Requests: 4}, Failed: 2, Window: 4, Failures: map[string]int{"status 500": 2}, Elapsed: time.Second, Rate: 2, Latency: h}, nil
		},
		Probe: func(string) (probe.Probe, bool) { return fakeProbe{f}, true },
		RSS:   func(...int) (float64, error) { return 42, nil },
		Dir:   func(int) (string, error) { return "", nil },
	}}
	return f
}

func (f *fake) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

type fakeProbe struct{ f *fake }

func (p fakeProbe) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	p.f.say("probe begins")
	t.Begun()
	<-ctx.Done()
	p.f.say("probe ends")
	return probe.Reading{Values: dyno.Values{
		{Metric: "cpu-sec", Value: 8}, {Metric: "gc-cpu-sec", Value: 2}, {Metric: "gc-cycles", Value: 4}, {Metric: "rss-peak-B", Value: 7},
	}}, nil
}

func experiment(repeats int) *dyno.Experiment {
	return &dyno.Experiment{
		Subject: dyno.Subject{Binary: "x"}, Repeats: repeats, Alone: true,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
		Load:    dyno.Load{Warmup: dyno.Duration(time.Second), Idle: dyno.Duration(5 * time.Second)},
		Memory:  new(bool),
	}
}

// The probes see the measured window and nothing else, and the subject is
// stopped after the idle time.
func TestOrderOfATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		e := experiment(1)
		began := time.Now()
		r := f.lab.Trial(t.Context(), e.Trials()[0])
		if r.Err != "" {
			t.Fatal(r.Err)
		}
		want := []string{"start 1", "probe begins", "load", "probe ends", "teardown", "stop 1"}
		if !slices.Equal(f.log, want) {
			t.Errorf("got  %q\nwant %q", f.log, want)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v, want warm-up 1s + load 1s + idle 5s", took)
		}
		if since := r.Start.Sub(began); since != time.Second {
			t.Errorf("the window starts %v after the trial, want 1s", since)
		}
	})
}

// Totals become metrics per request; a failed request cost something too.
func TestValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		for metric, want := range map[string]float64{
			"cpu-sec/req": 2, "gc-cpu-frac": 0.25, "req/gc": 1, "failures": 2, "req/s": 2, "max-sec": 0.003, "rss-peak-B": 7, "rss-idle-B": 42,
		} {
			if got, ok := r.Values.Get(metric); !ok || got != want {
				t.Errorf("%s is %v, want %v", metric, got, want)
			}
		}
		if _, ok := r.Values.Get("cpu-sec"); ok {
			t.Error("cpu-sec is no metric")
		}
		if r.Subject != "go1.26" || r.Failures["status 500"] != 2 {
			t.Errorf("result: %+v", r)
		}
	})
}

// A subject that dies fails its trial at once, with its own error; the next
// trial runs.
func TestSubjectDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, _ time.Duration) (*Running, error) {
			r, err := start(ctx, tr, dir, 0)
			if tr.N == 1 {
				time.AfterFunc(1500*time.Millisecond, func() { close(f.alive[1]) })
			}
			return r, err
		}
		var rs []*dyno.Result
		began := time.Now()
		err := f.lab.Run(t.Context(), experiment(1), func(r *dyno.Result) error { rs = append(rs, r); return nil })
		if err != nil || len(rs) != 2 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if !rs[0].Died || rs[1].Died {
			t.Errorf("died: %t and %t, want the first", rs[0].Died, rs[1].Died)
		}
		if rs[0].Err != "subject: exit status 3" || rs[1].Err != "" {
			t.Errorf("errors %q and %q", rs[0].Err, rs[1].Err)
		}
		if took := time.Since(began); took != 1500*time.Millisecond+7*time.Second {
			t.Errorf("took %v", took)
		}
		if !slices.Contains(f.log, "stop 1") {
			t.Error("what the dead subject started was not stopped")
		}
	})
}

// An interrupt leaves the trial under way without a result, and those before
// it with theirs.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		stop := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(8500*time.Millisecond, func() { cancel(stop) })
		n := 0
		err := f.lab.Run(ctx, experiment(1), func(*dyno.Result) error { n++; return nil })
		if !errors.Is(err, stop) || n != 1 {
			t.Errorf("%d results, error %v", n, err)
		}
		if last := f.log[len(f.log)-1]; last != "stop 2" {
			t.Errorf("last was %q, want stop 2", last)
		}
	})
}

func TestSinkEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		f := newFake()
		n := 0
		err := f.lab.Run(t.Context(), experiment(2), func(*dyno.Result) error { n++; return full })
		if !errors.Is(err, full) || n != 1 {
			t.Errorf("%d results, error %v", n, err)
		}
	})
}

// A block that is measured is handed over as a whole: the sink may keep what it cannot write.
func TestSinkGetsTheWholeBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the run directory was removed")
		f := newFake()
		n := 0
		err := f.lab.Run(t.Context(), besideExperiment(2), func(*dyno.Result) error { n++; return gone })
		if !errors.Is(err, gone) || n != 2 {
			t.Errorf("%d results, error %v", n, err)
		}
	})
}

func TestSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Skip = func(n int) bool { return n != 3 }
		var got []int
		if err := f.lab.Run(t.Context(), experiment(2), func(r *dyno.Result) error { got = append(got, r.Trial.N); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, []int{3}) {
			t.Errorf("ran trials %v, want 3 only", got)
		}
	})
}

// Each setting's subject is prepared once; the first that cannot be is the error.
func TestPrepareAll(t *testing.T) {
	f := newFake()
	var got []string
	var fail error
	f.lab.Prepare = func(_ context.Context, s dyno.Subject) error {
		got = append(got, s.Env["GOGC"])
		return fail
	}
	if err := f.lab.PrepareAll(t.Context(), experiment(3)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"100", "50"}) {
		t.Errorf("prepared %q", got)
	}
	fail = errors.New("does not build")
	if err := f.lab.PrepareAll(t.Context(), experiment(3)); !errors.Is(err, fail) || len(got) != 3 {
		t.Errorf("got %v after %d", err, len(got)-2)
	}
}

// A subject that ends by itself fails its trial, be it just after the last
// answer, when the load has nothing to complain of.
func TestSubjectDiesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, tr *dyno.Trial, dir string, _ time.Duration) (*Running, error) {
			r, err := start(ctx, tr, dir, 0)
			r.Err = func() error { return errors.New("subject: exit status 2") }
			return r, err
		}
		e := experiment(1)
		e.Load.Idle = 0
		if r := f.lab.Trial(t.Context(), e.Trials()[0]); r.Err != "subject: exit status 2" {
			t.Errorf("error %q", r.Err)
		}
	})
}

// A misspelt variable is a mistake in the plan, found before anything is built.
func TestCheck(t *testing.T) {
	e := experiment(1)
	e.Load.Client.Loop = []dyno.Step{{Path: "/{{.idd}}"}}
	var mistake *dyno.PlanError
	err := Check(e)
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "unknown variable idd") {
		t.Fatalf("got %v", err)
	}
	src := "load:\n  client:\n    loop:\n      - GET /{{.idd}}\n"
	if at := plan.Locate("dyno.yaml", []byte(src), mistake); at.Line != 4 || at.Column != 9 {
		t.Errorf("it is said to be at %d:%d", at.Line, at.Column)
	}
}

// Sampling that often is no longer free, and the result says so.
func TestOftenIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := experiment(1)
		e.Probes.Every = dyno.Duration(10 * time.Millisecond)
		r := newFake().lab.Trial(t.Context(), e.Trials()[0])
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "probes that read every 10ms") {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}

// What the trial is for begins before all else and ends after it, and its files
// are kept.
func TestOrderOfAProfileTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Probe = func(name string) (probe.Probe, bool) {
			if name == dyno.ForProfile {
				return purposeProbe{f: f, files: []probe.File{{Name: "cpu.pb.gz", Data: []byte("x")}}}, true
			}
			return fakeProbe{f}, true
		}
		dir := t.TempDir()
		f.lab.Dir = func(int) (string, error) { return dir, nil }
		e := experiment(1)
		e.Profile = []string{"cpu"}
		e.Load.Idle = 0
		trials := e.Trials()
		r := f.lab.Trial(t.Context(), trials[len(trials)-1])
		if r.Err != "" {
			t.Fatal(r.Err)
		}
		want := []string{"start 4", "purpose begins", "probe begins", "load", "probe ends", "purpose ends", "teardown", "stop 4"}
		if !slices.Equal(f.log, want) {
			t.Errorf("got  %q\nwant %q", f.log, want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "cpu.pb.gz")); err != nil || string(text) != "x" {
			t.Errorf("file %q, %v", text, err)
		}
	})
}

// A trial without what it is for has failed: at once if that cannot begin.
func TestPurposeFails(t *testing.T) {
	for _, at := range []string{"begin", "end"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.lab.Probe = func(name string) (probe.Probe, bool) {
				if name == dyno.ForTrace {
					return purposeProbe{f: f, fails: at}, true
				}
				return fakeProbe{f}, true
			}
			e := experiment(1)
			e.Trace = dyno.Duration(time.Second)
			trials := e.Trials()
			r := f.lab.Trial(t.Context(), trials[len(trials)-1])
			if !strings.Contains(r.Err, "no trace to be had") {
				t.Errorf("at its %s: error %q", at, r.Err)
			}
			if ran := slices.Contains(f.log, "load"); ran != (at == "end") {
				t.Errorf("at its %s: %q", at, f.log)
			}
		})
	}
}

// A purposeProbe is what a trial is for.
type purposeProbe struct {
	f     *fake
	files []probe.File
	fails string // at its "begin" or "end"
}

func (p purposeProbe) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	failed := errors.New("no trace to be had")
	if p.fails == "begin" {
		return probe.Reading{}, failed
	}
	p.f.say("purpose begins")
	t.Begun()
	<-ctx.Done()
	p.f.say("purpose ends")
	if p.fails == "end" {
		return probe.Reading{}, failed
	}
	return probe.Reading{Files: p.files}, nil
}

// A probe that fails is a doubt about the trial, not its end.
func TestProbeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.lab.Probe = func(string) (probe.Probe, bool) { return badProbe{}, true }
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		if r.Err != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "probe proc: no /proc here") {
			t.Errorf("error %q, warnings %q", r.Err, r.Warnings)
		}
	})
}

type badProbe struct{}

func (badProbe) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, errors.New("no /proc here")
}

// What a service publishes under names of its own is shown beside the metrics,
// and does not pass for one of them.
func TestOwnMetrics(t *testing.T) {
	m := ofProbes(new(dyno.Trial), probe.Reading{Own: dyno.Values{{Metric: "jobs_total", Value: 3}, {Metric: "threads", Value: 4}}}, new(load.Record))
	if v, ok := m.values.Get("jobs_total"); !ok || v != 3 || len(m.values) != 1 {
		t.Errorf("values %v", m.values)
	}
	if len(m.warnings) != 1 || !strings.Contains(m.warnings[0].Text, "threads is left out") {
		t.Errorf("warnings %q", m.warnings)
	}
}

// A limit that cannot be set is an error before anything is built or measured; a
// setting without one needs its group too.
func TestLimitsFirst(t *testing.T) {
	f := newFake()
	e := experiment(1)
	var asked []string
	f.lab.Limit = func(l dyno.Limits) error {
		asked = append(asked, l.String())
		if l.Memory > 0 {
			return errors.New("no group can be made")
		}
		return nil
	}
	if err := f.lab.PrepareAll(t.Context(), e); err != nil || len(asked) > 0 {
		t.Errorf("nobody wants a limit: %v, asked %q", err, asked)
	}
	e.Factors = dyno.Factors{{Name: "limit.memory", Levels: []string{"none", "64MiB"}}}
	f.lab.Prepare = func(context.Context, dyno.Subject) error { t.Error("it is built"); return nil }
	err := f.lab.PrepareAll(t.Context(), e)
	slices.Sort(asked)
	if err == nil || err.Error() != "no group can be made" || asked[len(asked)-1] != "memory=64MiB" {
		t.Errorf("%v, asked %q", err, asked)
	}
}

// A mistake of the last setting is told before the first is prepared.
func TestAllAreVettedFirst(t *testing.T) {
	mistake := errors.New("a mistake")
	prepared := 0
	l := &Lab{Hands: Hands{
		Vet: func(_ context.Context, s dyno.Subject) error {
			if s.Go == "1.99" {
				return mistake
			}
			return nil
		},
		Prepare: func(context.Context, dyno.Subject) error { prepared++; return nil },
	}}
	e := &dyno.Experiment{Subject: dyno.Subject{Package: "."}, Factors: dyno.Factors{{Name: "go", Levels: []string{"1.26", "1.99"}}}}
	if err := l.PrepareAll(t.Context(), e); !errors.Is(err, mistake) || prepared != 0 {
		t.Errorf("error %v after %d were prepared", err, prepared)
	}
}
