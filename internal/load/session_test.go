package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// visit is a session of three steps with a rest.
func visit(rest time.Duration) dyno.Client {
	loop := []dyno.Step{{Name: "login", Path: "/login"}, {Name: "patch", Path: "/patch"}}
	if rest > 0 {
		loop = append(loop, dyno.Step{Sleep: dyno.Sleep{Min: dyno.Duration(rest), Max: dyno.Duration(rest)}})
	}
	return dyno.Client{Loop: append(loop, dyno.Step{Name: "logout", Path: "/logout"})}
}

// Every session is due by the schedule, whatever the others do; a later step is due when the one
// before ended.
func TestSessionsAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		began := map[string][]time.Duration{}
		start := time.Now()
		rec, err := runFake(t.Context(), dyno.Load{Rate: dyno.PerSecond(100), Duration: seconds(10), Client: visit(50 * time.Millisecond)}, Options{},
			func(_ context.Context, r *http1.Request) (int, error) {
				mu.Lock()
				began[string(r.Target)] = append(began[string(r.Target)], time.Since(start))
				mu.Unlock()
				time.Sleep(map[string]time.Duration{"/login": 30 * time.Millisecond, "/patch": 5 * time.Millisecond, "/logout": time.Millisecond}[string(r.Target)])
				return 200, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Requests != 3000 || rec.Unsent != 0 || rec.Waited != 0 || len(rec.Warnings) > 0 {
			t.Errorf("%d requests, %d unsent, %d waited, %v", rec.Requests, rec.Unsent, rec.Waited, rec.Warnings)
		}
		for i := range 1000 {
			due := time.Duration(i) * 10 * time.Millisecond
			for step, at := range map[string]time.Duration{"/login": due, "/patch": due + 30*time.Millisecond, "/logout": due + 85*time.Millisecond} {
				if got := began[step][i]; got != at {
					t.Fatalf("session %d began %s at %v, want %v", i, step, got, at)
				}
			}
		}
		for i, want := range []time.Duration{30 * time.Millisecond, 5 * time.Millisecond, time.Millisecond} {
			if got := rec.Steps[i].Latency.Quantile(1); math.Abs(float64(got)/float64(want)-1) > 0.001 {
				t.Errorf("%s took %v, want %v", rec.Steps[i].Label, got, want)
			}
		}
		if rec.Lateness.Count() != 1000 {
			t.Errorf("%d sessions had a lateness, want 1000", rec.Lateness.Count())
		}
	})
}

// A stall is told in full by the first step, whose time the schedule gives, and not a second time by
// the steps after it. The steps of a session in turns are those of one alone.
func TestSessionsMeetAStall(t *testing.T) {
	l := dyno.Load{Rate: dyno.PerSecond(200), Duration: seconds(100), Client: visit(0), Concurrency: 400}
	check := func(t *testing.T, rec *Record) {
		for _, q := range []struct{ share, want float64 }{{0.9, 0.301}, {0.99, 0.481}} {
			if got := rec.Steps[0].Latency.Quantile(q.share).Seconds(); math.Abs(got/q.want-1) > 0.02 {
				t.Errorf("p%g of the first step is %.3f s, want %.3f", 100*q.share, got, q.want)
			}
		}
		if p := rec.Steps[2].Latency.Quantile(0.99); p > 5*time.Millisecond {
			t.Errorf("the last step's p99 is %v, want that of an answer: a session does not begin it in a stall", p)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		rec, err := runFake(t.Context(), l, Options{}, stalling(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		check(t, rec)
	})
	synctest.Test(t, func(t *testing.T) {
		play := func(o Options) (*Record, error) { return runFake(t.Context(), l, o, stalling(2*time.Second)) }
		recs, errs := beside(t.Context(), 1, 50*time.Millisecond, play, play)
		for i, rec := range recs {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			check(t, rec)
		}
	})
}

// Steps after the first begin in turns of their own setting only.
func TestSessionsKeepToTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dyno.Load{Rate: dyno.PerSecond(50), Duration: seconds(10), Client: visit(30 * time.Millisecond)}
		var mu sync.Mutex
		sent := make([][]time.Time, 2)
		play := func(i int) func(o Options) (*Record, error) {
			return func(o Options) (*Record, error) {
				return runFake(t.Context(), l, o, func(context.Context, *http1.Request) (int, error) {
					mu.Lock()
					sent[i] = append(sent[i], time.Now())
					mu.Unlock()
					time.Sleep(time.Millisecond)
					return 200, nil
				})
			}
		}
		const turn = 50 * time.Millisecond
		recs, errs := beside(t.Context(), 1, turn, play(0), play(1))
		for i, rec := range recs {
			if errs[i] != nil || rec.Requests != 1500 {
				t.Fatalf("%d requests, %v", rec.Requests, errs[i])
			}
			if p := rec.Latency.Quantile(1); p > 2*time.Millisecond {
				t.Errorf("the longest took %v: the time of another setting's turn counts", p)
			}
		}
		// In any turn's length both settings sending in the middle of it would be one outside its turn.
		type mark struct {
			at time.Time
			of int
		}
		var all []mark
		for i := range sent {
			for _, at := range sent[i] {
				all = append(all, mark{at, i})
			}
		}
		slices.SortFunc(all, func(a, b mark) int { return a.at.Compare(b.at) })
		changes, from := 0, all[0].at
		for i := 1; i < len(all); i++ {
			if all[i].of != all[i-1].of {
				changes++
				if d := all[i].at.Sub(from); d < turn/2 {
					t.Fatalf("a turn of %v: setting %d sent in the turn of the other", d, all[i].of)
				}
				from = all[i].at
			}
		}
		if changes < 100 {
			t.Errorf("%d turns, want hundreds", changes)
		}
	})
}

// A client that rests at the end of its session is not free: what waits for it waits for the service's
// sake, not the generator's. A first step that is not measured, or several at once, begin a session once.
func TestSessionsRest(t *testing.T) {
	no := false
	for _, first := range []dyno.Step{{Path: "/a"}, {Path: "/a", Measure: &no}, {Path: "/a", Parallel: dyno.Parallel{Times: 3}}} {
		synctest.Test(t, func(t *testing.T) {
			l := dyno.Load{Rate: dyno.PerSecond(100), Duration: seconds(2), Concurrency: 5, Client: dyno.Client{Loop: []dyno.Step{
				first, {Path: "/b"}, {Sleep: dyno.Sleep{Min: seconds(0.1), Max: seconds(0.1)}}}}}
			rec, err := runFake(t.Context(), l, Options{}, after(time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			if n := rec.Lateness.Count(); n != 200 || rec.Waited < 180 || rec.Lateness.Quantile(0.99) > time.Millisecond {
				t.Errorf("%d sessions, %d waited, lateness p99 %v", n, rec.Waited, rec.Lateness.Quantile(0.99))
			}
		})
	}
}

// What could not begin is counted, and what waited for a client.
func TestSessionsThatCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := dyno.Fraction(1)
		l := dyno.Load{Rate: dyno.PerSecond(100), Duration: seconds(5), Client: visit(0), Concurrency: 2, Timeout: seconds(1), MaxFailures: &none}
		rec, err := runFake(t.Context(), l, Options{}, after(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		// Two clients play 2/0.3 sessions a second for 6 s, and one begins at its end.
		if begun := rec.Requests / 3; begun != 41 || rec.Unsent != 500-begun {
			t.Errorf("%d sessions begun, %d not, want 41 and 459", begun, rec.Unsent)
		}
		want := []string{
			"459 sessions were due and could not begin before the load ended",
			"95.1 % of the sessions waited for one of dyno's 2 clients",
		}
		for _, text := range want {
			if !slices.ContainsFunc(rec.Warnings, func(w dyno.Warning) bool { return len(w.Text) >= len(text) && w.Text[:len(text)] == text }) {
				t.Errorf("no warning %q in %s", text, fmt.Sprint(rec.Warnings))
			}
		}
	})
}
