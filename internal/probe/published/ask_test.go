package published

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/profiles"
)

// pages is a service that publishes what expvar and pprof have, and a page of
// Prometheus.
func pages() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/debug/vars", expvar.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "# TYPE go_goroutines gauge\ngo_goroutines 7\n")
	})
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{\"a\": 1}\n") })
	return mux
}

func TestAsk(t *testing.T) {
	plain, tls := httptest.NewServer(pages()), httptest.NewTLSServer(pages())
	defer plain.Close()
	defer tls.Close()
	for _, c := range []struct {
		probe, page string
		insecure    bool
		published   bool
		want        string // of the error; "" is none
	}{
		{"expvar", plain.URL + "/debug/vars", false, true, ""},
		{"pprof", plain.URL + "/debug/pprof", false, true, ""},
		{"pprof", plain.URL + "/debug/pprof/", false, true, ""},
		{"prometheus", plain.URL + "/metrics", false, true, ""},
		{"expvar", tls.URL + "/debug/vars", true, true, ""},
		{"expvar", plain.URL + "/other", false, false, "no memstats"},
		{"pprof", plain.URL + "/other", false, false, "not published: 404 Not Found"},
		{"prometheus", plain.URL + "/other", false, false, "not published"},
		{"expvar", plain.URL + "/nothing", false, false, "not published: 404 Not Found"},
		{"expvar", tls.URL + "/debug/vars", false, true, "certificate"},
		{"expvar", "http://127.0.0.1:1/debug/vars", false, true, "connection refused"},
		{"expvar", "ftp://127.0.0.1/debug/vars", false, true, "is not the URL of a page"},
	} {
		err := Ask(c.probe, c.page, c.insecure)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.probe, c.page, err, c.want)
		}
		if errors.Is(err, ErrNotPublished) == c.published {
			t.Errorf("%s %s: published %v: %v", c.probe, c.page, c.published, err)
		}
	}
}

// A service closes connections that have been idle; the next page is had all the
// same, and with the password.
func TestPageConn(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "secret" {
			http.Error(w, "who?", http.StatusUnauthorized)
		}
		if asked++; asked == 2 {
			w.Header().Set("Connection", "close")
		}
		fmt.Fprintf(w, "page %d", asked)
	}))
	defer s.Close()
	c, err := newPageConn(strings.Replace(s.URL, "//", "//u:secret@", 1), "text/plain", false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for n := 1; n <= 4; n++ {
		page, err := c.get(5 * time.Second)
		if want := fmt.Sprintf("page %d", n); err != nil || string(page) != want {
			t.Errorf("%q, %v, want %s", page, err, want)
		}
		if n == 3 {
			s.CloseClientConnections()
		}
	}
}

// The index counts goroutines, in the words of every version of Go.
func TestParseIndex(t *testing.T) {
	rec := httptest.NewRecorder()
	pprof.Index(rec, httptest.NewRequest(http.MethodGet, "/debug/pprof/", nil))
	for name, page := range map[string]string{
		"now":   rec.Body.String(),
		"go1.8": `<tr><td align=right>12<td><a href="goroutine?debug=1">goroutine</a><tr><td align=right>5<td><a href="threadcreate?debug=1">threadcreate</a>`,
		"go1.14": `<tr><td>12</td><td><a href=goroutine?debug=1>goroutine</a></td></tr>
<tr>
<td>5</td><td><a href=threadcreate?debug=1>threadcreate</a></td>`,
	} {
		numbers, err := parseIndex([]byte(page))
		if err != nil || len(numbers) != 2 || numbers[0].value < 1 || numbers[1].value < 1 || name != "now" && (numbers[0].value != 12 || numbers[1].value != 5) {
			t.Errorf("%s: %v, %v", name, numbers, err)
		}
	}
	for _, page := range []string{"", "hello", "goroutine?debug=1", "<td>x</td><td><a href='goroutine?debug=1'>", "<td></td><td>goroutine?debug=1"} {
		if numbers, err := parseIndex([]byte(page)); err == nil {
			t.Errorf("%q: %v", page, numbers)
		}
	}
}

func TestPprofIndex(t *testing.T) {
	s := httptest.NewServer(pages())
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Index{}.Watch(ctx, probe.Target{Pprof: s.URL + "/debug/pprof", Begun: cancel})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := r.Values.Get("goroutines"); !ok || v < 2 {
		t.Errorf("goroutines %v, %v", v, ok)
	}
	if s := seriesIn(t, r, "goroutines"); len(s.At) != 2 {
		t.Errorf("%d points", len(s.At))
	}
}

// The heap profile of a service is one that go tool pprof reads.
func TestTakeProfile(t *testing.T) {
	s := httptest.NewServer(pages())
	defer s.Close()
	for _, name := range []string{"heap", "goroutine"} {
		data, err := profiles.TakeProfile(s.URL+"/debug/pprof", name, false)
		if err != nil || len(data) < 100 || data[0] != 0x1f { // gzip
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	if _, err := profiles.TakeProfile(s.URL+"/other", "heap", false); err == nil || !strings.Contains(err.Error(), "take profile heap") {
		t.Error(err)
	}
}
