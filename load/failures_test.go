package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

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
