package lab

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
)

const gib = 1 << 30

// A machine is memory that a subject fills at a rate, from when it is started.
type machine struct {
	total, left, rate float64 // bytes, and bytes a second
	rss               float64 // share of what is used that is the subject's

	mu     sync.Mutex
	began  time.Time
	killed int
	most   float64 // used
}

func (m *machine) begin(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began = at
}

func (m *machine) used() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		return 0
	}
	m.most = max(m.most, m.rate*time.Since(m.began).Seconds())
	return m.rate * time.Since(m.began).Seconds()
}

// kill ends the subject; the next one is modest.
func (m *machine) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began, m.rate = time.Time{}, 0
	m.killed++
}

// hungry makes a lab whose subjects fill the memory of a machine.
func hungry(m *machine) *fake {
	f := newFake()
	f.lab.Memory = func() (float64, float64, error) { return m.left - m.used(), m.total, nil }
	f.lab.RSS = func(...int) (float64, error) { return m.rss * m.used(), nil }
	start := f.lab.Start
	f.lab.Start = func(ctx context.Context, t *dyno.Trial, dir string, _ time.Duration) (*Running, error) {
		m.begin(time.Now())
		r, err := start(ctx, t, dir, 0)
		r.Kill = m.kill
		return r, err
	}
	return f
}

// A subject that fills the memory is killed before it is full, and the
// experiment goes on.
func TestGuardStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{total: 24 * gib, left: 20 * gib, rate: 10 * gib, rss: 0.9}
		f := hungry(m)
		var rs []*dyno.Result
		err := f.lab.Run(t.Context(), experiment(1), func(r *dyno.Result) error { rs = append(rs, r); return nil })
		if err != nil || len(rs) != 2 || rs[1].Err != "" {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, want := range []string{"stopped the subject before it exhausted", "resident memory was 17.0 GiB, and 1.1 GiB was left (consider: GOMEMLIMIT"} {
			if !strings.Contains(rs[0].Err, want) {
				t.Errorf("error %q, want %s", rs[0].Err, want)
			}
		}
		if m.killed != 1 || f.log[len(f.log)-1] != "stop 2" {
			t.Errorf("killed %d times, log %q", m.killed, f.log)
		}
		if m.left-m.most < gib {
			t.Errorf("%v bytes were used at the most", m.most)
		}
	})
}

// A subject is not to blame for what others use, and where little was left from
// the beginning a small one may run.
func TestGuardSpares(t *testing.T) {
	for name, m := range map[string]*machine{
		"others":          {total: 24 * gib, left: 20 * gib, rate: 10 * gib, rss: 0.2},
		"little at first": {total: 24 * gib, left: gib, rate: gib / 100, rss: 1},
		"idle":            {total: 24 * gib, left: 20 * gib, rss: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			if r := hungry(m).lab.Trial(t.Context(), experiment(1).Trials()[0]); r.Err != "" {
				t.Errorf("%s: %s", name, r.Err)
			}
		})
	}
}

// One that is not ready yet is stopped by the end of its context.
func TestGuardStopsStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{total: 24 * gib, left: 20 * gib, rate: 10 * gib}
		f := hungry(m)
		f.lab.Start = func(ctx context.Context, _ *dyno.Trial, _ string, _ time.Duration) (*Running, error) {
			m.begin(time.Now())
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		r := f.lab.Trial(t.Context(), experiment(1).Trials()[0])
		if !strings.Contains(r.Err, "it was not ready yet, and 1.1 GiB was left") {
			t.Errorf("error %q", r.Err)
		}
	})
}

func TestRefuse(t *testing.T) {
	const left, total = 4 * gib, 16 * gib // 0.8 GiB stay free
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	for _, c := range []struct {
		gogc, limit string
		refused     bool
	}{
		{"off", "5GiB", true},
		{"-1", "5GiB", true},
		{"off", "3300MiB", true},
		{"off", "3200MiB", false},
		{"off", "{{.arg.limit}}", true},
		{"off", "4294967296", true},
		{"off", "4294967296B", true},
		{"off", "off", false}, // watched
		{"off", "", false},
		{"100", "5GiB", false}, // only a bound
	} {
		tr := &dyno.Trial{Subject: dyno.Subject{Env: map[string]string{"GOGC": c.gogc, "GOMEMLIMIT": c.limit}, Arg: map[string]string{"limit": "1TiB"}}}
		err := refuse(tr, left, total)
		if (err != nil) != c.refused {
			t.Errorf("GOGC=%s GOMEMLIMIT=%s: %v", c.gogc, c.limit, err)
		}
		if err != nil && !strings.Contains(err.Error(), "only 4.0 GiB of memory is left, and 819 MiB must stay free (consider: GOMEMLIMIT=3276MiB at most") {
			t.Error(err)
		}
	}
	t.Setenv("GOMEMLIMIT", "8GiB") // which the subject inherits
	if refuse(&dyno.Trial{Subject: dyno.Subject{Env: map[string]string{"GOGC": "off"}}}, left, total) == nil {
		t.Error("a limit of dyno's own environment is not seen")
	}
}

// A trial that is refused starts nothing, and the next one runs.
func TestRefusedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hungry(&machine{total: 16 * gib, left: 4 * gib})
		e := experiment(1)
		e.Factors = nil
		e.Settings = []dyno.Setting{{{Factor: "GOGC", Value: "off"}, {Factor: "GOMEMLIMIT", Value: "1TiB"}}, {{Factor: "GOGC", Value: "100"}}}
		failed := 0
		err := f.lab.Run(t.Context(), e, func(r *dyno.Result) error {
			if r.Err != "" {
				failed++
			}
			return nil
		})
		starts := slices.DeleteFunc(f.log, func(s string) bool { return !strings.HasPrefix(s, "start") })
		if err != nil || failed != 1 || len(starts) != 1 {
			t.Errorf("%v, %d failed, log %q", err, failed, f.log)
		}
	})
}
