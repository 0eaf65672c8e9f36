package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// A told probe reports what is in force.
type told struct{ probe.Reading }

func (p told) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	t.Begun()
	<-ctx.Done()
	return p.Reading, nil
}

// told lets the subjects of a fake lab run with GOGC=75, as the runtime says.
func (f *fake) with75() {
	reading := probe.Reading{Values: dyno.Values{{Metric: "cpu-sec", Value: 8}}, InForce: probe.InForce{dyno.InForce(75, 1<<62, 2)}}
	f.lab.Probe = func(name string) (probe.Probe, bool) {
		if name == "runtime" {
			return told{reading}, true
		}
		return fakeProbe{f}, true
	}
	start := f.lab.Start
	f.lab.Start = func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
		r, err := start(ctx, t, dir, patience)
		r.Target.Socket = "x"
		return r, err
	}
}

// A run whose settings do not take effect ends after its first block, which is kept, unless the plan allows it.
func TestOverriddenEndsTheRun(t *testing.T) {
	for allowed, trials := range map[bool]int{false: 2, true: 6} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.with75()
			f.lab.Places = func(_ context.Context, s dyno.Subject, name, value string) []dyno.Setter {
				return []dyno.Setter{{What: name + "=" + value, File: s.Binary, Line: 17}}
			}
			e := experiment(3)
			e.AllowOverridden = allowed
			var kept []*dyno.Result
			err := f.lab.Run(t.Context(), e, func(r *dyno.Result) error { kept = append(kept, r); return nil })
			over := new(OverriddenError)
			if errors.As(err, &over) == allowed || len(kept) != trials {
				t.Fatalf("allowed %t: %d trials, %v", allowed, len(kept), err)
			}
			const want = "GOGC=100 and GOGC=50 did not take effect: 75 is in force (GOGC=75, x:17)"
			if !allowed && !strings.HasPrefix(err.Error(), want+"; so the run ends (consider: ") {
				t.Errorf("the error is %v", err)
			}
			if o := kept[0].Overridden; len(o) != 1 || o[0].Places == nil || len(kept[0].InForce) != 1 {
				t.Errorf("the result has %+v, and in force %v", o, kept[0].InForce)
			}
		})
	}
}

// The environment of who answers tells, where no probe does.
func TestEnvironmentTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			r, err := start(ctx, t, dir, patience)
			r.Environ = func() dyno.Setting { return dyno.Setting{{Factor: "GOGC", Value: "75"}} }
			return r, err
		}
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		if o := r.Overridden; len(o) != 1 || o[0].By != dyno.ByEnvironment {
			t.Errorf("got %+v", o)
		}
	})
}

// If others answer in the end, nothing of the process counts, and the reason is said.
func TestMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		start := f.lab.Start
		f.lab.Start = func(ctx context.Context, t *dyno.Trial, dir string, patience time.Duration) (*Running, error) {
			r, err := start(ctx, t, dir, patience)
			r.Moved = func() string { return "others answer" }
			return r, err
		}
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		for _, metric := range []string{"cpu-sec/req", "rss-peak-B"} {
			if v, ok := r.Values.Get(metric); ok {
				t.Errorf("%s is %v", metric, v)
			}
		}
		if _, ok := r.Values.Get("req/s"); !ok || !slices.Contains(r.Warnings.Texts(), "others answer") {
			t.Errorf("values %v, warnings %v", r.Values, r.Warnings)
		}
	})
}

// Goals of collections contradict a GOGC only if they are many, and far from it.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		asked  string
		bounds probe.Bounds
		want   string
	}{
		{"400", probe.Bounds{N: 50, Lo: 60, Hi: 90}, "75"},
		{"75", probe.Bounds{N: 50, Lo: 60, Hi: 90}, ""},
		{"110", probe.Bounds{N: 50, Lo: 60, Hi: 90}, ""},
		{"400", probe.Bounds{N: 3, Lo: 60, Hi: 90}, ""},
		{"400", probe.Bounds{N: 50, Lo: 0, Hi: 390}, ""},
		{"50", probe.Bounds{N: 50, Lo: 100, Hi: 140}, "120"},
		{"off", probe.Bounds{N: 50, Lo: 100, Hi: 140}, "120"},
		{"-1", probe.Bounds{}, ""},
	} {
		got, _ := goals(dyno.Setting{{Factor: "GOGC", Value: c.asked}}, c.bounds).Get("GOGC")
		if got != c.want {
			t.Errorf("GOGC=%s and goals of %v: got %q, want %q", c.asked, c.bounds, got, c.want)
		}
	}
}
