package web

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever reaches the port gets nothing but scripts and styles, unless by the address that was
// printed or by what the browser was given for it.
func TestVisit(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	s.Secret = "printed"
	visit := func(method, target, cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		r.Header.Set("X-Dyno-Token", "secret")
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	for _, x := range []struct{ method, target, cookie string }{
		{"GET", "/", ""}, {"HEAD", "/", ""}, {"GET", "/runs/x/", ""}, {"GET", "/runs/x/files/run.json", ""}, {"GET", "/runs/x/live", ""}, {"GET", "/runs/x/report.html", ""},
		{"GET", "/runs/x/pprof/" + strings.Repeat("0", 32) + "/cpu/-/top", ""}, {"GET", "/" + s.pass() + "/", ""}, {"POST", "/runs/" + s.pass() + "/stop", ""},
		{"GET", "/?secret=", ""}, {"GET", "/?secret=printe", ""}, {"GET", "/?Secret=printed", ""},
		{"POST", "/runs/x/stop", ""}, {"POST", "/runs/x/stop?secret=printed", ""}, {"POST", "/runs/x/resume", "dyno-view-8080=printed"},
		{"GET", "/", "dyno-view-8080="}, {"GET", "/", "dyno-view-8080=been"}, {"GET", "/", "dyno-view-9090=been-here"},
	} {
		w := visit(x.method, x.target, x.cookie)
		if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "sessions") || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%v: status %d, %s", x, w.Code, w.Body)
		}
	}
	want(t, visit("GET", assetURL("web.css"), ""), 200)

	for target, page := range map[string]string{"/?secret=printed": "/", "/runs/x/?base=&secret=printed": "/runs/x/?base=", "//evil.example/?secret=printed": "/evil.example/"} {
		w := visit("GET", target, "")
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != page {
			t.Errorf("%s: status %d to %q", target, w.Code, w.Header().Get("Location"))
		}
		cookie := w.Result().Cookies()
		if len(cookie) != 1 || !cookie[0].HttpOnly || cookie[0].SameSite != http.SameSiteLaxMode {
			t.Fatalf("%s: the browser is given %v", target, cookie)
		}
		want(t, visit("GET", "/runs/x/", cookie[0].Name+"="+cookie[0].Value), 200)
	}
	const here = `other=1; dyno-view-8080=been-here`
	if w := visit("GET", "/?secret=of+an+earlier+start", here); w.Header().Get("Location") != "/" {
		t.Errorf("an address of before, in a browser that was here: status %d", w.Code)
	}
	if w := visit("POST", "/runs/x/stop", here); w.Code == http.StatusForbidden {
		t.Errorf("stop: status %d, %s", w.Code, w.Body)
	}
	// A link of pprof's, of which a browser does not say where it was.
	if w := visit("GET", "/runs/x/"+s.pprofPath("heap", "GOGC=100", false, "")+"top", ""); w.Code == http.StatusForbidden {
		t.Errorf("pprof: status %d, %s", w.Code, w.Body)
	}
	if w := httptest.NewRecorder(); true { // one without a secret is closed
		r := httptest.NewRequest("GET", "/?secret=", nil)
		r.Host = host
		r.Header.Set("Cookie", "dyno-view-8080=")
		(&Site{Root: root, Hosts: []string{host}}).Handler().ServeHTTP(w, r)
		want(t, w, http.StatusForbidden)
	}
}
