package web

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/store"
)

// recorded is a profile of the analysis package's tests.
func recorded(t testing.TB, name string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "analysis", "profiles", "testdata", name+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// twoSettings is a run of two settings with slashes and spaces in their names.
func twoSettings(t *testing.T) *store.Dir {
	t.Helper()
	e := &dyno.Experiment{
		Name: "search", Repeats: 1, Profile: []string{"cpu", "allocs"},
		Subject: dyno.Subject{Binary: "/bin/true", Args: []string{"{{.arg.loop}}"}, Dir: "/"},
		Factors: dyno.Factors{{Name: "arg.loop", Levels: []string{"/with all", "/without"}}},
		Probes:  dyno.Probes{Pprof: "/debug/pprof"},
	}
	dir, err := store.Create(filepath.Join(t.TempDir(), "a", "pprof"), store.Run{Dyno: "test", Plan: e})
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// served is a site whose pprof pages are those of the two settings; reads counts
// how often profiles were read.
func served(t *testing.T, read func(kind, setting string) (*profile.Profile, int64, error)) (h http.Handler, dir *store.Dir, reads map[string]int) {
	dir, reads = twoSettings(t), map[string]int{}
	var mu sync.Mutex
	s := &Site{Root: filepath.Dir(filepath.Dir(dir.Path)), Hosts: []string{host}, Token: "secret", Cookie: "been-here", read: &reader{profile: func(_ *store.Dir, kind, setting string) (sum profiles.Sum, err error) {
		mu.Lock()
		reads[kind+" "+setting]++
		mu.Unlock()
		sum.Setting = setting
		sum.Profile, sum.Requests, err = read(kind, setting)
		return sum, err
	}}}
	return s.Handler(), dir, reads
}

func search(t *testing.T) func(kind, setting string) (*profile.Profile, int64, error) {
	return func(kind, setting string) (*profile.Profile, int64, error) {
		name := map[string]string{
			"cpu " + with: "search-cpu-go1.22.12", "cpu " + without: "search-cpu-go1.27.4",
			"allocs " + with: "search-allocs-a", "allocs " + without: "search-allocs-fast",
		}[kind+" "+setting]
		if name == "" {
			return nil, 0, fmt.Errorf("no %s profile: %w", kind, fs.ErrNotExist)
		}
		return recorded(t, name), 4000, nil
	}
}

func look(h http.Handler, path string) *httptest.ResponseRecorder {
	return lookBy(h, http.MethodGet, path)
}

func lookBy(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
	r.Host = host
	r.Header.Set("X-Dyno-Token", "secret")
	r.AddCookie(been)
	h.ServeHTTP(w, r)
	return w
}

const (
	with    = `arg.loop="/with all"`
	without = "arg.loop=/without"
)

func TestPprofPages(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no dot
	h, dir, reads := served(t, search(t))
	pass := site(t, "").pass()
	alone := "/runs/a/pprof/" + site(t, "").pprofPath("cpu", with, false, "")
	versus := "/runs/a/pprof/" + site(t, "").pprofPath("cpu", without, true, with)
	for path, want := range map[string]string{
		alone + "flamegraph":         "stackViewer(",
		alone + "top":                "makeTopTable(",
		alone + "peek?f=search":      "| ",
		versus + "flamegraph":        "stackViewer(",
		versus + "top":               "makeTopTable(",
		alone + "source?f=main.main": "main.main",
		"/runs/a/pprof/" + site(t, "").pprofPath("allocs", with, false, "") + "flamegraph?si=alloc_objects": "alloc_objects",
	} {
		w := look(h, path)
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q", path, w.Code, want)
		}
		if !strings.Contains(body, "#config, #disasm, #graphbtn { display: none !important }") {
			t.Errorf("%s offers what is not there", path)
		}
		up := map[bool]string{false: `"../../../../"`, true: `"../../../../../../"`}[strings.HasPrefix(path, versus)]
		if !strings.Contains(body, `<a href=`+up+`>back to the run`) {
			t.Errorf("%s has no way back", path)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox allow-scripts ") || strings.Contains(policy, "same-origin") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	if reads["cpu "+with] != 2 || reads["cpu "+without] != 1 {
		t.Errorf("profiles were read so often: %v", reads)
	}
	if text := look(h, versus+"top").Body.String(); !strings.Contains(text, "arg.loop=/without against arg.loop=&#34;/with all&#34;, both per million requests") {
		t.Error("the difference does not say that it is per request")
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir.Path, "results.jsonl"), now, now); err != nil {
		t.Fatal(err)
	}
	look(h, alone+"top")
	if reads["cpu "+with] != 3 {
		t.Error("a run that has changed is not read anew")
	}
	for path, code := range map[string]int{
		alone:                         http.StatusMovedPermanently,
		alone + "graph":               http.StatusNotImplemented,
		alone + "saveconfig?config=x": http.StatusForbidden,
		alone + "deleteconfig":        http.StatusForbidden,
		alone + "disasm":              http.StatusNotFound,
		alone + "download":            http.StatusOK,
		alone + "top?si=nonsense":     http.StatusBadRequest,
		"/runs/a/pprof/pprof/" + pass + "/cpu/GOGC=1/":                             http.StatusNotFound,
		"/runs/a/pprof/pprof/" + pass + "/passwd/-/":                               http.StatusNotFound,
		"/runs/a/pprof/pprof/" + pass + "/cpu":                                     http.StatusNotFound,
		"/runs/a/pprof/" + site(t, "").pprofPath("mutex", with, false, "") + "top": http.StatusNotFound,
	} {
		if w := look(h, path); w.Code != code {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, code, w.Body)
		}
	}
	if w := lookBy(h, http.MethodPost, alone+"top"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// A server that answered more requests in its windows, at the same cost of each,
// does not differ.
func TestPprofPerRequest(t *testing.T) {
	h, _, _ := served(t, func(_, setting string) (*profile.Profile, int64, error) {
		p := recorded(t, "search-cpu-go1.22.12")
		if setting == without {
			p.Scale(3)
			return p, 12_000_000, nil
		}
		return p, 4_000_000, nil
	})
	text := look(h, "/runs/a/pprof/"+site(t, "").pprofPath("cpu", without, true, with)+"top").Body.String()
	if !strings.Contains(text, "Showing nodes accounting for 0, 0% of") {
		t.Errorf("no difference is shown as one: %v", regexp.MustCompile("Showing nodes.*").FindString(text))
	}
}

// Sessions of different kinds, opened and read at once, show what was asked for.
func TestPprofAtOnce(t *testing.T) {
	h, _, _ := served(t, search(t))
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			kind, value := "cpu", "cpu"
			if i%2 == 1 {
				kind, value = "allocs", "alloc_space"
			}
			path := "/runs/a/pprof/" + site(t, "").pprofPath(kind, []string{with, without}[i/2%2], i%3 == 0, []string{with, without}[i/4%2]) + "flamegraph"
			w := look(h, path)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Type: "+value) {
				t.Errorf("%s: %d", path, w.Code)
			}
		})
	}
	all.Wait()
}

func TestCache(t *testing.T) {
	p := cache[asked, *pprofpage.Pages]{most: mostOpened}
	opened := 0
	open := func() (*pprofpage.Pages, error) { opened++; return nil, nil }
	for range 2 {
		for i := range mostOpened {
			p.get(asked{run: fmt.Sprint(i)}, "", open)
		}
	}
	if opened != mostOpened {
		t.Errorf("%d sessions were opened", opened)
	}
	p.get(asked{run: "0"}, "", open)
	p.get(asked{run: "another"}, "", open)
	p.get(asked{run: "0"}, "", open)
	if opened != mostOpened+1 || len(p.kept) != mostOpened {
		t.Errorf("the one that was asked for last is closed first: %d, %d", opened, len(p.kept))
	}
	p.get(asked{run: "1"}, "", open)
	if opened != mostOpened+2 {
		t.Error("the oldest is still open")
	}
	failed := errors.New("failed")
	for range 2 {
		if _, err := p.get(asked{run: "bad"}, "", func() (*pprofpage.Pages, error) { opened++; return nil, failed }); err != failed {
			t.Error(err)
		}
	}
	if opened != mostOpened+4 {
		t.Error("what failed is not tried again")
	}
}

// hostile is a profile all of whose names want to be markup.
func hostile() *profile.Profile {
	const evil = `"];x[URL="javascript:alert(1)" label="\</script><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`${alert(1)}{{.}}\u2028\u202e\x00&quot;"
	m := &profile.Mapping{ID: 1, File: "/x/" + evil, BuildID: evil}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "a" + evil, Unit: "count"}, {Type: "cpu" + evil, Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: evil, Unit: evil}, Mapping: []*profile.Mapping{m},
		Comments: []string{evil}, DocURL: "javascript:alert(1)", DropFrames: "", TimeNanos: 1, DurationNanos: 1e9,
	}
	var locations []*profile.Location
	for i, file := range []string{"/etc/passwd", "/tmp/" + evil + ".go", evil} {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i, evil), SystemName: evil, Filename: file}
		l := &profile.Location{ID: uint64(i + 1), Mapping: m, Address: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		locations = append(locations, l)
		p.Sample = append(p.Sample, &profile.Sample{
			Location: append([]*profile.Location(nil), locations...), Value: []int64{3, 4e9},
			Label: map[string][]string{evil: {evil}, "pprof::base": {"true"}}, NumLabel: map[string][]int64{evil: {1}}, NumUnit: map[string][]string{evil: {evil}},
		})
	}
	return p
}

// injected is what in a page would act: any script but those that pprof's pages
// have, any handler, or an element that a name made.
var injected = regexp.MustCompile("(?i)<img|<script>alert|href=[\"'][^\"']*javascript:|onerror=[^a]|xlink:href=\"|\u2028|\u202e|\x00|root:x:0:0")

func TestPprofHostile(t *testing.T) {
	h, _, _ := served(t, func(_, setting string) (*profile.Profile, int64, error) { return hostile(), int64(len(setting)), nil })
	pages := []string{"flamegraph", "top", "peek?f=.", "source?f=.", "top?f=%22%3Cscript%3Ealert(1)", "flamegraph?tagleaf=%3Cimg%3E", "graph", "graph?unit=%22%5D%3Bx%5BURL=%22javascript:alert(1)%22%5D"}
	if _, err := exec.LookPath("dot"); err != nil {
		pages = pages[:len(pages)-2]
	}
	bodies := map[string]string{}
	for _, page := range pages {
		bodies[page] = look(h, "/runs/a/pprof/"+site(t, "").pprofPath("cpu", with, false, "")+page).Body.String()
		bodies["vs "+page] = look(h, "/runs/a/pprof/"+site(t, "").pprofPath("cpu", with, true, without)+page).Body.String()
	}
	for name, body := range bodies {
		if found := injected.FindString(body); found != "" {
			i := strings.Index(body, found)
			t.Errorf("%s has %q: %q", name, found, body[max(0, i-200):min(len(body), i+100)])
		}
		// Whatever a name did to end a script early shows in how many there are.
		scripts := map[string]int{"flamegraph": 3, "top": 2, "peek": 2, "source": 3, "graph": 2}
		kind := regexp.MustCompile("[a-z]+").FindString(strings.TrimPrefix(name, "vs "))
		if n := strings.Count(strings.ToLower(body), "<script"); n != scripts[kind] || strings.Count(strings.ToLower(body), "</script") != n {
			t.Errorf("%s has %d scripts, want %d: %.300s", name, n, scripts[kind], body)
		}
	}
}
