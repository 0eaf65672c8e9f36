package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
)

// What services do between requests, and before them.

// An answer that comes with the connection, before the request, is an answer:
// so does an overloaded proxy.
func TestEnginesAnswerOnAccept(t *testing.T) {
	for _, e := range engines(t) {
		if e.tls || e.http == "2" || e.engine == "std" {
			continue // net/http, too, but only most of the time
		}
		t.Run(e.name, func(t *testing.T) {
			base, _ := serveConns(t, func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				io.Copy(io.Discard, c)
			})
			rec, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 5, Timeout: seconds(5), MaxFailures: share(1)}), nil, Options{}, e.choose)
			if err != nil || rec.Failures["status 503"] != 5 {
				t.Errorf("failures %v, %d unsent, %v; want 5 times status 503", rec.Failures, rec.Unsent, err)
			}
		})
	}
}

// A connection that the service closed while it was idle is not used, as a POST
// cannot be sent again: neither after the pause before the window, nor after a
// rest of the client.
func TestEnginesIdleConnections(t *testing.T) {
	post := dyno.Step{Method: "POST", Path: "/", Body: "x"}
	closes := func(t *testing.T) (base string, closed func()) {
		var mu sync.Mutex
		idle := map[net.Conn]bool{}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
		srv.Config.IdleTimeout = 250 * time.Millisecond
		srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			if s == http.StateClosed {
				delete(idle, c)
			} else {
				idle[c] = true
			}
		}
		srv.Start()
		t.Cleanup(srv.Close)
		return srv.URL, func() {
			for left := 1; left > 0; time.Sleep(5 * time.Millisecond) {
				mu.Lock()
				left = len(idle)
				mu.Unlock()
			}
		}
	}
	for _, e := range engines(t) {
		if e.tls || e.http == "2" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			base, closed := closes(t)
			l := e.load(dyno.Load{Concurrency: 8, Requests: 50, Warmup: seconds(.05), Client: dyno.Client{Loop: []dyno.Step{post}}})
			rec, err := run(t.Context(), base, l, nil, Options{Begin: func(context.Context) error { closed(); return nil }}, e.choose)
			if err != nil || rec.Failed != 0 {
				t.Errorf("after the warm-up: failures %v, %v", rec.Failures, err)
			}
			if e.open {
				return
			}
			rest := dyno.Step{Sleep: dyno.Sleep{Min: seconds(.5), Max: seconds(.5)}}
			rec, err = run(t.Context(), base, dyno.Load{Concurrency: 2, Requests: 4, Client: dyno.Client{Loop: []dyno.Step{post, rest}}}, nil, Options{}, e.choose)
			if err != nil || rec.Failed != 0 {
				t.Errorf("after a rest: failures %v, %v", rec.Failures, err)
			}
		})
	}
}

// 101 ends the answer: what follows is not HTTP, and has no end. It is a success only of a step that
// asked for another protocol.
func TestEnginesSwitchingProtocols(t *testing.T) {
	for _, e := range engines(t) {
		if e.tls || e.http == "2" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			base, _ := serveConns(t, func(c net.Conn) {
				readRequest(c)
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				io.Copy(io.Discard, c)
			})
			rec, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 3, Timeout: seconds(10)}), nil, Options{}, e.choose)
			if err == nil || rec.Failures["status 101"] != 3 {
				t.Errorf("unasked: statuses %v, failures %v, %v", rec.Statuses, rec.Failures, err)
			}
			ask := dyno.Step{Path: "/", Headers: map[string]string{"Connection": "Upgrade", "upgrade": "x"}}
			rec, err = run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 3, Timeout: seconds(10), Client: dyno.Client{Loop: []dyno.Step{ask}}}), nil, Options{}, e.choose)
			if err != nil || rec.Statuses[101] != 3 || rec.Failed != 0 {
				t.Errorf("asked: statuses %v, failures %v, %v", rec.Statuses, rec.Failures, err)
			}
		})
	}
}

// A service that takes a long body bit by bit is not silent, nor is one that
// answers so; the read time-out is never longer than the whole.
func TestEnginesReadTimeout(t *testing.T) {
	var all sync.WaitGroup
	for _, e := range engines(t) {
		if e.tls || e.http == "2" {
			continue
		}
		base, _ := serveConns(t, func(c net.Conn) {
			c.(*net.TCPConn).SetReadBuffer(32 << 10)
			buf := make([]byte, 1<<20)
			for all := 0; all < 16<<20; time.Sleep(150 * time.Millisecond) { // 16 MiB in more than the time-out
				n, err := io.ReadAtLeast(c, buf, 1<<20)
				if all += n; err != nil {
					return
				}
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
			for range 3 {
				time.Sleep(700 * time.Millisecond)
				io.WriteString(c, "x")
			}
			io.Copy(io.Discard, c)
		})
		l := e.load(dyno.Load{Concurrency: 1, Requests: 1, Timeout: seconds(60), ReadTimeout: seconds(2),
			Client: dyno.Client{Loop: []dyno.Step{{Method: "POST", Path: "/", Body: strings.Repeat("x", 16<<20)}}}})
		all.Go(func() { // all at once: they mostly wait
			if rec, err := run(t.Context(), base, l, nil, Options{}, e.choose); err != nil {
				t.Errorf("%s: failures %v, %v", e.name, rec.Failures, err)
			}
		})
	}
	all.Wait()
}

// A name or a CSV field with a space makes no request line of four words.
func TestEnginesEscape(t *testing.T) {
	for _, e := range engines(t) {
		if e.tls || e.http == "2" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			for path, want := range map[string]string{
				"/s?q=a b":        "/s?q=a%20b",
				"/s?q={{.arg.x}}": "/s?q=Ann%20%22L%22%C3%A9e",
				"/{{.arg.x}}#top": "/Ann%20%22L%22%C3%A9e",
			} {
				got := make(chan string, 1)
				base, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got <- r.RequestURI }))
				_, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 1, Client: dyno.Client{Loop: []dyno.Step{{Path: path}}}}),
					map[string]string{"x": `Ann "L"ée`}, Options{}, e.choose)
				if err != nil || len(got) == 0 {
					t.Errorf("%s: %v", path, err)
				} else if uri := <-got; uri != want {
					t.Errorf("%s became %s, want %s", path, uri, want)
				}
			}
		})
	}
}

// A cookie goes back as it came, quotes included.
func TestEnginesCookieQuotes(t *testing.T) {
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) {
			got := make(chan string, 1)
			base, _ := e.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/set" {
					w.Header()["Set-Cookie"] = []string{`sid="a b,c"; Path=/`}
					return
				}
				got <- r.Header.Get("Cookie")
			}))
			_, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 1, Client: dyno.Client{
				Setup: []dyno.Step{{Path: "/set"}}, Loop: []dyno.Step{{Path: "/get"}}}}), nil, Options{}, e.choose)
			if err != nil {
				t.Fatal(err)
			}
			if c := <-got; c != `sid="a b,c"` {
				t.Errorf("Cookie: %s", c)
			}
		})
	}
}

// Rests and interrupts are in the time that a rate is of.
func TestRates(t *testing.T) {
	users := func(n int, rest float64) dyno.Load {
		return dyno.Load{Concurrency: n, Duration: seconds(30), Client: dyno.Client{Loop: []dyno.Step{
			{Path: "/"}, {Sleep: dyno.Sleep{Min: seconds(rest), Max: seconds(rest)}}}}}
	}
	for _, tt := range []struct {
		name  string
		load  dyno.Load
		limit time.Duration
		want  float64
	}{
		{"interrupted", dyno.Load{Rate: dyno.PerSecond(10), Duration: seconds(10)}, 95 * time.Millisecond, 10.5},
		{"one user, a long rest", users(1, 60), time.Hour, 1. / 30},
		{"study 003", users(100, 1), time.Hour, 100},
		{"rests of 8 s", users(5, 8), time.Hour, 20. / 30},
		{"nothing after the last request", dyno.Load{Concurrency: 1, Requests: 2, Client: dyno.Client{Loop: []dyno.Step{
			{Path: "/"}, {Sleep: dyno.Sleep{Min: seconds(1), Max: seconds(1)}}}}}, time.Hour, 2 / 1.01},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			rec, _ := runFake(ctx, tt.load, Options{}, after(5*time.Millisecond))
			if rec.SentRate < 0.99*tt.want || rec.SentRate > 1.01*tt.want {
				t.Errorf("%s: %v requests per second of %d, want %v", tt.name, rec.SentRate, rec.Requests, tt.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(5) {
			start := time.Now()
			rec, err := runFake(t.Context(), dyno.Load{Rate: dyno.PerSecond(100), Requests: 100, Arrival: "poisson", Seed: seed}, Options{}, after(0))
			if want := 100 / time.Since(start).Seconds(); err != nil || rec.Rate < 0.98*want || rec.Rate > 1.02*want {
				t.Errorf("Poisson: %v per second, want about %v", rec.Rate, want)
			}
		}
	})
}

// Few requests have no 99th percentile: one that was late by accident does not
// make a generator that is saturated.
func TestFewAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := newRunner("http://service", dyno.Load{Rate: dyno.PerSecond(100), Requests: 20}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.engine, r.complete = fakeEngine{}, true
		s := r.rec.shards[0]
		for i := range 20 {
			at := time.Duration(i) * 10 * time.Millisecond
			late := time.Duration(0)
			if i == 10 {
				late = 5 * time.Millisecond
			}
			s.add(&client{shard: s}, r.scenario.Loop[0], due{at: at, free: 0}, &outcome{sent: at + late, done: at + late + time.Millisecond, status: 200})
		}
		if rec := r.record(); rec.Saturated != "" || rec.Lateness.Max() != 5*time.Millisecond {
			t.Errorf("saturated: %q, lateness up to %v", rec.Saturated, rec.Lateness.Max())
		}
	})
}

// What the generator itself holds up is its lateness, however few connections
// there are: after a pause of 300 ms the first request takes the only one, and
// those behind it do not wait for the service.
func TestPauseOfTheGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused := false
		l := dyno.Load{Concurrency: 1, Rate: dyno.PerSecond(500), Duration: seconds(2)}
		rec, err := run(t.Context(), "http://service", l, nil, Options{}, func(_ context.Context, _ *url.URL, l *dyno.Load, _ int) hands {
			return hands{fakeEngine{after(time.Millisecond), time.Minute}, 0, func(context.Context) pace.Pacer { return pausedPacer{&paused} }}
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := rec.Lateness.Quantile(0.99); p < 250*time.Millisecond || !strings.Contains(rec.Saturated, "the generator sent late") {
			t.Errorf("lateness p99 %v, saturated: %q", p, rec.Saturated)
		}
	})
}

// A pausedPacer holds up all of dyno once, a second after the start.
type pausedPacer struct{ paused *bool }

func (p pausedPacer) Wait(ctx context.Context, until time.Time) bool {
	if !*p.paused && time.Now().Second() == 1 {
		*p.paused = true
		time.Sleep(300 * time.Millisecond)
	}
	return pace.Timer{}.Wait(ctx, until)
}

func (pausedPacer) Close() {}

// A service that dies makes few failures, as clients rest after failures in a
// row; the run is no success all the same.
func TestServiceDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec, err := runFake(t.Context(), dyno.Load{Concurrency: 2, Duration: seconds(4)}, Options{}, func(ctx context.Context, r *http1.Request) (int, error) {
			time.Sleep(20 * time.Microsecond)
			if time.Since(start) > 1200*time.Millisecond {
				return 0, syscall.ECONNREFUSED
			}
			return 200, nil
		})
		want := "no request succeeded in the last 2.7"
		if err == nil || !strings.Contains(err.Error(), want) || float64(rec.Failed) > 0.01*float64(rec.Requests) {
			t.Errorf("%d of %d failed, error %v; want %s", rec.Failed, rec.Requests, err, want)
		}
	})
}

// One request that hangs while the others have finished makes no dead service,
// nor does a single failure after a rest.
func TestOneSlowRequestIsNoDeadService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, l := range []dyno.Load{
			{Concurrency: 10, Requests: 500, Timeout: seconds(2), MaxFailures: share(.5)},
			{Concurrency: 10, Duration: seconds(.05), Timeout: seconds(2), MaxFailures: share(.5)},
		} {
			var n atomic.Int64
			rec, err := runFake(t.Context(), l, Options{}, func(ctx context.Context, r *http1.Request) (int, error) {
				if n.Add(1) == 400 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				time.Sleep(time.Millisecond)
				return 200, nil
			})
			if err != nil || rec.Slow != 1 {
				t.Errorf("%d of %d timed out, %v", rec.Slow, rec.Requests, err)
			}
		}
	})
}

// Tickets are for measured requests: a step beside them that is not measured
// neither takes one nor goes on without end when there are none left.
func TestUnmeasuredBeside(t *testing.T) {
	off := false
	synctest.Test(t, func(t *testing.T) {
		sent := map[string]int{}
		l := dyno.Load{Concurrency: 1, Requests: 5, Client: dyno.Client{Loop: []dyno.Step{{Parallel: dyno.Parallel{
			Steps: []dyno.Step{{Path: "/a", Measure: &off}, {Path: "/b"}}}}}}}
		var mu sync.Mutex
		_, err := runFake(t.Context(), l, Options{}, func(ctx context.Context, r *http1.Request) (int, error) {
			mu.Lock()
			sent[string(r.Target)]++
			mu.Unlock()
			return after(time.Millisecond)(ctx, r)
		})
		if err != nil || sent["/a"] != 5 || sent["/b"] != 5 {
			t.Errorf("sent %v, %v; want 5 of each", sent, err)
		}
	})
}
