package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/store"
)

// A page of another site whose name was made to lead here gets nothing.
func TestRebinding(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	for _, name := range []string{"evil.example:8080", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8080", "", "127.0.0.1:8080.evil.example", "0.0.0.0:8080"} {
		for _, target := range []string{"/", "/runs/x/", "/runs/x/files/run.json", "/assets/x/web.css", "/runs/x/detail"} {
			r := httptest.NewRequest("GET", target, nil)
			r.Host = name
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusMisdirectedRequest || strings.Contains(w.Body.String(), "sessions") {
				t.Errorf("host %q, %s: status %d", name, target, w.Code)
			}
		}
	}
	r := httptest.NewRequest("GET", "http://evil.example/", nil) // an absolute address
	r.Host = "evil.example"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	want(t, w, http.StatusMisdirectedRequest, "dyno view --host")
}

// No address leads out of a run directory, however it is written, and none to a
// directory that is not in the list.
func TestTraversal(t *testing.T) {
	outside := t.TempDir()
	root := filepath.Join(outside, "runs")
	made{}.run(t, filepath.Join(root, "x"), false)
	made{}.run(t, filepath.Join(outside, "other"), false) // a run, but not below the root
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("top secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.txt": "../../secret.txt", "abs.txt": filepath.Join(outside, "secret.txt"), "up": "../..", "report.html": "../../secret.txt"} {
		if err := os.Symlink(to, filepath.Join(root, "x", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "other"), filepath.Join(root, "linked")); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	up := []string{"..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%2f", "%2e%2e%2f", "..%5c", "..\\", "....//", "%c0%ae%c0%ae", "..%00", "./..", "%2e%2e%2f%2e%2e"}
	var targets []string
	for _, u := range up {
		for _, end := range []string{"secret.txt", "/secret.txt", "%2fsecret.txt", "/other/run.json", "other/run.json"} {
			targets = append(targets,
				"/runs/x/files/"+u+end, "/runs/x/files/"+u+"/"+u+end, "/runs/x/files/trials/"+u+"/"+u+"/"+u+end,
				"/runs/"+u+end, "/runs/x/"+u+"/"+u+end, "/runs/"+u+"/other/", "/assets/"+u+end, "/assets/x/"+u+end, "/"+u+end)
		}
	}
	targets = append(targets, "/runs/x/files/link.txt", "/runs/x/files/abs.txt", "/runs/x/files/up/secret.txt", "/runs/x/files/up/", "/runs/linked/", "/runs/linked/files/run.json",
		"/runs/x/files//etc/passwd", "/runs/x/files/%2fetc%2fpasswd", "/runs//etc/", "/runs/%2fetc/", "/runs/x/report.html", "/runs/x/files/run.json%00.txt", "/runs/", "/runs", "/runs/.", "/runs/x/files/c:%5cwindows")
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	s.Hosts = append(s.Hosts, strings.TrimPrefix(server.URL, "http://"))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, target := range targets {
		r := httptest.NewRequest("GET", "/", nil)
		path, err := url.PathUnescape(target)
		if err != nil {
			t.Fatal(err)
		}
		r.URL = &url.URL{Path: path, RawPath: target}
		w := ask(s, r) // as it is
		raw, err := http.NewRequest("GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw.URL.Opaque = target // and through a connection
		raw.AddCookie(&http.Cookie{Name: cookieName(&http.Request{Host: raw.Host}), Value: s.Cookie})
		res, err := client.Do(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			status         int
			where, content string
		}{{w.Code, w.Header().Get("Location"), w.Body.String()}, {res.StatusCode, res.Header.Get("Location"), text(t, res)}} {
			if x.status == 200 || strings.Contains(x.content, "top secret") || strings.Contains(x.content, `"schema"`) {
				t.Errorf("%s: status %d, %.100s", target, x.status, x.content)
			}
			if strings.HasPrefix(x.where, "//") || strings.Contains(x.where, ":") {
				t.Errorf("%s leads to %s", target, x.where)
			}
		}
	}
	want(t, get(t, s, "/runs/x/files/run.json"), 200, `"schema"`)
	if w := get(t, s, "/runs/x/files/"); strings.Contains(w.Body.String(), "link.txt") {
		t.Error("links are listed")
	}
}

// What changes something needs the token, and a page of this site to ask for it.
func TestPost(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	for _, x := range []struct {
		name, target, token, form, site, origin string
		refused                                 bool
	}{
		{name: "no token", target: "/runs/x/stop", refused: true},
		{name: "a wrong token", target: "/runs/x/stop", token: "secre", refused: true},
		{name: "another site", target: "/runs/x/stop", token: "secret", site: "cross-site", origin: "http://evil.example", refused: true},
		{name: "another port of this host", target: "/runs/x/stop", token: "secret", site: "same-site", origin: "http://127.0.0.1:9999", refused: true},
		{name: "an old browser at another site", target: "/runs/x/stop", token: "secret", origin: "http://evil.example", refused: true},
		{name: "no origin, as of a sandbox", target: "/runs/x/stop", token: "secret", origin: "null", refused: true},
		{name: "a header", target: "/runs/x/stop", token: "secret", site: "same-origin", origin: "http://" + host},
		{name: "a header to resume", target: "/runs/x/resume", token: "secret", site: "same-origin", origin: "http://" + host},
		{name: "a form", target: "/runs/x/resume", form: "token=secret", site: "same-origin", origin: "http://" + host, refused: true},
		{name: "a program", target: "/runs/x/stop", token: "secret"},
		{name: "a token in the address", target: "/runs/x/stop?token=secret", refused: true},
		{name: "a large form", target: "/runs/x/stop", form: "x=" + strings.Repeat("x", 64<<10) + "&token=secret", refused: true},
	} {
		r := httptest.NewRequest("POST", x.target, strings.NewReader(x.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for k, v := range map[string]string{"X-Dyno-Token": x.token, "Sec-Fetch-Site": x.site, "Origin": x.origin} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		if w := ask(s, r); (w.Code == http.StatusForbidden) != x.refused {
			t.Errorf("%s: status %d", x.name, w.Code)
		}
	}
	bare := site(t, root)
	bare.Token = ""
	r := httptest.NewRequest("POST", "/runs/x/stop", nil)
	want(t, ask(bare, r), http.StatusForbidden)
	for _, x := range []struct {
		method, target string
		status         int
	}{
		{"POST", "/", 405}, {"POST", "/runs/x/", 405}, {"POST", "/runs/x/files/run.json", 405}, {"POST", "/compare", 405},
		{"GET", "/runs/x/stop", 405}, {"GET", "/runs/x/resume", 405},
		{"PUT", "/runs/x/", 405}, {"DELETE", "/runs/x/files/run.json", 405}, {"TRACE", "/", 405}, {"CONNECT", "/", 405}, {"OPTIONS", "/", 405},
	} {
		r := httptest.NewRequest(x.method, x.target, nil)
		r.Header.Set("X-Dyno-Token", "secret")
		if w := ask(s, r); w.Code != x.status {
			t.Errorf("%s %s: status %d, want %d", x.method, x.target, w.Code, x.status)
		}
	}
}

// Every answer, also one that refuses, tells the browser to do no more than show it.
func TestHeaders(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	if err := os.WriteFile(filepath.Join(root, "x", "report.html"), []byte("<script>1</script>"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	for _, target := range []string{"/", "/trend?name=sessions", "/compare", "/runs/x/", "/runs/x/files/", "/runs/x/files/run.json", "/runs/x/report.html", "/runs/x/detail", "/none", "/runs/none/", assetURL("web.css")} {
		h := get(t, s, target).Header()
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: policy %q has no %s", target, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") && !strings.HasPrefix(csp, "sandbox allow-scripts allow-downloads;") {
			t.Errorf("%s: policy %q", target, csp)
		}
		for k, v := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if h.Get(k) != v {
				t.Errorf("%s: %s is %q", target, k, h.Get(k))
			}
		}
	}
}

// A page of another site may lead a reader here, but not have us work for nothing.
func TestForeignSite(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	for _, x := range []struct {
		site, mode, dest, target string
		refused                  bool
	}{
		{"cross-site", "no-cors", "image", "/runs/x/detail", true},
		{"cross-site", "cors", "empty", "/runs/x/detail", true},
		{"same-site", "no-cors", "script", "/runs/x/", true}, // another port of this host
		{"cross-site", "navigate", "iframe", "/runs/x/", true},
		{"cross-site", "navigate", "object", "/", true},
		{"cross-site", "navigate", "document", "/runs/x/", false},         // a link
		{"cross-site", "navigate", "iframe", "/runs/x/pprof/none", false}, // from pprof's pages, which are of no site
		{"same-origin", "cors", "empty", "/runs/x/detail", false},
		{"none", "navigate", "document", "/runs/x/", false}, // typed
		{"", "", "", "/runs/x/", false},
	} {
		r := httptest.NewRequest("GET", x.target, nil)
		for k, v := range map[string]string{"Site": x.site, "Mode": x.mode, "Dest": x.dest} {
			if v != "" {
				r.Header.Set("Sec-Fetch-"+k, v)
			}
		}
		if w := ask(s, r); (w.Code == http.StatusForbidden) != x.refused {
			t.Errorf("%v: status %d", x, w.Code)
		}
	}
}

// What a run calls itself is shown and not obeyed.
func TestHostileNames(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.Token}}javascript:alert(3)`
	root := t.TempDir()
	level := dyno.Setting{{Factor: "GOGC", Value: evil}}
	for i, id := range []string{"a", "b", `<b onclick="x">&'%2f?#`} {
		made{
			name: evil, subject: "/src/" + evil, rev: "r", machine: evil, failed: evil, started: began.AddDate(0, 0, i),
			settings: []dyno.Setting{gogc("100"), level},
		}.run(t, filepath.Join(root, id), false)
	}
	if err := os.WriteFile(filepath.Join(root, "a", "<script>x.txt"), []byte(evil), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "<script>broken"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "<script>broken", "run.json"), []byte(`{"schema":9,"dyno":"<script>alert(4)</script>"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	s := site(t, root)
	s.read.page = func(*store.Dir, string) (*html.Page, error) {
		return nil, &os.PathError{Op: evil, Path: evil, Err: os.ErrInvalid}
	}
	odd := runURL(`<b onclick="x">&'%2f?#`)
	for _, target := range []string{
		"/", query("/", "q", evil), query("/", "since", evil), query("/", "name", evil),
		query("/trend", "name", evil), query("/trend", "name", evil, "metric", evil, "setting", evil), query("/trend", "name", evil, "setting", level.String(), "mixed", "1"),
		query("/trend", "name", "none"+evil),
		"/compare?a=a&b=b", query("/compare", "a", evil, "b", "b"), "/runs/a/", "/runs/a/files/", odd, odd + "files/", odd + "files/run.json", "/runs/" + url.PathEscape(evil), "/" + url.PathEscape(evil),
	} {
		w := get(t, s, target)
		if w.Code != 200 && w.Code != 404 && w.Code != 500 {
			t.Errorf("%s: status %d", target, w.Code)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		page := strings.ToLower(w.Body.String())
		for _, bad := range []string{"<script>", "<img", "<b ", `"javascript:`, "onclick=\"x", "secret"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: %s is in %.3000s", target, bad, page)
			}
		}
	}
	want(t, get(t, s, odd), 500) // it is found, and its page cannot be made
	want(t, get(t, s, odd+"files/run.json"), 200, `"schema"`)
	w := get(t, s, "/runs/a/files/"+url.PathEscape("<script>x.txt"))
	if want(t, w, 200, evil); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("a text is sent as %s", w.Header().Get("Content-Type"))
	}
}

// A mistake of ours tells the asker nothing of itself, and ends nothing.
func TestPanic(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	s.read.page = func(*store.Dir, string) (*html.Page, error) { panic("the password is 123") }
	for range mostHeavy + 1 { // places are left
		w := get(t, s, "/runs/x/")
		if want(t, w, 500, "could not be made"); strings.Contains(w.Body.String(), "password") {
			t.Error("the panic is told")
		}
	}
	want(t, get(t, s, "/"), 200)
}
