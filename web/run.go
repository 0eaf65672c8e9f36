package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/report/html"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/web/safe"
)

// run answers for all addresses of a run. It sets PathValue id, and rest to what
// follows.
func (s *Site) run(w http.ResponseWriter, r *http.Request) {
	p, rest, ok := s.lookup(r.PathValue("rest"))
	if !ok {
		s.fail(w, r, http.StatusNotFound, "There is no such run (any more).")
		return
	}
	if rest == "" { // so that what is relative is below the run
		target := runURL(p.ID)
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, target, http.StatusMovedPermanently)
		return
	}
	r.SetPathValue("id", p.ID)
	r.SetPathValue("rest", rest[1:])
	first, _, _ := strings.Cut(rest[1:], "/")
	if (r.Method == http.MethodPost) != (rest == "/stop" || rest == "/resume") {
		w.Header().Set("Allow", map[bool]string{true: "GET, HEAD", false: "POST"}[r.Method == http.MethodPost])
		s.fail(w, r, http.StatusMethodNotAllowed, "Nothing here answers that method.")
		return
	}
	switch { // what needs no results
	case first == "files":
		s.files(w, r, p)
		return
	case rest == "/report.html":
		s.saved(w, r, p)
		return
	}
	dir, err := open(p)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, "The run cannot be read: "+err.Error())
		return
	}
	switch {
	case rest == "/":
		s.page(w, r, p, dir)
	case rest == "/detail":
		s.detail(w, r, dir)
	case first == "pprof":
		s.pprof(w, r, dir)
	case rest == "/live":
		http.NewResponseController(w).SetWriteDeadline(time.Time{})
		s.live(w, r, dir)
	case rest == "/stop":
		s.stop(w, r, dir)
	case rest == "/resume":
		s.resume(w, r, dir)
	default:
		s.fail(w, r, http.StatusNotFound, "There is no such page of this run.")
	}
}

func open(p place) (*store.Dir, error) {
	if err := safe.Fit(p.path); err != nil {
		return nil, err
	}
	return store.Read(p.path)
}

// page shows a run. That of benchmarks is the report that was written at its end.
func (s *Site) page(w http.ResponseWriter, r *http.Request, p place, dir *store.Dir) {
	if dir.Run.Plan.Bench != nil {
		if !exists(p.path, "report.html") {
			s.fail(w, r, http.StatusNotFound, "The benchmarks are being measured, or were broken off: there is no report yet (consider: dyno report "+p.path+").")
			return
		}
		http.Redirect(w, r, runURL(p.ID)+"report.html", http.StatusSeeOther)
		return
	}
	base := r.FormValue("base") // "" is the run's own
	if base != "" && !known(dir, base) {
		s.fail(w, r, http.StatusNotFound, "The run has no such setting to compare with.")
		return
	}
	running := heldNow(p.path)
	key, now := pageKey{p.path, base}, fmt.Sprint(stamp(p.path), running)
	if !s.pages.has(key, now) {
		leave, ok := s.enter(w, r, dir.Path)
		if !ok {
			return
		}
		defer leave()
	}
	html, err := s.pages.get(key, now, func() ([]byte, error) { return s.make(p, dir, base, running) })
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, "The run cannot be shown: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(html)
}

// A pageKey is a run, by its path, and the setting that it is compared with.
type pageKey struct{ path, base string }

// make makes the page of a run.
func (s *Site) make(p place, dir *store.Dir, base string, running bool) ([]byte, error) {
	if err := safe.FitProfiles(p.path); err != nil {
		return nil, err
	}
	page, err := s.read.page(dir, base)
	if err != nil {
		return nil, err
	}
	own := runURL(p.ID)
	page.Site = &html.Site{
		Home: "/", Assets: "/assets/" + assetVersion + "/", Detail: own + "detail", Token: s.Token,
		Files: fileLinks(p), Others: s.others(p, dir, base),
	}
	if running || len(dir.Missing()) > 0 { // of which it can be gone on with
		page.Site.Live = own + "live"
	}
	for i := range page.Flames {
		f := &page.Flames[i]
		f.URL = own + PprofPath(f.Kind, f.Setting, f.Base != "", f.Base) + "flamegraph"
	}
	var b bytes.Buffer
	err = html.HTML(&b, page)
	return b.Bytes(), err
}

// mostOthers is how many other runs a page has links to compare with.
const mostOthers = 10

// others links to the same run against its other settings, and to comparisons with the
// runs of its name that are nearest in time.
func (s *Site) others(p place, dir *store.Dir, base string) (links []html.File) {
	levels := dir.Run.Plan.Levels()
	for i, l := range levels {
		if name := l.String(); len(levels) > 1 && name != base && (base != "" || i > 0) {
			links = append(links, html.File{Name: "against " + l.Label(), URL: runURL(p.ID) + "?base=" + url.QueryEscape(name)})
		}
	}
	all, _, err := s.all()
	if err != nil {
		return links
	}
	all = slices.DeleteFunc(all, func(e *entry) bool {
		return e.ID == p.ID || e.State == broken || e.Plan.Name != short(dir.Run.Plan.Name)
	})
	far := func(e *entry) time.Duration { return e.Run.Started.Sub(dir.Run.Started).Abs() }
	slices.SortStableFunc(all, func(a, b *entry) int { return int(far(a).Seconds() - far(b).Seconds()) })
	for _, e := range all[:min(len(all), mostOthers)] {
		a, b := e.ID, p.ID // the earlier one is the baseline
		if e.Run.Started.After(dir.Run.Started) {
			a, b = b, a
		}
		links = append(links, html.File{Name: "with " + e.ID, URL: compareURL(a, b)})
	}
	return links
}

// fileLinks are links to the files that a reader asks for most.
func fileLinks(p place) (links []html.File) {
	own := runURL(p.ID)
	for _, name := range []string{"report.html", "bench.txt", "summary.json", "results.jsonl", "run.json"} {
		if !exists(p.path, name) {
			continue
		}
		target := own + "files/" + name
		if name == "report.html" {
			target = own + name
		}
		links = append(links, html.File{Name: name, URL: target})
	}
	return append(links, html.File{Name: "all files", URL: own + "files/"})
}

const mostColumns = 4000 // of a picture

// detail answers with a picture of a part of a run.
func (s *Site) detail(w http.ResponseWriter, r *http.Request, dir *store.Dir) {
	bad := func(what string) { http.Error(w, what, http.StatusBadRequest) }
	number := func(name string) float64 {
		text := r.FormValue(name)
		if text == "" {
			return 0
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || x < 0 {
			return math.NaN()
		}
		return x
	}
	from, to, columns := number("from"), number("to"), number("columns")
	if r.FormValue("columns") == "" {
		columns = 1200
	}
	switch {
	case math.IsNaN(from) || math.IsNaN(to) || from >= to && (from != 0 || to != 0):
		bad("want from and to in seconds, from less than to, or neither")
		return
	case !(columns >= 1 && columns <= mostColumns) || columns != math.Trunc(columns):
		bad(fmt.Sprintf("want columns, a whole number from 1 to %d", mostColumns))
		return
	}
	leave, ok := s.enter(w, r, dir.Path)
	if !ok {
		return
	}
	defer leave()
	picture, err := s.read.picture(dir, from, to, int(columns))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	packed(w, r, func(w io.Writer) error { return html.PictureJSON(w, picture) })
}

// packed writes an answer as gzip, if the asker takes it.
func packed(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		write(w) // an error is that of who does not read it
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // an error is that of a level that there is not
	if write(z) == nil {
		z.Close()
	}
}
