package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A bucket is a web server that keeps objects, with the conditions of RFC 9110.
type bucket struct {
	before func(w http.ResponseWriter, r *http.Request) (done bool) // may be nil

	mu      sync.Mutex
	objects map[string]string
	tags    map[string]int
}

func (b *bucket) put(path, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(path, text)
}

func (b *bucket) set(path, text string) {
	if b.objects == nil {
		b.objects, b.tags = map[string]string{}, map[string]int{}
	}
	b.objects[path] = text
	b.tags[path]++
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || b.before != nil && b.before(w, r) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.objects[r.URL.Path]
	tag := fmt.Sprintf(`"%d"`, b.tags[r.URL.Path])
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case r.Method == http.MethodGet && !ok:
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", tag)
		io.WriteString(w, text)
	case match != "" && (!ok || match != tag), none == "*" && ok, match == "" && none == "":
		w.WriteHeader(http.StatusPreconditionFailed)
	default:
		b.set(r.URL.Path, string(body))
	}
}

func serve(t *testing.T, before func(w http.ResponseWriter, r *http.Request) bool) (url string) {
	t.Helper()
	s := httptest.NewServer(&bucket{before: before})
	t.Cleanup(s.Close)
	return s.URL + "/track"
}

// Many that add at once, to a server that has nothing yet, lose nothing.
func TestServerAtOnce(t *testing.T) {
	url := serve(t, nil)
	var all []json.RawMessage
	var wg sync.WaitGroup
	for i := range 4 {
		l := open(t, url, "")
		for j := range 3 {
			n := i + 4*j
			all = append(all, line(n*10_000, "x"))
		}
		wg.Go(func() {
			for j := range 3 {
				if err := l.Add(t.Context(), []json.RawMessage{line((i+4*j)*10_000, "x")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	want(t, open(t, url, ""), all...)
}

// However few requests are served before the writer ends, each month is the former or the new one, and can be found.
func TestServerKilled(t *testing.T) {
	lives := 1_000
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
		if lives--; lives < 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return lives < 0
	})
	l := open(t, url, "")
	add(t, l, line(1, "one"))
	for n := 0; ; n++ {
		lives = n
		err := l.Add(t.Context(), []json.RawMessage{line(2, "two"), line(50_000, "new month")})
		lives = 1_000
		got := texts(t, l)
		if err == nil {
			if n < 5 || len(got) != 3 {
				t.Errorf("%q after %d requests", got, n)
			}
			break
		}
		if len(got) == 0 || got[0] != string(line(1, "one")) || !strings.Contains(err.Error(), "503") {
			t.Fatalf("%q after %d requests, %v", got, n, err)
		}
	}
}

// A server on which writers could not notice each other gets no line.
func TestServerWithoutConditions(t *testing.T) {
	for name, x := range map[string]struct {
		before func(w http.ResponseWriter, r *http.Request) bool
		want   string
	}{
		"ignores If-Match": {func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPut }, "the server ignores If-Match"},
		"weak": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				w.Header().Set("ETag", `W/"1"`)
				io.WriteString(w, `{"months":[]}`)
				return true
			}
			return false
		}, "no strong ETag"},
		"no PUT": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			return r.Method == http.MethodPut
		}, "PUT index.json: 405 Method Not Allowed"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return true
		}, "302 Found (consider: the URL that it redirects to)"},
		"another page": {func(w http.ResponseWriter, r *http.Request) bool {
			io.WriteString(w, "<html>")
			return true
		}, "index.json is no index of a ledger"},
		"a path": {func(w http.ResponseWriter, r *http.Request) bool {
			io.WriteString(w, `{"months":["../../secret.jsonl"]}`)
			return true
		}, `it names "../../secret.jsonl"`},
		"without end": {func(w http.ResponseWriter, r *http.Request) bool {
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return true
				}
			}
		}, "it has more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := open(t, serve(t, x.before), "").Add(t.Context(), []json.RawMessage{line(1, "one")})
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
}

// Credentials reach the server, and no message.
func TestCredentials(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("DYNO_TRACK_AUTHORIZATION", "Bearer "+secret)
	var got *http.Request
	url := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		got = r
		w.Header().Set("Location", "https://example.org/?sig="+secret)
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "not with "+r.Header.Get("Authorization"))
		return true
	})
	silent := func(l *Ledger, want string) {
		t.Helper()
		_, _, err := l.Read(t.Context())
		if text := fmt.Sprint(l, err); err == nil || strings.Contains(text, secret) || !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
	silent(open(t, url+"?sig="+secret, ""), "read "+url+": GET index.json: 403 Forbidden (consider: DYNO_TRACK_AUTHORIZATION)")
	if got.Header.Get("Authorization") != "Bearer "+secret || got.URL.String() != "/track/index.json?sig="+secret {
		t.Errorf("%v %v", got.URL, got.Header)
	}
	silent(open(t, "http://user:"+secret+"@127.0.0.1:1/?sig="+secret, ""), "connection refused")
	t.Setenv("DYNO_TRACK_AUTHORIZATION", secret+"\n")
	silent(open(t, url, ""), "invalid header")
	t.Setenv("DYNO_TRACK_AUTHORIZATION", "")
	silent(open(t, strings.Replace(url, "//", "//user:"+secret+"@", 1), ""), "read "+url)
	if _, password, _ := got.BasicAuth(); password != secret {
		t.Errorf("%v", got.Header)
	}
}
