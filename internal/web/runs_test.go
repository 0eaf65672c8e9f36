package web

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/store"
)

const host = "127.0.0.1:8080" // that tests ask for

var been = &http.Cookie{Name: "dyno-view-8080", Value: "been-here"}

var began = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// A made is a run that tests make. The zero value is a run of two settings, done.
type made struct {
	name     string
	settings []dyno.Setting
	started  time.Time
	machine  string
	subject  string
	rev      string
	slower   float64 // factor of all response times; 0 means 1
	trials   int     // that have a result; 0 means all
	silent   bool    // no summary.json
	failed   string  // error of the first trial
	open     bool    // the run decides itself how many blocks it takes
	ended    dyno.Ended
}

func gogc(level string) dyno.Setting { return dyno.Setting{{Factor: "GOGC", Value: level}} }

// run makes a run directory through the store, as dyno run does. It is open until
// the test is over if open.
func (m made) run(t testing.TB, path string, open bool) {
	t.Helper()
	if m.settings == nil {
		m.settings = []dyno.Setting{gogc("100"), gogc("50")}
	}
	if m.name == "" {
		m.name = "sessions"
	}
	if m.started.IsZero() {
		m.started = began
	}
	if m.subject == "" {
		m.subject = "/src/sessions"
	}
	plan := &dyno.Experiment{
		Name: m.name, Settings: m.settings, Repeats: 6,
		Subject: dyno.Subject{Package: m.subject, Dir: "/", Rev: m.rev},
		Load:    dyno.Load{Concurrency: 2, Requests: 1000},
	}
	if m.open {
		plan.Repeats = 0
	}
	var names []string
	for _, s := range m.settings {
		names = append(names, s.String())
	}
	d, err := store.Create(path, store.Run{
		Dyno: "test", Started: m.started, Plan: plan, Settings: names, Command: []string{"dyno", "run"},
		Host: store.Host{Name: "box" + m.machine, OS: "linux", Arch: "amd64", CPU: "test", CPUs: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(m.started.Unix()), 1))
	var rs []*dyno.Result
	for i, trial := range plan.Trials() {
		if m.trials > 0 && i >= m.trials {
			break
		}
		r := m.result(rng, trial)
		if i == 0 {
			r.Err = m.failed
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	if !m.silent {
		table := compare.Tabulate(rs, compare.Options{
			Name: m.name, Settings: m.settings, Planned: plan.Compared(),
			About: []string{"subject: " + m.subject},
		})
		if err := d.WriteFile("summary.json", func(w io.Writer) error { return report.JSON(w, &tables.Report{Table: table}) }); err != nil {
			t.Fatal(err)
		}
	}
	if m.ended != "" {
		if err := d.SetEnded(m.ended); err != nil {
			t.Fatal(err)
		}
	}
	if open {
		t.Cleanup(func() { d.Close() })
		return
	}
	d.Close()
}

// result is a trial with a value of every metric, so that files are as large as real ones.
func (m made) result(rng *rand.Rand, trial dyno.Trial) *dyno.Result {
	slower := m.slower
	if slower == 0 {
		slower = 1
	}
	if len(trial.Setting) > 0 && trial.Setting[0].Value == "50" {
		slower *= 1.3
	}
	r := &dyno.Result{Trial: trial, Start: m.started, Elapsed: time.Second, Subject: strings.TrimSpace("go1.26.8 " + m.rev)}
	for _, metric := range dyno.Metrics {
		v := 100 * (1 + 0.02*rng.NormFloat64())
		if strings.HasSuffix(metric.Name, "-sec") {
			v *= 1e-5 * slower
		}
		r.Values = append(r.Values, dyno.Value{Metric: metric.Name, Value: v})
	}
	return r
}

// site serves a folder as tests want it.
func site(t testing.TB, root string) *Site {
	t.Helper()
	return &Site{Root: root, Hosts: []string{host}, Token: "secret", Cookie: "been-here", read: &reader{
		page: func(dir *store.Dir, base string) (*html.Page, error) {
			return &html.Page{Report: tables.Report{Table: &compare.Table{}}}, nil
		},
		picture: func(dir *store.Dir, from, to float64, columns int) (*timeline.Picture, error) {
			return &timeline.Picture{}, nil
		},
		compare: func(a, b *store.Dir) ([]*compare.Table, error) { return sideBySide(a, b) },
	}}
}

// sideBySide compares two runs in the way of dyno compare.
func sideBySide(a, b *store.Dir) (ts []*compare.Table, err error) {
	for _, s := range a.Run.Plan.Levels() {
		var rs []*dyno.Result
		o := compare.Options{Name: a.Run.Plan.Name, Separate: true}
		for i, d := range []*store.Dir{a, b} {
			name := fmt.Sprint("run", i)
			o.Settings = append(o.Settings, append(dyno.Setting{{Factor: "run", Value: name}}, s...))
			var own []*dyno.Result
			for _, r := range d.Results() {
				if r.Trial.Setting.String() == s.String() {
					own = append(own, r)
				}
			}
			rs = append(rs, compare.Label(own, name)...)
		}
		ts = append(ts, compare.Tabulate(rs, o))
	}
	return ts, nil
}

// get asks a site.
func get(t testing.TB, s *Site, target string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(s, httptest.NewRequest("GET", target, nil))
}

// ask asks as who has been here before.
func ask(s *Site, r *http.Request) *httptest.ResponseRecorder {
	r.Host = host
	r.AddCookie(been)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// want checks an answer's status and what its text has.
func want(t testing.TB, w *httptest.ResponseRecorder, status int, parts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d: %.300s", w.Code, status, w.Body)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%q is not in: %.3000s", part, w.Body)
		}
	}
}

// many copies one run many times, each day one.
func many(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	first := filepath.Join(t.TempDir(), "first")
	levels := []dyno.Setting{gogc("100"), gogc("50"), gogc("150"), gogc("200"), gogc("off")}
	made{settings: levels}.run(t, first, false)
	text, err := os.ReadFile(filepath.Join(first, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		path := filepath.Join(root, fmt.Sprintf("sessions-%03d", i))
		if err := os.CopyFS(path, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		var run map[string]any
		if err := json.Unmarshal(text, &run); err != nil {
			t.Fatal(err)
		}
		run["started"] = began.AddDate(0, 0, i)
		data, err := json.Marshal(run)
		if err == nil {
			err = os.WriteFile(filepath.Join(path, "run.json"), data, 0o666)
		}
		if err == nil { // the summary is the last that a run writes
			err = os.Chtimes(filepath.Join(path, "summary.json"), time.Time{}, time.Now().Add(time.Second))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func BenchmarkList(b *testing.B) {
	root := many(b, 200)
	for _, warm := range []bool{false, true} {
		b.Run(fmt.Sprintf("warm=%v", warm), func(b *testing.B) {
			s := site(b, root)
			get(b, s, "/")
			for b.Loop() {
				if !warm {
					s = site(b, root)
				}
				get(b, s, "/")
			}
		})
	}
}

func query(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + v.Encode()
}
