package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestService asks every path under every call; they do not change the answer.
func TestService(t *testing.T) {
	for name, call := range calls {
		asked := 0
		srv := httptest.NewServer(routes(10, sortedNumbers, func() { asked++; call() }))
		for path, size := range map[string]int{"/sort": 10, "/sort?size=1": 1, "/sort?size=1024": 1024} {
			var numbers []float64
			if err := json.Unmarshal([]byte(get(t, srv, 200, path)), &numbers); err != nil {
				t.Fatal(err)
			}
			if len(numbers) != size || !slices.IsSorted(numbers) || numbers[0] < 0 || numbers[size-1] >= 1 {
				t.Errorf("%s: GET %s: %v", name, path, numbers)
			}
		}
		get(t, srv, 200, "/healthz")
		for _, path := range []string{"/sort?size=0", "/sort?size=x", "/sort?size=9999999999"} {
			if got := get(t, srv, 400, path); !strings.Contains(got, "want a number from 1 to") {
				t.Errorf("GET %s: %s", path, got)
			}
		}
		if asked != 3 {
			t.Errorf("%s: asked %d times in 3 requests that did something", name, asked)
		}
		srv.Close()
	}
}

func get(t *testing.T, srv *httptest.Server, status int, path string) string {
	t.Helper()
	resp, err := srv.Client().Get(srv.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Errorf("GET %s: %d %s (%v), want %d", path, resp.StatusCode, body, err, status)
	}
	return string(body)
}

func TestBackend(t *testing.T) {
	b, err := newBackend(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			for range 5 {
				if body, err := b.work(1); err != nil || string(body) != `{"waited":true}` {
					t.Errorf("work = %s, %v", body, err)
				}
			}
		})
	}
	clients.Wait()
	if n := len(b.idle); n < 1 || n > 10 {
		t.Errorf("10 clients left %d connections", n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.work(1); err == nil {
		t.Error("a closed backend answered")
	}
}

// TestBackendClose ends a wait that would last an hour.
func TestBackendClose(t *testing.T) {
	b, err := newBackend(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.take()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the wait ended with an answer")
	}
}

func TestRun(t *testing.T) {
	for _, work := range []string{"sort", "wait"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := options{addr: freeAddr(t), size: 5, call: "metrics", work: work}
		if err := o.check(nil); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- run(ctx, o) }()
		var resp *http.Response
		var err error
		for resp == nil {
			if resp, err = http.Get("http://" + o.addr + "/sort"); err != nil {
				select {
				case err := <-served:
					t.Fatal(err)
				default: // not ready
				}
			}
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: %s", work, resp.Status)
		}
		cancel()
		if err := <-served; err != nil {
			t.Errorf("%s: %v", work, err)
		}
	}
}

func freeAddr(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestOptions(t *testing.T) {
	good := options{size: 1, call: "none", work: "sort"}
	for flag, bad := range map[string]func(*options){
		"-size": func(o *options) { o.size = mostSize + 1 },
		"-call": func(o *options) { o.call = "all" },
		"-work": func(o *options) { o.work = "" },
		"-wait": func(o *options) { o.wait = -1 },
	} {
		o := good
		bad(&o)
		if err := o.check(nil); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%+v: %v, want a word about %s", o, err, flag)
		}
	}
	if good.check(nil) != nil || good.check([]string{"x"}) == nil {
		t.Error("good options were refused, or an argument accepted")
	}
}
