package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/pace"
)

// An engineUnderTest is one way in which a scenario can be sent.
type engineUnderTest struct {
	name   string // of the test
	engine string // as the record names it
	open   bool
	http   string
	tls    bool
	choose func(context.Context, *url.URL, *dyno.Load, int) hands
}

// engines are all of them; on other systems than Linux there are no loops.
func engines(t *testing.T) []engineUnderTest {
	queued := func(ctx context.Context, base *url.URL, l *dyno.Load, links int) hands {
		h := choose(ctx, base, l, links)
		h.loops = 0
		return h
	}
	two := func(ctx context.Context, base *url.URL, l *dyno.Load, links int) hands {
		h := choose(ctx, base, l, links)
		h.loops = 2
		return h
	}
	std := func(ctx context.Context, base *url.URL, l *dyno.Load, links int) hands {
		return hands{engine.NewStd(ctx, base, l, links, engine.LimitsOf(l)), 0, pace.New}
	}
	all := []engineUnderTest{
		{"raw closed", "raw", false, "", false, choose},
		{"raw open", "raw", true, "", false, queued},
		{"std closed", "std", false, "", false, std},
		{"std open", "std", true, "", false, std},
		{"h2c closed", "std", false, "2", false, choose},
		{"h2c open", "std", true, "2", false, choose},
		{"h2 closed", "std", false, "", true, choose},
		{"TLS closed", "std", false, "1.1", true, choose},
	}
	if haveLoops() {
		all = append(all, engineUnderTest{"loop", "loop", true, "", false, choose}, engineUnderTest{"two loops", "loop", true, "", false, two})
	} else if _, err := os.Stat("/proc/self"); err == nil {
		t.Log("no epoll_pwait2 here: loops are not tested")
	}
	return all
}

// each runs f on each engine, with a service that h is.
func each(t *testing.T, h http.Handler, f func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), conns *atomic.Int64)) {
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) {
			base, conns := e.serve(t, h)
			f(t, e, func(l dyno.Load, arg map[string]string) (*Record, error) {
				l = e.load(l)
				rec, err := run(t.Context(), base, l, arg, Options{}, e.choose)
				if rec != nil && rec.Engine != e.engine {
					t.Errorf("sent by %q, want %q", rec.Engine, e.engine)
				}
				return rec, err
			}, conns)
		})
	}
}

// serve starts a server that speaks what the engine does.
func (e *engineUnderTest) serve(t *testing.T, h http.Handler) (base string, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Config.Protocols.SetHTTP2(true)
	srv.Config.ErrorLog = quiet
	if srv.EnableHTTP2 = e.tls; e.tls {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv.URL, conns
}

// load makes a closed load of the same number of requests an open one, if the
// engine needs that.
func (e *engineUnderTest) load(l dyno.Load) dyno.Load {
	l.HTTP, l.Insecure = e.http, e.tls
	if e.open && l.Replay == "" {
		l.Requests = max(l.Requests, l.RequestsPerClient*l.Concurrency)
		l.RequestsPerClient = 0
		l.Rate = dyno.PerSecond(2000)
	}
	return l
}

func (e *engineUnderTest) http2() bool { return e.http == "2" || e.tls && e.http == "" }

// Sessions: set-up, captures, cookies, templates, headers, bodies, teardown.
func TestEnginesSessions(t *testing.T) {
	s := new(shop)
	each(t, s, func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), conns *atomic.Int64) {
		s.reset()
		rec, err := run(dyno.Load{Concurrency: 5, RequestsPerClient: 20, Client: session}, map[string]string{"user": "ann"})
		if err != nil {
			t.Fatal(err)
		}
		if rec.Requests != 100 || rec.Failed != 0 || s.sessions != 5 || s.foul != 0 || len(s.open) != 0 {
			t.Errorf("%d requests, %d failed, %d sessions, %d requests in a wrong session, %d carts left; want 100, 0, 5, 0, 0",
				rec.Requests, rec.Failed, s.sessions, s.foul, len(s.open))
		}
		if rec.BytesIn != 100*100_000 || rec.BytesOut != 200 || rec.Statuses[200] != 100 {
			t.Errorf("%d bytes in, %d out, statuses %v; want those of the 100 measured requests", rec.BytesIn, rec.BytesOut, rec.Statuses)
		}
		most := int64(5) // a loop opens its own; teardown one of each client again
		if e.engine == "loop" {
			most = 15
		}
		if n := conns.Load(); n > most || n < 1 {
			t.Errorf("%d connections, want at most %d: a body was not read to its end", n, most)
		}
		if len(rec.Slowest) != 10 || rec.Slowest[0].Done-rec.Slowest[0].Due != rec.Latency.Max() {
			t.Errorf("the slowest are %v, the longest latency %v", rec.Slowest, rec.Latency.Max())
		}
		if s.lastReq.Header.Get("User-Agent") != "dyno" || s.lastReq.Header.Get("Accept-Encoding") != "" {
			t.Errorf("header %v", s.lastReq.Header)
		}
	})
}

// Every form that an answer can have is read to its end, and its connection
// used again unless the service says otherwise.
func TestEnginesAnswers(t *testing.T) {
	big := strings.Repeat("0123456789", 20_000)
	mux := http.NewServeMux()
	mux.HandleFunc("/none", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/204", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/304", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(big)))
		io.WriteString(w, big)
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-End")
		for i := 0; i < len(big); i += 50_000 {
			io.WriteString(w, big[i:i+50_000])
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-End", "yes")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(103)
		w.WriteHeader(201)
		io.WriteString(w, "made")
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	mux.HandleFunc("/length", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.ContentLength, " ", r.Host, " ", r.URL.RequestURI())
	})
	for _, tt := range []struct {
		step   dyno.Step
		status int
		bytes  int
	}{
		{dyno.Step{Path: "/none"}, 200, 0},
		{dyno.Step{Path: "/204"}, 204, 0},
		{dyno.Step{Path: "/304"}, 304, 0},
		{dyno.Step{Path: "/big"}, 200, len(big)},
		{dyno.Step{Path: "/big", Method: "HEAD"}, 200, 0},
		{dyno.Step{Path: "/chunked"}, 200, len(big)},
		{dyno.Step{Path: "/hints"}, 201, 4},
		{dyno.Step{Path: "/echo", Method: "POST", Body: big + big}, 200, 2 * len(big)},
		{dyno.Step{Path: "/length?a=b&c=%20d", Method: "POST", Headers: map[string]string{"host": "shop.example", "content-length": "7"}}, 200, len("0 shop.example /length?a=b&c=%20d")},
		{dyno.Step{Path: "/length/a b?ü#part", Headers: map[string]string{"Host": "x"}}, 404, 19},
	} {
		t.Run(tt.step.Label()[:min(len(tt.step.Label()), 20)], func(t *testing.T) {
			each(t, mux, func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), conns *atomic.Int64) {
				tt.step.Expect = []int{tt.status}
				rec, err := run(dyno.Load{Concurrency: 1, Requests: 20, Client: dyno.Client{Loop: []dyno.Step{tt.step}}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if rec.Statuses[tt.status] != 20 || rec.BytesIn != int64(20*tt.bytes) {
					t.Errorf("statuses %v, %d bytes; want 20 times %d and %d", rec.Statuses, rec.BytesIn, tt.status, tt.bytes)
				}
				most := int64(1)
				if e.engine == "std" { // net/http gives a connection back beside the caller, who may be quicker and open another
					most = 5
				}
				if n := conns.Load(); n < 1 || n > most {
					t.Errorf("%d connections, want at most %d", n, most)
				}
			})
		})
	}
}

// Requests in parallel, rests, data and targets are the same on each engine.
func TestEnginesScenarios(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users.csv")
	targets := filepath.Join(dir, "targets.txt")
	body := filepath.Join(dir, "body.bin")
	for name, text := range map[string]string{
		users:   "name,age\nann,7\nbob,8\n",
		targets: "GET /a\nX-T: 1\n\nPOST /b\n@body.bin\n",
		body:    "{{no template}}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var got []string
	each(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-T")+string(b)))
	}), func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), _ *atomic.Int64) {
		play := func(l dyno.Load, want ...string) {
			t.Helper()
			mu.Lock()
			got = nil
			mu.Unlock()
			rec, err := run(l, nil)
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(got)
			if err != nil || rec.Requests != int64(len(want)) || !slices.Equal(got, want) {
				t.Errorf("got %q, %v\nwant %q", got, err, want)
			}
		}
		play(dyno.Load{Concurrency: 1, Requests: 4, Targets: targets},
			"GET /a 1", "GET /a 1", "POST /b {{no template}}", "POST /b {{no template}}")
		play(dyno.Load{Concurrency: 1, Requests: 3, Data: map[string]string{"user": users}, Client: dyno.Client{
			Loop: []dyno.Step{{Path: "/{{.user.name}}?age={{.user.age}}&n={{counter}}"}}}},
			"GET /ann?age=7&n=0", "GET /ann?age=7&n=2", "GET /bob?age=8&n=1")
		play(dyno.Load{Concurrency: 1, Requests: 2, Client: dyno.Client{Loop: []dyno.Step{{Method: "PUT", Path: "/f", BodyFile: body}}}},
			"PUT /f {{no template}}", "PUT /f {{no template}}")
		if e.open {
			return // each request is due on its own
		}
		play(dyno.Load{Concurrency: 2, RequestsPerClient: 3, Client: dyno.Client{Loop: []dyno.Step{
			{Path: "/p{{counter}}", Parallel: dyno.Parallel{Times: 2}},
			{Sleep: dyno.Sleep{Min: 1e6, Max: 2e6}},
			{Parallel: dyno.Parallel{Steps: []dyno.Step{{Path: "/q"}, {Path: "/never"}}}},
		}}}, "GET /p0", "GET /p1", "GET /p2", "GET /p3", "GET /q", "GET /q")
	})
}

// Requests in parallel are under way at the same time, on every engine: the
// service answers none before it has all.
func TestParallel(t *testing.T) {
	for _, e := range engines(t) {
		if e.open || e.tls || e.http == "2" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			together := make(chan bool)
			var waiting atomic.Int64
			base, conns := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if waiting.Add(1)%7 == 0 {
					for range 6 {
						together <- true
					}
					return
				}
				<-together
			}))
			rec, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 21, Timeout: seconds(20), Client: dyno.Client{
				Loop: []dyno.Step{{Path: "/", Parallel: dyno.Parallel{Times: 7}}}}}), nil, Options{}, e.choose)
			if err != nil || rec.Requests != 21 || conns.Load() != 7 {
				t.Errorf("%d requests on %d connections, %v; want 21 on 7", rec.Requests, conns.Load(), err)
			}
		})
	}
}

// In HTTP/2 many requests are under way on one connection.
func TestStreams(t *testing.T) {
	var under, most atomic.Int64
	each(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := under.Add(1)
		defer under.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
	}), func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), conns *atomic.Int64) {
		if !e.open || !e.http2() {
			return
		}
		most.Store(0)
		rec, err := run(dyno.Load{Concurrency: 1, MaxInFlight: 10, Requests: 100}, nil)
		if err != nil || rec.Requests != 100 || conns.Load() != 1 || most.Load() != 10 {
			t.Errorf("%d at most under way on %d connections, %v; want 10 on 1", most.Load(), conns.Load(), err)
		}
	})
}
