package published

import (
	"expvar"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// BenchmarkExpvarPage is what one page costs the service, without its server.
func BenchmarkExpvarPage(b *testing.B) {
	h := expvar.Handler()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/debug/vars", nil))
	}
}

// BenchmarkParse is what one page costs dyno; large is one with 20,000 lines
// that are of no use.
func BenchmarkParse(b *testing.B) {
	vars, err := os.ReadFile("testdata/expvar/go1.27.4-2.json")
	if err != nil {
		b.Fatal(err)
	}
	page := promPage(b, "text-client_golang1.25.0-go1.27.4-2.txt")
	var more strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&more, "http_request_duration_seconds_bucket{handler=\"/x\",code=\"200\",le=\"%d\"} 17\n", i)
	}
	w := newPromWatch([]string{"jobs_total"})
	for _, c := range []struct {
		name  string
		parse func() ([]number, error)
	}{
		{"expvar", func() ([]number, error) { return parseVars(vars) }},
		{"prometheus", func() ([]number, error) { return w.parse([]byte(page)) }},
		{"prometheus-large", func() ([]number, error) { return w.parse([]byte(page + more.String())) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.parse(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
