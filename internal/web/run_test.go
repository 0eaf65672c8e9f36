package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/store"
)

func text(t testing.TB, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A run's page is made once for each baseline as long as the run does not change,
// with what a served page needs.
func TestRunPage(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "demo x", "1")
	made{}.run(t, path, false)
	made{started: began.AddDate(0, 0, 1)}.run(t, filepath.Join(root, "later"), false)
	var bases []string
	var page *html.Page
	s := site(t, root)
	s.read.page = func(dir *store.Dir, base string) (*html.Page, error) {
		bases = append(bases, base)
		page = &html.Page{Report: tables.Report{Table: &compare.Table{Name: dir.Run.Plan.Name}}}
		return page, nil
	}
	want(t, get(t, s, "/runs/demo%20x/1/"), 200)
	if len(bases) != 1 || page.Site == nil {
		t.Fatalf("made for %q", bases)
	}
	got := fmt.Sprintf("%+v", *page.Site)
	for _, part := range []string{
		"Home:/ ", "Detail:/runs/demo%20x/1/detail ", "Token:secret", "Assets:/assets/" + assetVersion + "/ ", "Live: ",
		"{Name:against GOGC=50 URL:/runs/demo%20x/1/?base=GOGC%3D50}", "{Name:with later URL:/compare?a=demo+x%2F1&b=later}",
		"{Name:run.json URL:/runs/demo%20x/1/files/run.json}",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
	w := get(t, s, "/runs/demo%20x/1?base=GOGC%3D50")
	if want(t, w, http.StatusTemporaryRedirect); w.Header().Get("Location") != "/runs/demo%20x/1/?base=GOGC%3D50" {
		t.Errorf("without its last slash it leads to %s", w.Header().Get("Location"))
	}
	want(t, get(t, s, "/runs/demo%20x/1/?base=GOGC%3D50"), 200)
	if got := fmt.Sprintf("%+v", page.Site.Others); !strings.Contains(got, "against GOGC=100") || strings.Contains(got, "against GOGC=50") {
		t.Errorf("others are %s", got)
	}
	want(t, get(t, s, "/runs/demo%20x/1/?base=GOGC%3D51"), 404, "no such setting")
	want(t, get(t, s, "/runs/demo%20x/1/nothing"), 404)
	if len(bases) != 2 {
		t.Errorf("made for %q", bases)
	}
	d, err := store.Resume(path) // which is now under way
	if err != nil {
		t.Fatal(err)
	}
	get(t, s, "/runs/demo%20x/1/")
	d.Close()
	if len(bases) != 3 || page.Site.Live != "/runs/demo%20x/1/live" {
		t.Errorf("made for %q, live at %q", bases, page.Site.Live)
	}
	s.read.page = func(*store.Dir, string) (*html.Page, error) { return nil, errors.New("out of cheese") }
	want(t, get(t, s, "/runs/later/"), 500, "out of cheese")
}

// A run has its pages whatever its directory is called, also where that means something
// in a pattern of http.ServeMux.
func TestOddIDs(t *testing.T) {
	root := t.TempDir()
	s := site(t, root)
	for _, id := range []string{"{x}", "x{$}", "{x...}", "a%b", "a%2fb", "ü ö", "\xff", "GET y", "a\nb", "q?r#s", "files", "detail/live"} {
		made{}.run(t, filepath.Join(root, id), false)
		for _, rest := range []string{"", "files/", "files/run.json", "detail"} {
			if w := get(t, s, runURL(id)+rest); w.Code != 200 {
				t.Errorf("%q, %q: status %d", id, rest, w.Code)
			}
		}
	}
}

func TestDetail(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	asked := ""
	s.read.picture = func(_ *store.Dir, from, to float64, columns int) (*timeline.Picture, error) {
		asked = fmt.Sprint(from, to, columns)
		return &timeline.Picture{}, nil
	}
	for q, wanted := range map[string]string{
		"": "0 0 1200", "?from=1.5&to=2&columns=4000": "1.5 2 4000", "?from=0&to=1e3&columns=1": "0 1000 1",
		"?from=2&to=1": "", "?from=1&to=1": "", "?from=-1&to=1": "", "?from=NaN&to=1": "", "?from=0&to=Inf": "", "?from=x&to=1": "", "?from=1": "",
		"?columns=0": "", "?columns=4001": "", "?columns=1.5": "", "?columns=x": "", "?columns=-1": "", "?columns=1e400": "",
	} {
		asked = ""
		w := get(t, s, "/runs/x/detail"+q)
		if asked != wanted || (w.Code == 200) != (wanted != "") || w.Code != 200 && w.Code != 400 {
			t.Errorf("%s: status %d, asked for %q", q, w.Code, asked)
		}
	}
}

// A run of which nothing is known yet has no picture, and that is no mistake of dyno's.
func TestDetailOfNothing(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	s := site(t, root)
	s.read.picture = func(*store.Dir, float64, float64, int) (*timeline.Picture, error) { return nil, nil }
	if w := get(t, s, "/runs/x/detail"); w.Code != 404 || !strings.Contains(w.Body.String(), "no picture") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// Requests that read much wait for one another, those of one run also where there
// is a place, and leave when the asker does.
func TestHeavyRequestsWait(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	made{}.run(t, filepath.Join(root, "y"), false)
	s := site(t, root)
	synctest.Test(t, func(t *testing.T) {
		entered := make(chan struct{}, 100)
		s.read.picture = func(*store.Dir, float64, float64, int) (*timeline.Picture, error) {
			entered <- struct{}{}
			time.Sleep(time.Second)
			return &timeline.Picture{}, nil
		}
		h := s.Handler()
		for _, run := range []string{"x", "x", "x", "y", "y"} {
			go func() {
				r := httptest.NewRequest("GET", "/runs/"+run+"/detail", nil)
				r.Host = host
				r.AddCookie(been)
				ctx, cancel := context.WithTimeout(r.Context(), 1500*time.Millisecond)
				defer cancel()
				h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
			}()
		}
		time.Sleep(500 * time.Millisecond)
		now := len(entered)
		time.Sleep(10 * time.Second)
		if most := len(entered); now != mostHeavy || most != 2*mostHeavy { // the third of x has gone
			t.Errorf("%d at once, %d in all", now, most)
		}
	})
}

func TestFiles(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "x")
	made{}.run(t, path, false)
	dir := filepath.Join(path, "trials", "0001")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a line\n", mostShown/7+1)
	for name, data := range map[string][]byte{"stderr.log": []byte(long), "short.log": []byte("<script>"), `cpu "1".pb.gz`: {1, 2, 3}, "page.html": []byte("<script>")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := site(t, root)
	want(t, get(t, s, "/runs/x/files/"), 200, "run.json", `href="/runs/x/files/trials/"`, `href="/runs/x/files/summary.json?save=1"`)
	want(t, get(t, s, "/runs/x/files/trials/0001"), 301)
	want(t, get(t, s, "/runs/x/files/trials/0001/"), 200, "16.00 MiB", `href="/runs/x/files/trials/"`)
	for _, x := range []struct{ name, kind, disposition string }{
		{"short.log", "text/plain; charset=utf-8", ""},
		{"stderr.log", "application/octet-stream", "attachment; filename=stderr.log"}, // too long to be shown
		{"short.log?save=1", "application/octet-stream", "attachment; filename=short.log"},
		{"cpu%20%221%22.pb.gz", "application/octet-stream", `attachment; filename="cpu \"1\".pb.gz"`},
		{"page.html", "application/octet-stream", "attachment; filename=page.html"},
	} {
		h := get(t, s, "/runs/x/files/trials/0001/"+x.name).Header()
		if h.Get("Content-Type") != x.kind || h.Get("Content-Disposition") != x.disposition || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", x.name, h)
		}
	}
	r := httptest.NewRequest("GET", "/runs/x/files/trials/0001/stderr.log?save=1", nil)
	r.Header.Set("Range", "bytes=5-9")
	if w := ask(s, r); w.Code != 206 || w.Body.String() != long[5:10] {
		t.Errorf("a range: %d %q", w.Code, w.Body)
	}
	want(t, get(t, s, "/runs/x/report.html"), 404, "has no report.html")
	if err := os.WriteFile(filepath.Join(path, "report.html"), []byte("<p>report"), 0o666); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/runs/x/report.html"), 200, "<p>report")
	if err := os.WriteFile(filepath.Join(path, "certificate.html"), []byte("<p>certificate"), 0o666); err != nil {
		t.Fatal(err)
	}
	want(t, get(t, s, "/runs/x/certificate.html"), 200, "<p>certificate")
}

// Assets are kept at their own address, and are asked for again at another.
func TestAssets(t *testing.T) {
	s := site(t, t.TempDir())
	for name, kind := range map[string]string{"web.css": "text/css; charset=utf-8", "list.js": "text/javascript; charset=utf-8"} {
		w := get(t, s, assetURL(name))
		if h := w.Header(); w.Code != 200 || h.Get("Content-Type") != kind || !strings.Contains(h.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
		w = get(t, s, "/assets/0123/"+name)
		if h := w.Header(); w.Code != 200 || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of another version: %d %v", name, w.Code, h)
		}
	}
	for _, name := range []string{"list.tmpl", "list.test.js", "none.js"} {
		want(t, get(t, s, assetURL(name)), 404)
	}
}

// Nothing goes on once requests are answered.
func TestNothingGoesOn(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		made{trials: 1, silent: true}.run(t, filepath.Join(root, fmt.Sprint(i)), false)
	}
	s := site(t, root)
	synctest.Test(t, func(t *testing.T) { // which fails while a goroutine is left
		for _, target := range []string{"/", "/runs/1/", "/trend?name=sessions", "/runs/1/detail"} {
			get(t, s, target)
		}
	})
}

// The page shows what dyno predict says of a run, or why it says nothing.
func TestPredicted(t *testing.T) {
	s := site(t, "../../findings/testdata/runs/2bb5b5f")
	want(t, get(t, s, "/runs/vary/predicted"), http.StatusOK, "vary, predicted from 6 trials of GOGC=100 and GOGC=50", "<svg")
	want(t, get(t, s, "/runs/watch/predicted"), http.StatusNotFound, "There is no prediction: ../../findings/testdata/runs/2bb5b5f/watch: its collections were not recorded")
	want(t, get(t, s, "/runs/bench/predicted"), http.StatusNotFound, "is a run of benchmarks")
}
