package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newApps returns the two variants of the service over the same feeds.
func newApps(t *testing.T) (with, without *app) {
	t.Helper()
	dir := t.TempDir()
	if err := generate(dir, 1, 30); err != nil {
		t.Fatal(err)
	}
	return newApp(dir, time.Minute, true), newApp(dir, time.Minute, false)
}

// ask sends a request to the service and returns its answer.
func ask(t *testing.T, a *app, status int, method, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.routes().ServeHTTP(w, httptest.NewRequest(method, target, nil))
	if w.Code != status {
		t.Errorf("%s %s = %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	return w.Body.String()
}

const all = "&cnn=on&bbc=on&nyt=on"

// TestVariants holds the variants against each other, and both against a plain
// count of what the feeds hold.
func TestVariants(t *testing.T) {
	with, without := newApps(t)
	for _, term := range []string{"topic", "TOPIC", "Minister", `"the day"`, "no such word"} {
		want := 0
		for _, s := range with.sources {
			f, err := s.get()
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range f.items {
				if strings.Contains(strings.ToUpper(it.Description), strings.ToUpper(term)) {
					want++
				}
			}
		}
		if (want == 0) != (term == "no such word") {
			t.Errorf("%d items have %q: the feeds are no use", want, term)
		}
		target := "/search?term=" + url.QueryEscape(term) + all
		a := ask(t, with, 200, "POST", target)
		b := ask(t, without, 200, "POST", target)
		if a != b {
			t.Errorf("the variants answer %q differently:\n%s\n%s", term, a, b)
		}
		if got := strings.Count(a, "<li>"); got != want {
			t.Errorf("%d results for %q, want %d", got, term, want)
		}
	}
}

func TestChoice(t *testing.T) {
	_, a := newApps(t)
	page := ask(t, a, 200, "POST", "/search?term=topic&bbc=on")
	if !strings.Contains(page, "<em>BBC</em>") || strings.Contains(page, "<em>CNN</em>") {
		t.Errorf("a search of the BBC's feed: %s", page)
	}
	if page := ask(t, a, 200, "POST", "/search?term="+url.QueryEscape("<b>")+all); strings.Contains(page, "<b>") {
		t.Errorf("the term is not escaped: %s", page)
	}
	ask(t, a, 400, "POST", "/search?cnn=on")
	ask(t, a, 405, "GET", "/search?term=topic")
	ask(t, a, 404, "GET", "/debug/pprof/")
	if form := ask(t, a, 200, "GET", "/"); strings.Count(form, " checked") != len(providers) {
		t.Errorf("the form: %s", form)
	}
	if feed := ask(t, a, 200, "GET", "/feeds/cnn.xml"); !strings.Contains(feed, "<title>CNN</title>") {
		t.Errorf("the feed: %.200s", feed)
	}
}

// TestAllocations holds the one difference between the variants: a copy of each
// description.
func TestAllocations(t *testing.T) {
	with, without := newApps(t)
	for _, c := range []struct {
		app         *app
		least, most float64
	}{{with, 30, 35}, {without, 0, 5}} {
		f, err := c.app.sources["cnn"].get()
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(10, func() { f.search("no such word", c.app.copying) })
		if n < c.least || n > c.most {
			t.Errorf("copying %t: %v allocations in a search of 30 items, want %v to %v", c.app.copying, n, c.least, c.most)
		}
	}
}

func TestGenerate(t *testing.T) {
	var feeds [3][]byte
	for i, seed := range []uint64{7, 7, 8} {
		dir := t.TempDir()
		if err := generate(dir, seed, 20); err != nil {
			t.Fatal(err)
		}
		var err error
		if feeds[i], err = os.ReadFile(filepath.Join(dir, "nyt.xml")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(feeds[0], feeds[1]) || bytes.Equal(feeds[0], feeds[2]) {
		t.Error("feeds do not depend on the seed alone")
	}
}

// TestCache is about when a feed is read: once, and again when it is old.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := &source{ttl: 15 * time.Minute, read: func() (*feed, error) {
			reads++
			return new(feed), nil
		}}
		for _, c := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {14 * time.Minute, 1}, {time.Minute, 2}, {15 * time.Minute, 3}} {
			time.Sleep(c.wait)
			if _, err := s.get(); err != nil || reads != c.want {
				t.Errorf("after another %v: read %d times (%v), want %d", c.wait, reads, err, c.want)
			}
		}
	})
}

// TestRun starts the whole service, with profiles on a port of their own, and
// finds nothing left of its files when it has stopped.
func TestRun(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	o := options{addr: free(t), pprof: free(t), variant: "with", seed: 1, items: 1, ttl: time.Minute, grace: time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	for _, target := range []string{"http://" + o.addr + "/healthz", "http://" + o.pprof + "/debug/pprof/allocs?debug=1"} {
		if body := await(t, target, ended); body == "" {
			t.Errorf("%s answers nothing", target)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run = %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// free returns an address that was free a moment ago.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// await asks until the service answers, or has ended.
func await(t *testing.T, target string, ended chan error) string {
	t.Helper()
	for {
		resp, err := http.Get(target)
		if err == nil {
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s = %s (%v)", target, resp.Status, err)
			}
			return string(body)
		}
		select {
		case err := <-ended:
			t.Fatalf("run = %v", err)
		case <-t.Context().Done():
			t.Fatal(err)
		default:
		}
	}
}
