package main

import (
	"bytes"
	"context"
	stdpbkdf2 "crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The examples of RFC 7386, appendix A, whose target and patch are objects.
func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":12345678901234567890.10}`, `{}`, `{"n":12345678901234567890.10}`}, // ours: no digit is lost
	} {
		target, err := decodeObject([]byte(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		patch, err := decodeObject([]byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(merge(target, patch))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c[2] {
			t.Errorf("merge(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestTrail(t *testing.T) {
	var tr trail
	for n := 1; n <= 2*trailLength+3; n++ {
		tr.add(change{Revision: n})
		list := tr.list()
		if len(list) != min(n, trailLength) || list[len(list)-1].Revision != n {
			t.Fatalf("after %d changes: %d remembered, the last is %d", n, len(list), list[len(list)-1].Revision)
		}
		for i := 1; i < len(list); i++ {
			if list[i].Revision != list[i-1].Revision+1 {
				t.Fatalf("after %d changes: %d follows %d", n, list[i].Revision, list[i-1].Revision)
			}
		}
	}
}

// The tests run on a newer Go than the service needs, so its PBKDF2 can be
// held against that of the standard library.
func TestPBKDF2(t *testing.T) {
	for _, password := range []string{"", "demo", strings.Repeat("long", 50)} {
		for _, iterations := range []int{1, 2, 1000} {
			salt := []byte("salt of " + password)
			want, err := stdpbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
			if err != nil {
				t.Fatal(err)
			}
			if got := pbkdf2([]byte(password), salt, iterations); !bytes.Equal(got, want) {
				t.Errorf("pbkdf2(%q, %d iterations) = %x, want %x", password, iterations, got, want)
			}
		}
	}
}

func TestDirectory(t *testing.T) {
	a, err := loadDirectory(initialConfig)
	if err != nil {
		t.Fatal(err)
	}
	b, err := loadDirectory(initialConfig)
	if err != nil {
		t.Fatal(err)
	}
	a.generate(100)
	b.generate(100)
	if a.len() != 101 || !reflect.DeepEqual(a, b) {
		t.Error("two directories of 100 users differ")
	}
	for name, u := range a.users {
		if _, ok := a.authenticate(name, ""); ok {
			t.Errorf("%s logs in with an empty password", name)
		}
		if !u.may("session:update") || u.may("session:upd") || u.may("zzz") {
			t.Errorf("%s: wrong permissions: %v", name, u.Permissions)
		}
	}
	for _, config := range []string{
		`{`,
		`{"users":[{"name":""}]}`,
		`{"users":[{"name":"a"},{"name":"a"}]}`,
		`{"users":[{"name":"a","password":{}}]}`,
	} {
		if _, err := loadDirectory([]byte(config)); err == nil {
			t.Errorf("loadDirectory(%s): no error", config)
		}
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(10, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { st.janitor(ctx) })
		defer wg.Wait()
		defer cancel()

		used, err := st.open(&user{}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		idle, err := st.open(&user{}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 { // 100 s, never a minute without use
			time.Sleep(20 * time.Second)
			if _, err := st.get(used); err != nil {
				t.Fatalf("a session in use: %v", err)
			}
		}
		if _, err := st.get(idle); !errors.Is(err, errNoSession) {
			t.Errorf("get of an idle session: %v", err)
		}
		if err := st.close(idle); !errors.Is(err, errNoSession) {
			t.Errorf("close of an idle session: %v", err)
		}
		if n := st.len(); n != 1 {
			t.Errorf("%d sessions held, want only the one in use", n)
		}
		time.Sleep(2 * time.Minute)
		if n := st.len(); n != 0 {
			t.Errorf("%d sessions held after all have expired", n)
		}
	})
}

// TestExpiredUnswept is about the moments between expiry and the janitor.
func TestExpiredUnswept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(10, time.Minute)
		id, err := st.open(&user{}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := st.get(id); !errors.Is(err, errNoSession) {
			t.Errorf("get of an expired session: %v", err)
		}
		if err := st.close(id); !errors.Is(err, errNoSession) {
			t.Errorf("close of an expired session: %v", err)
		}
	})
}

// TestShutdown ends the service while a request is in flight; the request is
// answered all the same.
func TestShutdown(t *testing.T) {
	users, err := loadDirectory(initialConfig)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, ln, users, newStore(1, time.Minute), 10*time.Second) }()

	// The client sends the body only when the handler asks for it
	// (100-continue), so at the first read the request is in flight.
	body := io.MultiReader(readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, io.EOF
	}), strings.NewReader(`{"user":"demo","password":"demo"}`))
	req, err := http.NewRequest("POST", "http://"+ln.Addr().String()+"/sessions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("request in flight at shutdown = %s", resp.Status)
	}
	if err := <-served; err != nil {
		t.Errorf("serve = %v", err)
	}
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		conn.Close()
		t.Error("still listening after shutdown")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
