package published

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// A site publishes pages in turn, the last again and again; "" is a failure.
type site struct {
	pages []string
	asked atomic.Int64
	ended atomic.Bool // all fail from now on
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := s.pages[min(int(s.asked.Add(1)), len(s.pages))-1]
	if page == "" || s.ended.Load() {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, page)
}

// watchSite watches a site until all its pages were asked for once.
func watchSite(t *testing.T, s *site, p probe.Probe, target probe.Target) (probe.Reading, error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target.Expvar, target.Prometheus, target.Every = server.URL, server.URL, time.Millisecond
	target.Begun = func() {
		go func() {
			defer cancel()
			for int(s.asked.Load()) < len(s.pages) {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
	}
	return p.Watch(ctx, target)
}

// wantValues compares some values.
func wantValues(t *testing.T, got dyno.Values, want map[string]float64) {
	t.Helper()
	for metric, want := range want {
		if v, ok := got.Get(metric); !ok || v != want {
			t.Errorf("%s = %v, %v, want %v", metric, v, ok, want)
		}
	}
}

func vars(alloc, cycles int) string {
	return fmt.Sprintf(`{"memstats": {"Alloc": %d, "TotalAlloc": %d, "NumGC": %d}}`, alloc, 10*alloc, cycles)
}

// A page that is not had in between is a doubt; the totals do not suffer.
func TestScrapeSkips(t *testing.T) {
	s := &site{pages: []string{vars(10, 1), "", "{", vars(30, 4)}}
	r, err := watchSite(t, s, Expvar{}, probe.Target{})
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, r.Values, map[string]float64{"gc-cycles": 3, "gc-total": 4, "alloc-B": 200, "total-alloc-B": 300})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, " pages failed: ") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// Without the last page nobody knows what grew until then.
func TestScrapeWithoutEnd(t *testing.T) {
	s := &site{pages: []string{vars(10, 1), vars(30, 4), ""}}
	r, err := watchSite(t, s, Expvar{}, probe.Target{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := r.Values.Get("heap-alloc-B"); !ok || v <= 10 || v > 20 {
		t.Errorf("heap-alloc-B = %v, %v", v, ok)
	}
	for _, metric := range []string{"gc-cycles", "gc-total", "alloc-B", "total-alloc-B"} {
		if v, ok := r.Values.Get(metric); ok {
			t.Errorf("%s = %v", metric, v)
		}
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "at the end of the window and all totals are missing") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestScrapeFails(t *testing.T) {
	for _, c := range []struct {
		pages []string
		begun bool
		want  string
	}{
		{[]string{""}, false, "503 Service Unavailable (consider: the path"},
		{[]string{"<html>"}, false, "not from package expvar"},
		{[]string{`{"cmdline": []}`}, false, "no memstats (consider"},
		{[]string{vars(10, 1), ""}, true, "only the first of "},
	} {
		s := &site{pages: c.pages}
		r, err := watchSite(t, s, Expvar{}, probe.Target{})
		if err == nil || !strings.Contains(err.Error(), c.want) || len(r.Values) != 0 {
			t.Errorf("%.20q: %v, %v; want %s", c.pages, r.Values, err, c.want)
		}
		if begun := s.asked.Load() > 1; begun != c.begun {
			t.Errorf("%.20q: begun %v", c.pages, begun)
		}
	}
}

// A page has a bound, as the service may be anything.
func TestReadPage(t *testing.T) {
	var page bytes.Buffer
	for text, ok := range map[string]bool{"": true, "1234": true, "12345": false} {
		if err := readPage(&page, strings.NewReader(text), 4); (err == nil) != ok || ok && page.String() != text {
			t.Errorf("%q: %q, %v", text, &page, err)
		}
	}
}

// Counters that fall are another process's: totals would be wrong.
func TestScrapeRestart(t *testing.T) {
	s := &site{pages: []string{vars(50, 9), vars(10, 1), vars(90, 20)}}
	r, err := watchSite(t, s, Expvar{}, probe.Target{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Values.Get("gc-cycles"); ok || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "after a restart") {
		t.Errorf("%v, warnings %q", r.Values, r.Warnings)
	}
	if v, ok := r.Values.Get("heap-alloc-B"); !ok || v < 10 || v > 90 {
		t.Errorf("heap-alloc-B = %v, %v", v, ok)
	}
	for _, v := range seriesIn(t, r, "alloc-B/s").Value {
		if v < 0 {
			t.Errorf("negative rate %v", v)
		}
	}
}

// A password in the plan stays there.
func TestScrapeHidesPassword(t *testing.T) {
	_, err := Expvar{}.Watch(t.Context(), probe.Target{Expvar: "http://u:secret@127.0.0.1:1/debug/vars"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func seriesIn(t *testing.T, r probe.Reading, metric string) dyno.Series {
	t.Helper()
	for _, s := range r.Series {
		if s.Metric == metric {
			if len(s.At) != len(s.Value) {
				t.Errorf("series %s has %d times and %d values", metric, len(s.At), len(s.Value))
			}
			return s
		}
	}
	t.Errorf("no series %s", metric)
	return dyno.Series{}
}
