package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynolab/dyno"
)

// A failed request is shown with what it was answered: no more than the beginning, nothing that does
// something to a terminal, and not the query, which may hold a secret.
func TestFailureShowsAnswer(t *testing.T) {
	const answer = "{\"error\":\n  \"no \x1b[31mtenant\"}"
	nay := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(422)
		io.WriteString(w, answer+strings.Repeat("x", 1000))
	})
	for _, tt := range []struct {
		name string
		load dyno.Load
		more string
	}{
		{"loop", dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Name: "page", Path: "/a?token=secret"}}}}, "most often status 422, such as "},
		{"expect", dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/a", Expect: []int{201}}}}}, `..." (want 201) (consider: `},
		{"capture", dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/a", Expect: []int{422}, Capture: map[string]string{"x": ".x"}}}}}, "capture x: "},
		{"set-up", dyno.Load{Client: dyno.Client{Setup: []dyno.Step{{Name: "login", Path: "/a"}}, Loop: []dyno.Step{{Path: "/"}}}}, `set up client 0: step "login": status 422: `},
	} {
		each(t, nay, func(t *testing.T, e engineUnderTest, run func(dyno.Load, map[string]string) (*Record, error), _ *atomic.Int64) {
			tt.load.Concurrency, tt.load.Requests = 1, 3
			rec, err := run(tt.load, nil)
			want := `GET /a answered "{"error": "no ·[31mtenant"}x`
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), tt.more) || strings.Contains(err.Error(), "secret") || len(err.Error()) > 600 {
				t.Fatalf("%s: %v; want %s and %s", tt.name, err, want, tt.more)
			}
			if rec != nil && !strings.Contains(rec.Warnings.Texts()[0], want) {
				t.Errorf("%s: warnings %q", tt.name, rec.Warnings)
			}
		})
	}
}

// A file that looks like a template is sent as it is, and it is said.
func TestBodyFileIsNoTemplate(t *testing.T) {
	for text, want := range map[string]bool{`{"id":"{{uuid}}"}`: true, "{{ .users.name }}": true, "{{random 1 6}}": true, "\x89PNG{{\x00}}{{x}}": false} {
		file := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = string(body)
		}))
		rec, err := Run(t.Context(), service.URL, dyno.Load{Concurrency: 1, Requests: 1, Client: dyno.Client{Loop: []dyno.Step{{Path: "/", BodyFile: file}}}}, nil, Options{})
		service.Close()
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(rec.Warnings, func(w dyno.Warning) bool {
			return w.Kind == dyno.WarnTemplate && w.Of == file && strings.Contains(w.Text, "dyno sends a file as it is")
		})
		if got != text || said != want {
			t.Errorf("%q was sent as %q, said %t", text, got, said)
		}
	}
}

// What speaks another protocol than was asked for has the cure of that.
func TestCures(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") })
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer secure.Close()
	for _, tt := range []struct{ url, version, cure string }{
		{secure.URL, "", "insecure: true (--insecure)"},
		{"https" + strings.TrimPrefix(plain.URL, "http"), "", "http:// in its address"},
		{plain.URL, "2", "http: 1.1 (--http 1.1)"},
		{"http" + strings.TrimPrefix(secure.URL, "https"), "", "https:// in its address"},
	} {
		_, err := Run(t.Context(), tt.url, dyno.Load{Concurrency: 1, Requests: 1, HTTP: tt.version}, nil, Options{})
		if err == nil || !strings.Contains(err.Error(), "(consider: "+tt.cure) {
			t.Errorf("%s %s: %v; want %s", tt.url, tt.version, err, tt.cure)
		}
	}
}
