package load

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"net/http/httptest"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// BenchmarkLoad compares a closed load with the same requests by net/http
// alone; the difference is what scenario, deadline and recorder cost. Both
// include the server, which runs in the same process.
func BenchmarkLoad(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") }))
	defer srv.Close()
	const clients = 16
	b.Run("dyno", func(b *testing.B) {
		b.ReportAllocs()
		if _, err := Run(b.Context(), srv.URL, dyno.Load{Concurrency: clients, Requests: b.N}, nil, Options{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	})
	b.Run("nethttp", func(b *testing.B) {
		b.ReportAllocs()
		byNetHTTP(b, srv.URL, clients)
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	})
}

func byNetHTTP(b *testing.B, url string, clients int) {
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: clients}
	defer t.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for range (b.N + i) / clients {
				req, _ := http.NewRequestWithContext(b.Context(), "GET", url+"/", nil)
				resp, err := t.RoundTrip(req)
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	all.Wait()
}

// BenchmarkStep is what a request with templates and a capture costs before and
// after it is under way.
func BenchmarkStep(b *testing.B) {
	r, err := newRunner("http://127.0.0.1:1", dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{
		Method: "PATCH", Path: "/sessions/{{.client}}", Body: `{"n":{{.n}}}`,
		Headers: map[string]string{"Content-Type": "application/json"}, Capture: map[string]string{"id": ".id"},
	}}}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := r.scenario.Loop[0]
	c := newClient(r, 0, 0, r.rec.shard(0))
	a := &http1.Answer{Body: []byte(`{"id":"0123456789","name":"a name"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Render(new(http1.Request), c.vars); err != nil {
			b.Fatal(err)
		}
		if err := s.Capture(b.Context(), a, c.vars); err != nil {
			b.Fatal(err)
		}
	}
}
