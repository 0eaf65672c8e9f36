package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// newService serves the demo user and a guest without permissions, with room
// for two sessions.
func newService(t testing.TB) *httptest.Server {
	t.Helper()
	users, err := loadDirectory(initialConfig)
	if err != nil {
		t.Fatal(err)
	}
	guest := &user{Name: "guest", password: users.users["demo"].password}
	users.users[guest.Name] = guest
	srv := httptest.NewServer(newAPI(users, newStore(2, time.Minute)).routes())
	t.Cleanup(srv.Close)
	return srv
}

// call sends a request with a body of JSON, checks the status, and returns
// the answer, which must be JSON or, with 204, empty.
func call(t testing.TB, srv *httptest.Server, want int, method, path, body string) any {
	t.Helper()
	req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return do(t, srv, want, req)
}

func do(t testing.TB, srv *httptest.Server, want int, req *http.Request) any {
	t.Helper()
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != want {
		t.Fatalf("%s %s = %s, want %d: %s", req.Method, req.URL.Path, resp.Status, want, data)
	}
	if want == http.StatusNoContent {
		if len(data) > 0 {
			t.Fatalf("%s %s = 204 with a body: %q", req.Method, req.URL.Path, data)
		}
		return nil
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: Content-Type %q", req.Method, req.URL.Path, got)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s %s: %v: %q", req.Method, req.URL.Path, err, data)
	}
	if want >= 400 && v.(map[string]any)["error"] == "" {
		t.Errorf("%s %s: error without a message: %s", req.Method, req.URL.Path, data)
	}
	return v
}

// login returns the path of a new session.
func login(t testing.TB, srv *httptest.Server, user string) string {
	t.Helper()
	answer := call(t, srv, 201, "POST", "/sessions", `{"user":"`+user+`","password":"demo"}`)
	id, _ := answer.(map[string]any)["id"].(string)
	if id == "" {
		t.Fatalf("login without an id: %v", answer)
	}
	return "/sessions/" + id
}

func TestSession(t *testing.T) {
	srv := newService(t)
	path := login(t, srv, "demo")

	doc := call(t, srv, 200, "PATCH", path, `{"cart":{"a":1,"b":2},"note":"x"}`).(map[string]any)
	if got, want := slices.Sorted(maps.Keys(doc)), []string{"cart", "note", "user"}; !slices.Equal(got, want) {
		t.Errorf("members after the first patch = %v, want %v", got, want)
	}
	if u := doc["user"].(map[string]any); u["email"] != "demo@example.org" || u["password"] != nil {
		t.Errorf("the document's user = %v, want the demo user without a password", u)
	}
	doc = call(t, srv, 200, "PATCH", path, `{"cart":{"a":null},"note":null}`).(map[string]any)
	if got := fmt.Sprint(doc["cart"], doc["note"]); got != "map[b:2] <nil>" {
		t.Errorf("after the second patch: %s", got)
	}

	audit := call(t, srv, 200, "GET", path+"/audit", "").([]any)
	if len(audit) != 2 {
		t.Fatalf("audit = %v, want two changes", audit)
	}
	first := audit[0].(map[string]any)
	if fmt.Sprint(first["revision"], first["members"]) != "1 [cart note]" || first["remote"] == "" {
		t.Errorf("audit[0] = %v", first)
	}

	call(t, srv, 204, "DELETE", path, "")
	call(t, srv, 404, "DELETE", path, "")
	call(t, srv, 404, "PATCH", path, `{}`)
}

// TestSessionStaysSmall holds the promise that a long load makes no leak.
func TestSessionStaysSmall(t *testing.T) {
	srv := newService(t)
	path := login(t, srv, "demo")
	for i := range 3 * trailLength {
		call(t, srv, 200, "PATCH", path, fmt.Sprintf(`{"n":%d}`, i))
	}
	if n := len(call(t, srv, 200, "GET", path+"/audit", "").([]any)); n != trailLength {
		t.Errorf("%d changes remembered, want %d", n, trailLength)
	}
	chunk := strings.Repeat("x", maxDocument/4)
	for i := range 3 {
		call(t, srv, 200, "PATCH", path, fmt.Sprintf(`{"chunk%d":%q}`, i, chunk))
	}
	call(t, srv, 422, "PATCH", path, fmt.Sprintf(`{"last":%q}`, chunk))
	if doc := call(t, srv, 200, "PATCH", path, `{}`).(map[string]any); doc["last"] != nil {
		t.Error("a refused patch was kept")
	}
}

func TestRefused(t *testing.T) {
	srv := newService(t)
	path := login(t, srv, "demo")
	guest := login(t, srv, "guest")
	for _, c := range []struct {
		want               int
		method, path, body string
	}{
		{401, "POST", "/sessions", `{"user":"demo","password":"wrong"}`},
		{401, "POST", "/sessions", `{"user":"nobody","password":"demo"}`},
		{401, "POST", "/sessions", `{}`},
		{400, "POST", "/sessions", `{"user":`},
		{400, "POST", "/sessions", ``},
		{503, "POST", "/sessions", `{"user":"demo","password":"demo"}`}, // there is room for two
		{403, "PATCH", guest, `{"a":1}`},
		{400, "PATCH", path, `[1]`},
		{400, "PATCH", path, `null`},
		{400, "PATCH", path, `{"a":1} {"b":2}`},
		{413, "PATCH", path, `{"a":"` + strings.Repeat("x", maxBody) + `"}`},
		{404, "PATCH", "/sessions/0123", `{}`},
		{404, "GET", "/sessions/0123/audit", ``},
		{404, "GET", "/", ``},
		{405, "GET", "/sessions", ``},
		{405, "PUT", path, `{}`},
		{405, "POST", "/healthz", `{}`},
	} {
		call(t, srv, c.want, c.method, c.path, c.body)
	}

	req, err := http.NewRequest("PATCH", srv.URL+path, strings.NewReader("a=1"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	do(t, srv, 415, req)
}

func TestHealth(t *testing.T) {
	srv := newService(t)
	login(t, srv, "demo")
	got := call(t, srv, 200, "GET", "/healthz", "")
	if fmt.Sprint(got) != "map[sessions:1 status:ok users:2]" {
		t.Errorf("health = %v", got)
	}
}

// BenchmarkPatch is one patch without the network: what a request of the
// study allocates.
func BenchmarkPatch(b *testing.B) {
	users, err := loadDirectory(initialConfig)
	if err != nil {
		b.Fatal(err)
	}
	sessions := newStore(1, time.Hour)
	u := users.users["demo"]
	first, err := json.Marshal(map[string]any{"user": u})
	if err != nil {
		b.Fatal(err)
	}
	id, err := sessions.open(u, first)
	if err != nil {
		b.Fatal(err)
	}
	h := newAPI(users, sessions).routes()
	b.ReportAllocs()
	for b.Loop() {
		body := strings.NewReader(`{"visits":1,"device":{"app":"mail","version":"4.2.1","locale":"fi-FI"},"draft":null}`)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("PATCH", "/sessions/"+id, body))
		if w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
