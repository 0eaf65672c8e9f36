package load

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/turn"
	rota "github.com/dynolab/dyno/internal/turns"
)

// beside plays loads in turns by the clock as a block does: all are awaited before the set-up, the
// window and its end.
func beside(ctx context.Context, seed uint64, length time.Duration, plays ...func(o Options) (*Record, error)) (recs []*Record, errs []error) {
	r := rota.New(seed)
	r.ByClock(length)
	recs, errs = make([]*Record, len(plays)), make([]error, len(plays))
	var members []*rota.Member
	var gates []*turn.Turn
	for range plays {
		gate := turn.New()
		m := &rota.Member{Gate: gate, Follow: gate.Follow}
		r.Join(m)
		members, gates = append(members, m), append(gates, gate)
	}
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			defer m.Leave()
			m.Await(ctx, true)
			recs[i], errs[i] = plays[i](Options{
				Turn: gates[i],
				Begin: func(ctx context.Context) error {
					if err := m.Await(ctx, false); err != nil {
						return err
					}
					return m.Await(ctx, true)
				},
				End: func() { m.Await(ctx, false); gates[i].Open() },
			})
		})
	}
	r.Run(ctx)
	all.Wait()
	return recs, errs
}

// stalling answers in 1 ms, but what arrives in the first quarter of a period only after that.
func stalling(period time.Duration) service {
	began := time.Now()
	return func(context.Context, *http1.Request) (int, error) {
		if at := time.Since(began) % period; at < period/4 {
			time.Sleep(period/4 - at)
		}
		time.Sleep(time.Millisecond)
		return 200, nil
	}
}

// Percentiles of a service that stalls 500 ms of every 2 s are in turns what they are alone, with
// connections for all that is due in a stall, and without: then it takes time to catch up, which in
// turns is shorter, as less is due. Where turns fall into stalls is a matter of chance, so that p90
// of one window of 30 s has a standard deviation of 3 % with turns of 50 ms, and of 1 % with 20 ms.
func TestStallInTurns(t *testing.T) {
	l := dyno.Load{Rate: dyno.PerSecond(500), Warmup: seconds(1), Duration: seconds(30)}
	for _, c := range []struct {
		name             string
		turn             time.Duration
		settings, blocks int
		connections      int
		arrival          string
	}{
		{"two settings", 50 * time.Millisecond, 2, 6, 256, ""},
		{"three settings", 20 * time.Millisecond, 3, 6, 256, ""},
		{"few connections", 50 * time.Millisecond, 2, 6, 8, ""},
		{"at random", 50 * time.Millisecond, 2, 6, 256, "poisson"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := l
			l.Concurrency, l.Arrival = c.connections, c.arrival
			var alone *hist.Histogram
			synctest.Test(t, func(t *testing.T) {
				long := l
				long.Duration = seconds(100)
				rec, err := runFake(t.Context(), long, Options{}, stalling(2*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				alone = rec.Latency
			})
			together := make([]*hist.Histogram, c.settings)
			for seed := range uint64(c.blocks) {
				synctest.Test(t, func(t *testing.T) { stallBlock(t, l, c.turn, seed, together) })
			}
			for _, h := range together {
				said := ""
				for _, q := range []float64{0.5, 0.7, 0.9, 0.99, 0.999, 1} {
					a, b := alone.Quantile(q), h.Quantile(q)
					said += fmt.Sprintf("p%g %v %v  ", 100*q, a.Round(100*time.Microsecond), b.Round(100*time.Microsecond))
					if math.Abs(float64(b)/float64(a)-1) > 0.02 {
						t.Errorf("p%g is %v in turns, and %v alone", 100*q, b, a)
					}
				}
				t.Log("alone, in turns: " + said)
			}
		})
	}
}

// stallBlock adds the latency of a block of equal settings.
func stallBlock(t *testing.T, l dyno.Load, turn time.Duration, seed uint64, sum []*hist.Histogram) {
	var plays []func(o Options) (*Record, error)
	for range sum {
		plays = append(plays, func(o Options) (*Record, error) { return runFake(t.Context(), l, o, stalling(2*time.Second)) })
	}
	recs, errs := beside(t.Context(), seed, turn, plays...)
	for i, rec := range recs {
		constant := l.Arrival == ""
		if errs[i] != nil || rec.Unsent+rec.Failed != 0 || constant && rec.Requests != 15000 {
			t.Fatalf("%d requests, %d unsent, %d failed, %v", rec.Requests, rec.Unsent, rec.Failed, errs[i])
		}
		if late := rec.Lateness.Max(); late != 0 {
			t.Errorf("sent %v late", late)
		}
		if constant && math.Abs(rec.Rate/500-1) > 1e-6 || rec.Saturated != "" {
			t.Errorf("rate %v, saturated %q, want that of its own time, and not", rec.Rate, rec.Saturated)
		}
		if !short(rec) {
			t.Errorf("a stall reaches into the turns of others: %q", rec.Warnings)
		}
		if sum[i] == nil {
			sum[i] = hist.New()
		}
		sum[i].Merge(rec.Latency)
	}
}

// short reports whether the turns are said to be.
func short(rec *Record) bool {
	return slices.ContainsFunc(rec.Warnings, func(w dyno.Warning) bool { return w.Kind == dyno.WarnTurns })
}

// Turns are short for a service that takes more than a tenth of them, and what is late for want of
// a connection is sent at once.
func TestShortTurns(t *testing.T) {
	for _, c := range []struct {
		answer       time.Duration
		connections  int
		warn, waited bool
	}{
		{5 * time.Millisecond, 256, false, false},
		{8 * time.Millisecond, 256, true, false},
		{4 * time.Millisecond, 2, false, false},
		{9 * time.Millisecond, 4, true, true}, // which take 56 ms for the 25 requests of a turn
	} {
		synctest.Test(t, func(t *testing.T) {
			l := dyno.Load{Rate: dyno.PerSecond(500), Duration: seconds(2), Concurrency: c.connections}
			play := func(o Options) (*Record, error) { return runFake(t.Context(), l, o, after(c.answer)) }
			recs, errs := beside(t.Context(), 1, 50*time.Millisecond, play, play)
			for i, rec := range recs {
				if errs[i] != nil || short(rec) != c.warn || (rec.Waited > 0) != c.waited || rec.Requests != 1000 {
					t.Errorf("answers in %v over %d connections: %d requests, %d waited, warnings %q, %v", c.answer, c.connections, rec.Requests, rec.Waited, rec.Warnings, errs[i])
				}
				if longest := rec.Latency.Max(); longest > 2*c.answer {
					t.Errorf("answers in %v over %d connections took %v", c.answer, c.connections, longest)
				}
			}
		})
	}
}

// Clients of a closed load in turns by the clock send as many requests a second of their own time as they
// do alone: what an answer takes after its turn is not of that time.
func TestClosedByClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := func(l dyno.Load, answer time.Duration) func(o Options) (*Record, error) {
			return func(o Options) (*Record, error) { return runFake(t.Context(), l, o, after(answer)) }
		}
		timed, counted := dyno.Load{Concurrency: 2, Duration: seconds(4)}, dyno.Load{Concurrency: 2, Requests: 200}
		recs, errs := beside(t.Context(), 1, 200*time.Millisecond, play(timed, 80*time.Millisecond), play(timed, 100*time.Millisecond), play(counted, 30*time.Millisecond))
		for i, want := range []float64{2 / .08, 2 / .1, 2 / .03} {
			if got := recs[i].Rate; errs[i] != nil || math.Abs(got/want-1) > 0.03 {
				t.Errorf("load %d: %v requests per second, want %v, %v", i, got, want, errs[i])
			}
		}
		if !short(recs[1]) {
			t.Error("turns that are short for answers of 100 ms are not doubted")
		}
	})
}

// A load that falls behind in its own turns is behind by its own time, and what could not be sent
// counts.
func TestBehindInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dyno.Load{Concurrency: 1, Rate: dyno.PerSecond(100), Duration: seconds(2), Timeout: seconds(3)}
		play := func(o Options) (*Record, error) { return runFake(t.Context(), l, o, after(time.Second)) }
		recs, _ := beside(t.Context(), 1, 50*time.Millisecond, play, play)
		for _, rec := range recs { // due within 4.4 s of the clock, and 3 s to catch up
			if rec.Requests != 8 || rec.Unsent != 192 || rec.Saturated == "" {
				t.Errorf("%d requests, %d unsent, saturated %q", rec.Requests, rec.Unsent, rec.Saturated)
			}
		}
	})
}

// A ramp runs over own time.
func TestRampInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate, err := dyno.ParseRate("100->300 over 1s then 300 over 1s")
		if err != nil {
			t.Fatal(err)
		}
		play := func(o Options) (*Record, error) {
			return runFake(t.Context(), dyno.Load{Rate: rate, Arrival: "constant"}, o, after(time.Millisecond))
		}
		recs, errs := beside(t.Context(), 1, 50*time.Millisecond, play, play)
		for i, rec := range recs {
			if errs[i] != nil || rec.Requests != 500 || math.Abs(rec.SentRate-250) > 0.01 || rec.Elapsed < 4*time.Second || rec.Elapsed > 4500*time.Millisecond {
				t.Errorf("%d requests at %v/s in %v, %v", rec.Requests, rec.SentRate, rec.Elapsed, errs[i])
			}
		}
	})
}

// With each engine every request is due in a turn of its own load, and all are sent.
func TestEnginesTurns(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok")) })
	for _, e := range engines(t) {
		if !e.open {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			base, _ := e.serve(t, h)
			var dues [2][]time.Time
			var plays []func(o Options) (*Record, error)
			var mu sync.Mutex
			for i := range dues {
				plays = append(plays, func(o Options) (*Record, error) {
					f, err := os.Create(filepath.Join(t.TempDir(), "requests"))
					if err != nil {
						return nil, err
					}
					defer f.Close()
					o.Scratch = f
					l := e.load(dyno.Load{Concurrency: 16, Requests: 600, Warmup: seconds(.1), Timeout: seconds(30)})
					rec, err := run(t.Context(), base, l, nil, o, e.choose)
					if err != nil {
						return rec, err
					}
					for r, err := range rec.Kept {
						if err != nil {
							return rec, err
						}
						mu.Lock()
						dues[i] = append(dues[i], rec.Start.Add(r.Due))
						mu.Unlock()
					}
					return rec, nil
				})
			}
			recs, errs := beside(t.Context(), 1, 50*time.Millisecond, plays...)
			for i, rec := range recs {
				if errs[i] != nil || rec.Requests != 600 || rec.Unsent+rec.Failed != 0 || len(dues[i]) != 600 {
					t.Fatalf("%+v, %d kept, %v", rec, len(dues[i]), errs[i])
				}
				if rec.Engine != e.engine {
					t.Errorf("sent by %q", rec.Engine)
				}
			}
			// 600 requests at 2000/s are six turns, and none is due in the turns or gaps of the other.
			type one struct {
				who int
				at  time.Time
			}
			var all []one
			for i := range dues {
				for _, at := range dues[i] {
					all = append(all, one{i, at})
				}
			}
			slices.SortFunc(all, func(a, b one) int { return a.at.Compare(b.at) })
			changes := 0
			for i, a := range all[1:] {
				b := all[i]
				if a.who == b.who {
					continue
				}
				if changes++; a.at.Sub(b.at) < 5*time.Millisecond {
					t.Errorf("a request of another is due %v after one", a.at.Sub(b.at))
				}
			}
			if changes < 6 || changes > 13 {
				t.Errorf("%d changes from one to the other", changes)
			}
		})
	}
}
