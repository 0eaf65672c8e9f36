package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/scenario"
)

// The service stands still from 3 s to 5 s. At 500/s for 10 s a fifth of the
// requests is due then, and they wait 1 s on average; but only as many as there
// are connections are under way, which is all that service time can see.
func TestOpenLoadTellsOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec, err := runFake(t.Context(), dyno.Load{Concurrency: 4, Rate: dyno.PerSecond(500), Duration: seconds(10)}, Options{},
			func(ctx context.Context, r *http1.Request) (int, error) {
				if at := time.Since(start); at >= 3*time.Second && at < 5*time.Second {
					time.Sleep(5*time.Second - at)
				}
				time.Sleep(time.Millisecond)
				return 200, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Requests != 5000 || rec.Failed != 0 || rec.Unsent != 0 || rec.Latency.Count() != 5000 {
			t.Errorf("%d requests, %d failed, %d unsent, %d latencies; want 5000, 0, 0, 5000",
				rec.Requests, rec.Failed, rec.Unsent, rec.Latency.Count())
		}
		if p := rec.Latency.Quantile(0.99); p < 1850*time.Millisecond || p > 2*time.Second {
			t.Errorf("p99 of latency is %v, want the stall's 1.9 s", p)
		}
		if p := rec.Latency.Quantile(0.5).Round(10 * time.Microsecond); p != time.Millisecond {
			t.Errorf("median latency is %v, want 1ms", p)
		}
		if p := rec.Service.Quantile(0.99).Round(10 * time.Microsecond); p != time.Millisecond {
			t.Errorf("p99 of service time is %v, want 1ms", p)
		}
		if rec.Lateness.Max() != 0 || rec.Lateness.Count() != 5000 || rec.Waited < 1000 {
			t.Errorf("lateness up to %v of %d requests, %d waited", rec.Lateness.Max(), rec.Lateness.Count(), rec.Waited)
		}
		// The rate was kept: a stall is in the latency and not in the rate.
		if math.Abs(rec.Rate-500) > 0.01 {
			t.Errorf("rate %v, want 500", rec.Rate)
		}
		if len(rec.Warnings) != 1 || !strings.Contains(rec.Warnings[0].Text, "waited for one of dyno's 4 connections") {
			t.Errorf("warnings: %q", rec.Warnings)
		}
	})
}

// A service that is stopped for 15 s of 60 holds up a quarter of the requests, by up to 15 s each. With a connection for each, the
// percentiles are those of the stop, whatever the generator does meanwhile: of 6,000 requests 600 wait longer than 9 s, and 60
// longer than 14.4 s.
func TestStoppedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec, err := runFake(t.Context(), dyno.Load{Concurrency: 2000, Rate: dyno.PerSecond(100), Duration: seconds(60)}, Options{},
			func(ctx context.Context, r *http1.Request) (int, error) {
				if at := time.Since(start); at >= 20*time.Second && at < 35*time.Second {
					time.Sleep(35*time.Second - at)
				}
				time.Sleep(time.Millisecond)
				return 200, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what      string
			got, want time.Duration
		}{
			{"p50", rec.Latency.Quantile(0.5), time.Millisecond},
			{"p90", rec.Latency.Quantile(0.9), 9 * time.Second},
			{"p99", rec.Latency.Quantile(0.99), 14400 * time.Millisecond},
			{"mean", time.Duration(rec.Latency.Mean() * float64(time.Second)), 1876 * time.Millisecond},
		} {
			if off := math.Abs(c.got.Seconds()/c.want.Seconds() - 1); off > 0.01 {
				t.Errorf("%s is %v, want %v", c.what, c.got, c.want)
			}
		}
	})
}

func TestOpenLoadBehindItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// One connection serves 1/s; 200 are due in 2 s, and 3 s are left to
		// catch up: requests go out at 0, 1, ... 5 s.
		l := dyno.Load{Concurrency: 1, Rate: dyno.PerSecond(100), Duration: seconds(2), Timeout: seconds(3)}
		rec, err := runFake(t.Context(), l, Options{}, after(time.Second))
		if rec == nil || rec.Requests != 6 || rec.Unsent != 194 {
			t.Fatalf("record %+v, error %v; want 6 requests and 194 unsent", rec, err)
		}
		want := "load http://service: 194 of 200 requests failed or were not sent in time (97 %), more than the 1% that max_failures allows: " +
			"most often not sent in time (consider: a lower rate, or more concurrency)"
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
		if got := strings.Join(rec.Warnings.Texts(), "\n"); !strings.Contains(got, "194 requests were due") ||
			!strings.Contains(got, "the rate was") {
			t.Errorf("warnings: %s", got)
		}
	})
}

func TestClosedLoadEnds(t *testing.T) {
	off := false
	for _, tt := range []struct {
		name    string
		load    dyno.Load
		want    int64 // measured
		elapsed time.Duration
	}{
		{"requests", dyno.Load{Concurrency: 3, Requests: 10}, 10, 40 * time.Millisecond},
		{"requests of each client", dyno.Load{Concurrency: 3, RequestsPerClient: 5}, 15, 50 * time.Millisecond},
		{"duration", dyno.Load{Concurrency: 2, Duration: dyno.Duration(95 * time.Millisecond)}, 20, 100 * time.Millisecond},
		{"defaults", dyno.Load{}, 10_000, 10 * time.Second},
		{"an unmeasured step", dyno.Load{Concurrency: 2, Requests: 10, Client: dyno.Client{
			Loop: []dyno.Step{{Path: "/a", Measure: &off}, {Path: "/b"}}}}, 10, 100 * time.Millisecond},
		{"two steps", dyno.Load{Concurrency: 1, Requests: 5, Client: dyno.Client{
			Loop: []dyno.Step{{Path: "/a"}, {Path: "/b"}}}}, 5, 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m Meter
				rec, err := runFake(t.Context(), tt.load, Options{Meter: &m}, after(10*time.Millisecond))
				if err != nil {
					t.Fatal(err)
				}
				if rec.Requests != tt.want || rec.Latency.Count() != tt.want || m.Done.Load() != tt.want {
					t.Errorf("%d requests, %d latencies, %d on the meter; want %d",
						rec.Requests, rec.Latency.Count(), m.Done.Load(), tt.want)
				}
				if rec.Elapsed != tt.elapsed {
					t.Errorf("elapsed %v, want %v", rec.Elapsed, tt.elapsed)
				}
				if rec.BytesIn != 7*tt.want {
					t.Errorf("%d bytes, want %d", rec.BytesIn, 7*tt.want)
				}
				if rec.Service != rec.Latency || rec.Lateness != nil {
					t.Error("a closed load has a lateness or a service time of its own")
				}
			})
		})
	}
}

func TestStepsAreRecordedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := true
		l := dyno.Load{Concurrency: 2, RequestsPerClient: 6, Client: dyno.Client{
			Setup: []dyno.Step{{Name: "login", Path: "/", Measure: &on}, {Name: "quiet", Path: "/"}},
			Loop:  []dyno.Step{{Name: "read", Path: "/1"}, {Name: "write", Path: "/2"}, {Name: "read", Path: "/1"}},
		}}
		rec, err := runFake(t.Context(), l, Options{}, after(time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range rec.Steps {
			got = append(got, fmt.Sprint(s.Label, " ", s.Requests, " ", s.Latency.Count()))
		}
		if want := []string{"login 2 2", "read 8 8", "write 4 4"}; !slices.Equal(got, want) {
			t.Errorf("steps %q, want %q", got, want)
		}
		if rec.Requests != 12 {
			t.Errorf("%d requests in all, want the 12 of the loop", rec.Requests)
		}
	})
}

// A journal notes the phase in which each request was under way.
func TestPhases(t *testing.T) {
	for _, rate := range []float64{0, 100} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m Meter
				var mu sync.Mutex
				var journal []string
				note := func(s string) {
					mu.Lock()
					defer mu.Unlock()
					if len(journal) == 0 || journal[len(journal)-1] != s {
						journal = append(journal, s)
					}
				}
				var under atomic.Int64
				quiet := func() {
					if n := under.Load(); n != 0 {
						t.Errorf("%d requests are under way", n)
					}
				}
				l := dyno.Load{Concurrency: 3, Rate: dyno.PerSecond(rate), Requests: 100, Warmup: seconds(1), Client: dyno.Client{
					Setup:    []dyno.Step{{Path: "/setup"}},
					Loop:     []dyno.Step{{Path: "/loop"}},
					Teardown: []dyno.Step{{Path: "/teardown"}},
				}}
				o := Options{
					Meter: &m,
					Begin: func(context.Context) error { quiet(); note("begin"); time.Sleep(time.Minute); return nil },
					End:   func() { quiet(); note("end") },
				}
				rec, err := runFake(t.Context(), l, o, func(ctx context.Context, r *http1.Request) (int, error) {
					under.Add(1)
					defer under.Add(-1)
					note(m.Phase() + " " + string(r.Target))
					time.Sleep(7 * time.Millisecond)
					return 200, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				want := []string{"setup /setup", "warmup /loop", "begin", "measure /loop", "end", "teardown /teardown"}
				if !slices.Equal(journal, want) {
					t.Errorf("phases %q\nwant   %q", journal, want)
				}
				if rec.Requests != 100 || rec.Latency.Max() != 7*time.Millisecond {
					t.Errorf("%d requests, up to %v; want 100 and 7ms: the warm-up does not count",
						rec.Requests, rec.Latency.Max())
				}
			})
		})
	}
}

func TestBeginFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("probe is broken")
		o := Options{Begin: func(context.Context) error { return broken }, End: func() { t.Error("End was called") }}
		rec, err := runFake(t.Context(), dyno.Load{Requests: 5}, o, after(time.Millisecond))
		if rec != nil || !errors.Is(err, broken) {
			t.Errorf("got %v, %v", rec, err)
		}
	})
}

func TestFailures(t *testing.T) {
	var n atomic.Int64
	flaky := func(ctx context.Context, r *http1.Request) (int, error) {
		time.Sleep(time.Millisecond)
		switch n.Add(1) % 10 {
		case 1, 2:
			return 503, nil
		case 3:
			return 0, fmt.Errorf("dial tcp 10.0.0.1:1: %w", syscall.ECONNREFUSED)
		case 4:
			time.Sleep(time.Hour)
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return 200, nil
	}
	synctest.Test(t, func(t *testing.T) {
		n.Store(0)
		l := dyno.Load{Concurrency: 1, Requests: 100, Timeout: seconds(5), MaxFailures: share(0.4)}
		rec, err := runFake(t.Context(), l, Options{}, flaky)
		if err != nil {
			t.Fatalf("40 %% may fail, and do: %v", err)
		}
		want := map[string]int{"status 503": 20, "connection refused": 10, "timeout": 10}
		if rec.Failed != 40 || fmt.Sprint(rec.Failures) != fmt.Sprint(want) || rec.Latency.Count() != 60 {
			t.Errorf("%d failures %v, %d latencies; want %v and 60", rec.Failed, rec.Failures, rec.Latency.Count(), want)
		}
		warning := "40 of 100 requests failed: status 503 (20, such as GET / answered \"\"), connection refused (10), timeout (10)"
		if !slices.Contains(rec.Warnings.Texts(), warning) {
			t.Errorf("warnings %q, want %q", rec.Warnings, warning)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n.Store(0)
		l := dyno.Load{Concurrency: 1, Requests: 100, Timeout: seconds(5)}
		rec, err := runFake(t.Context(), l, Options{}, flaky)
		want := "load http://service: 40 of 100 requests failed (40 %), more than the 1% that max_failures allows: " +
			"most often status 503, such as GET / answered \"\" (consider: less load; the service's log may say why)"
		if rec == nil || rec.Requests != 100 || err == nil || err.Error() != want {
			t.Errorf("record %v, error %v\nwant %s", rec, err, want)
		}
	})
}

func TestDeadService(t *testing.T) {
	dead := func(context.Context, *http1.Request) (int, error) { return 0, syscall.ECONNREFUSED }
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec, err := runFake(t.Context(), dyno.Load{Concurrency: 10, Duration: seconds(3600)}, Options{}, dead)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("gave up after %v", took)
		}
		if rec == nil || rec.Requests < hopelessAfter || err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %+v, %v", rec, err)
		}
		if len(rec.Warnings) == 0 || !strings.Contains(rec.Warnings[len(rec.Warnings)-1].Text, "ended early") {
			t.Errorf("warnings %q do not say that the load ended early", rec.Warnings)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the user wants all failures: do not spin
		rec, err := runFake(t.Context(), dyno.Load{Concurrency: 10, Duration: seconds(10), MaxFailures: share(1)}, Options{}, dead)
		if err != nil || rec.Requests < 900 || rec.Requests > 1200 {
			t.Errorf("%+v, %v; want some 10 requests per client and second", rec, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // no data is no pass
		rec, err := runFake(t.Context(), dyno.Load{Rate: dyno.PerSecond(1), Arrival: "poisson", Duration: 1}, Options{}, dead)
		if rec == nil || err == nil || !strings.Contains(err.Error(), "no request was measured") {
			t.Errorf("got %+v, %v", rec, err)
		}
	})
}

func TestContextEnds(t *testing.T) {
	died := errors.New("subject died: exit status 2")
	var teardown, ended int
	hang := func(ctx context.Context, r *http1.Request) (int, error) {
		if string(r.Target) == "/teardown" {
			teardown++
		}
		if string(r.Target) == "/fast" {
			return 200, nil
		}
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	end := func(t *testing.T, l dyno.Load, d time.Duration) (*Record, time.Duration) {
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(d, func() { cancel(died) })
		l.Client.Setup = []dyno.Step{{Path: "/fast"}}
		l.Client.Teardown = []dyno.Step{{Path: "/teardown"}}
		rec, err := runFake(ctx, l, Options{End: func() { ended++ }}, hang)
		if err != died {
			t.Errorf("error %v, want the cause", err)
		}
		return rec, time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		rec, took := end(t, dyno.Load{Concurrency: 2}, 2*time.Second)
		if took != 2*time.Second || rec == nil || rec.Requests != 0 || rec.Failed != 0 {
			t.Errorf("closed: %+v after %v", rec, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		rec, took := end(t, dyno.Load{Concurrency: 2, Rate: dyno.PerSecond(100)}, 2005*time.Millisecond)
		if took != 2005*time.Millisecond || rec == nil || rec.Requests != 0 || rec.Unsent != 199 {
			t.Errorf("open: %+v after %v; want 201 due less 2 sent", rec, took)
		}
	})
	synctest.Test(t, func(t *testing.T) { // while the pacer waits
		rec, took := end(t, dyno.Load{Concurrency: 2, Rate: dyno.PerSecond(0.01)}, 2*time.Second)
		if took != 2*time.Second || rec == nil || rec.Unsent != 0 {
			t.Errorf("slow: %+v after %v", rec, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		rec, took := end(t, dyno.Load{Warmup: seconds(5)}, 2*time.Second)
		if took != 2*time.Second || rec != nil {
			t.Errorf("warm-up: %+v after %v", rec, took)
		}
	})
	if teardown != 0 || ended != 3 {
		t.Errorf("%d requests of teardown, End %d times; want 0 and 3", teardown, ended)
	}
}

func TestShards(t *testing.T) {
	tallies := make([]scenario.Tally, 30)
	r := newRecorder(tallies, 1000, true)
	if n := len(r.shards) * (len(tallies) + 2); n > maxHistograms {
		t.Errorf("%d histograms, want at most %d", n, maxHistograms)
	}
	if n := len(newRecorder(tallies[:1], 1, false).shards); n != 1 {
		t.Errorf("one client has %d shards", n)
	}
}

func TestCausesAreFew(t *testing.T) {
	m := map[string]int{}
	for i := range 1000 {
		count(m, fmt.Sprint("cause ", i), "other")
	}
	if len(m) != maxCauses+1 || m["other"] != 1000-maxCauses {
		t.Errorf("%d causes, %d others", len(m), m["other"])
	}
	err := fmt.Errorf("read 10.0.0.1:%d: %w", 4711, http.ErrNotSupported)
	if got := failureOf(err, "").cause; strings.Contains(got, "4711") {
		t.Errorf("cause %q has an address", got)
	}
}

func share(f dyno.Fraction) *dyno.Fraction { return &f }

// Every request of an open load with a number of them is sent or counted as
// unsent, however long the gaps of a Poisson schedule turn out.
func TestPoissonRequestsAllCounted(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			l := dyno.Load{Concurrency: 2, Requests: 200, Rate: dyno.PerSecond(500), Arrival: "poisson", Seed: seed, Timeout: dyno.Duration(20 * time.Millisecond), MaxFailures: share(1)}
			rec, err := runFake(t.Context(), l, Options{}, func(context.Context, *http1.Request) (int, error) {
				time.Sleep(time.Millisecond)
				return 200, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := rec.Requests + rec.Unsent; got != 200 {
				t.Errorf("seed %d: %d requests sent and %d unsent, want 200 in all", seed, rec.Requests, rec.Unsent)
			}
		})
	}
}

// What the service does for a request is shared by all requests of the window,
// those of steps that are not measured too.
func TestSentCountsUnmeasuredSteps(t *testing.T) {
	no := false
	l := dyno.Load{Concurrency: 2, RequestsPerClient: 50, Client: dyno.Client{Loop: []dyno.Step{{Path: "/a", Measure: &no}, {Path: "/b"}}}}
	synctest.Test(t, func(t *testing.T) {
		rec, err := runFake(t.Context(), l, Options{}, func(context.Context, *http1.Request) (int, error) {
			time.Sleep(time.Millisecond)
			return 200, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Requests != 100 || rec.Window < 200 || rec.Window > 202 {
			t.Errorf("%d measured, %d sent", rec.Requests, rec.Window)
		}
	})
}

// One answer that takes long does not lower the rate of a load that was sent
// in time, be it closed or open.
func TestRateWithoutTheLastAnswer(t *testing.T) {
	for _, l := range []dyno.Load{
		{Concurrency: 4, Duration: seconds(2)},
		{Concurrency: 50, Rate: dyno.PerSecond(400), Duration: seconds(2)},
	} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			rec, err := runFake(t.Context(), l, Options{}, func(context.Context, *http1.Request) (int, error) {
				time.Sleep(10 * time.Millisecond)
				if n.Add(1) == 700 {
					time.Sleep(4 * time.Second)
				}
				return 200, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if rec.Rate < 380 || rec.Rate > 401 {
				t.Errorf("%v: rate %v, want about 400", l, rec.Rate)
			}
			if rec.Latency.Max() < 4*time.Second {
				t.Errorf("the slow answer is missing: longest %v", rec.Latency.Max())
			}
		})
	}
}

// An open load uses as few connections as will do, not one after the other.
func TestOpenLoadReusesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		used := map[any]bool{}
		l := dyno.Load{Concurrency: 100, Rate: dyno.PerSecond(100), Duration: seconds(5), Client: dyno.Client{Loop: []dyno.Step{{Path: "/{{.client}}"}}}}
		_, err := runFake(t.Context(), l, Options{}, func(_ context.Context, r *http1.Request) (int, error) {
			mu.Lock()
			used[string(r.Target)] = true
			mu.Unlock()
			time.Sleep(15 * time.Millisecond)
			return 200, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(used) > 4 {
			t.Errorf("%d of 100 clients were used for 1.5 requests at a time", len(used))
		}
	})
}
