package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/probe"
)

// A sliced lab has a service of 1,000 requests a second, each with 100 µs of CPU
// time, and 10 % more while the probes watch or GOGC is 50.
type sliced struct {
	*fake
	began  time.Time
	cost   float64 // of a request, seconds
	cpu    float64
	since  time.Time
	failed error // of the trace's switch
	watch  []time.Duration
}

func newSliced(t *testing.T) *sliced {
	s := &sliced{fake: newFake(), cost: 100e-6}
	s.lab.Knobs = func(int, string) (Knobs, error) { return s, nil }
	s.lab.CPU = func(int) (float64, error) { s.pay(); return s.cpu, nil }
	s.lab.Probe = func(string) (probe.Probe, bool) { return slicedProbe{s}, true }
	s.lab.Load = func(ctx context.Context, _ string, l dyno.Load, _ map[string]string, o load.Options) (*load.Record, error) {
		if err := o.Begin(ctx); err != nil {
			return nil, err
		}
		s.began, s.since = time.Now(), time.Now()
		defer o.End()
		for until := time.Now().Add(time.Duration(l.Duration)); time.Now().Before(until); {
			select {
			case <-ctx.Done():
				return &load.Record{}, context.Cause(ctx)
			case <-time.After(time.Millisecond):
				if o.Meter.Done.Add(1)%100 == 0 {
					o.Meter.Failed.Add(1)
				}
			}
		}
		return &load.Record{Sent: dyno.Sent{Requests: 4, Engine: "raw"}, Window: 4, Elapsed: time.Second}, nil
	}
	return s
}

// pay adds the CPU time since it was last paid.
func (s *sliced) pay() {
	s.cpu += time.Since(s.since).Seconds() * 1000 * s.cost
	s.since = time.Now()
}

func (s *sliced) dear(yes bool) {
	s.pay()
	if s.cost = 100e-6; yes {
		s.cost = 110e-6
	}
}

func (s *sliced) Set(factor, level string) error {
	s.say("set %s=%s", factor, level)
	s.dear(level == "50")
	return nil
}
func (s *sliced) Tick(on bool) error { s.dear(on); return nil }
func (s *sliced) Trace(bool) error   { return s.failed }
func (s *sliced) Collections() (float64, error) {
	return math.Floor(time.Since(s.began).Seconds() * 10), nil
}
func (s *sliced) Close() { s.say("knobs closed") }

type slicedProbe struct{ s *sliced }

func (p slicedProbe) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	t.Sample("rss-B", 0, 1)
	t.Begun()
	tick := time.NewTicker(23 * time.Millisecond) // never at a turn
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return probe.Reading{Warnings: dyno.Warnings{{Text: "a doubt"}}}, nil
		case <-tick.C:
			if t.Hold(ctx); ctx.Err() == nil {
				p.s.watch = append(p.s.watch, time.Since(p.s.began))
			}
		}
	}
}

func overhead(t *testing.T, pairs int) *dyno.Experiment {
	t.Helper()
	e, err := dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Package: "x"}, Repeats: pairs, Probes: dyno.Probes{Use: []string{"proc", "gctrace"}},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}, Load: dyno.Load{Requests: 7, Idle: 1e9},
	}.Overhead()
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Experiment(&e); err != nil {
		t.Fatal(err)
	}
	return &e
}

func (s *sliced) run(ctx context.Context, e *dyno.Experiment) (rs []*dyno.Result, err error) {
	err = s.lab.Run(ctx, e, func(r *dyno.Result) error { rs = append(rs, r); return nil })
	return rs, err
}

// One launch serves all slices; each says what it cost, and the probes watch in
// those that they are on in, and before and after them.
func TestOverhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newSliced(t), overhead(t, 4)
		dir := t.TempDir()
		var dirs []int
		s.lab.Dir = func(n int) (string, error) { dirs = append(dirs, n); return dir, nil }
		rs, err := s.run(t.Context(), e)
		if data, err := os.ReadFile(filepath.Join(dir, "series.csv")); !slices.Equal(dirs, []int{1}) || err != nil || string(data) != "metric,sec,value\nrss-B,0.000000,1\n" {
			t.Errorf("series of trials %v: %q, %v; want those of the whole load with the first slice", dirs, data, err)
		}
		if err != nil || len(rs) != 8 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if want := []string{"start 1", "knobs closed", "stop 1"}; !slices.Equal(sorted(s.log), sorted(want)) {
			t.Errorf("log %q", s.log)
		}
		on := []bool{true, true, true, true, true, true, true, true, true}
		for i, r := range rs {
			want := 100e-6
			if on[i] = r.Trial.Setting.String() == "probes=on"; on[i] {
				want = 110e-6
			}
			cpu, _ := r.Values.Get("cpu-sec/req")
			rate, _ := r.Values.Get("req/s")
			if math.Abs(cpu-want) > 1e-6 || math.Abs(rate-990) > 5 || r.Err != "" || r.Elapsed != 400*time.Millisecond {
				t.Errorf("slice %d, %v: %v s of CPU per request, %v/s, %v, %s", i, r.Trial.Setting, cpu, rate, r.Elapsed, r.Err)
			}
			if r.Trial.N != i+1 || r.Trial.Block != i/2+1 || r.Sent.Engine != "raw" || !slices.Equal(r.Warnings.Texts(), []string{"a doubt"}) {
				t.Errorf("slice %d: %+v", i, r)
			}
		}
		for _, at := range s.watch {
			if i := int(math.Floor(float64(at-200*time.Millisecond) / float64(400*time.Millisecond))); i >= 0 && i < 8 && !on[i] {
				t.Errorf("a probe read %v after the beginning, in slice %d, without probes", at, i)
			}
		}
		if n := len(s.watch); n < 75 || n > 95 { // four slices and the two ends
			t.Errorf("%d readings", n)
		}
	})
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// A trace that cannot be turned is a doubt, not the end.
func TestOverheadWithoutSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSliced(t)
		s.failed = errors.New("stripped")
		rs, err := s.run(t.Context(), overhead(t, 1))
		if err != nil || len(rs) != 2 || !strings.Contains(fmt.Sprint(rs[1].Warnings), "per collection: stripped") {
			t.Errorf("%v %+v", err, rs)
		}
	})
}

// A knob settles before it is measured, and few collections are a doubt.
func TestSlicesOfAKnob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for slice, doubts := range map[time.Duration]int{time.Second: 0, 200 * time.Millisecond: 1} {
			s := newSliced(t)
			e := &dyno.Experiment{
				Name: "x", Subject: dyno.Subject{Package: "x"}, Repeats: 2, Slice: dyno.Duration(slice), Probes: dyno.Probes{Use: []string{"proc"}},
				Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
			}
			if err := check.Experiment(e); err != nil {
				t.Fatal(err)
			}
			rs, err := s.run(t.Context(), e)
			if err != nil || len(rs) != 4 {
				t.Fatalf("%d results, %v", len(rs), err)
			}
			for i, r := range rs {
				if r.Elapsed != slice*3/4 || len(r.Warnings) != 1+doubts {
					t.Errorf("%v: %v, %q", slice, r.Elapsed, r.Warnings)
				}
				if want := "set " + r.Trial.Setting.String(); s.log[i+2] != want {
					t.Errorf("slice %d: %q, want %q", i, s.log[i+2], want)
				}
			}
		}
	})
}

// An interrupt keeps the slices that are over; a subject that dies has none.
func TestSlicesEndEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSliced(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		time.AfterFunc(1500*time.Millisecond, func() { cancel(stop) })
		rs, err := s.run(ctx, overhead(t, 4))
		if !errors.Is(err, stop) || len(rs) != 3 {
			t.Errorf("%d slices, %v", len(rs), err)
		}

		s = newSliced(t)
		time.AfterFunc(1500*time.Millisecond, func() { close(s.alive[1]) })
		rs, err = s.run(t.Context(), overhead(t, 4))
		if err != nil || len(rs) != 1 || rs[0].Err != "subject: exit status 3" {
			t.Errorf("%+v, %v", rs, err)
		}
	})
}

// What is done is not done again; but if one slice is missing, all are measured.
func TestSlicesSkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for missing, want := range map[int]int{0: 0, 2: 4} {
			s := newSliced(t)
			s.lab.Skip = func(n int) bool { return n != missing }
			if rs, err := s.run(t.Context(), overhead(t, 2)); err != nil || len(rs) != want {
				t.Errorf("%d results, %v", len(rs), err)
			}
		}
	})
}
