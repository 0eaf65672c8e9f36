package main

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func ask(t *testing.T, h http.Handler, status int, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	if w.Code != status {
		t.Errorf("GET %s = %d, want %d: %s", target, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// TestSum holds the hash against one over the bytes that it is said to be of.
func TestSum(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := sum(file, 42)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha512.Sum512([]byte("content42"))); got != want {
		t.Errorf("sum = %s, want %s", got, want)
	}
}

func TestService(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file, err := generate(3<<20+5, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := routes(file)
	a, b := ask(t, h, 200, "/hash"), ask(t, h, 200, "/hash")
	if len(a) != 2*sha512.Size+1 || len(b) != len(a) {
		t.Errorf("answers %q and %q", a, b)
	}
	var vars struct {
		Memstats struct{ Alloc, TotalAlloc, Sys, NumGC uint64 }
	}
	if err := json.Unmarshal([]byte(ask(t, h, 200, "/debug/vars")), &vars); err != nil {
		t.Fatal(err)
	}
	if m := vars.Memstats; m.TotalAlloc < 6<<20 || m.Sys == 0 {
		t.Errorf("after two requests of 3 MiB: %+v", m)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	ask(t, h, 500, "/hash")
	ask(t, h, 404, "/")
}

func TestGenerate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var files [3][]byte
	for i, seed := range []uint64{7, 7, 8} {
		name, err := generate(2<<20+3, seed)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = os.ReadFile(name); err != nil || len(files[i]) != 2<<20+3 {
			t.Fatalf("%d bytes (%v)", len(files[i]), err)
		}
	}
	if !bytes.Equal(files[0], files[1]) || bytes.Equal(files[0], files[2]) {
		t.Error("files do not depend on the seed alone")
	}
}

// TestRun finds nothing left of the file when the service has stopped, nor when
// it could not start.
func TestRun(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := run(t.Context(), options{addr: ln.Addr().String(), size: 10}); err == nil {
		t.Error("run on an address that is taken: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, options{addr: "127.0.0.1:0", size: 10, grace: time.Second}); err != nil {
		t.Errorf("run = %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
