package web

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// run answers for all addresses of a run.
func (s *Site) run(w http.ResponseWriter, r *http.Request) error {
	p, ok := s.lookup(r.PathValue("rest"))
	if !ok {
		return refuse(http.StatusNotFound, "There is no such run (any more).")
	}
	// What needs results.
	read := func(h func(http.ResponseWriter, *http.Request, *store.Dir) error) handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			dir, err := open(p)
			if err != nil {
				return fmt.Errorf("The run cannot be read: %w", err)
			}
			return h(w, r, dir)
		}
	}
	mux := http.NewServeMux()
	on := func(method, rest string, h http.HandlerFunc) { mux.HandleFunc(method+" "+runURL(p.ID)+rest, h) }
	page := func(name string) http.HandlerFunc {
		return s.orPage(func(w http.ResponseWriter, r *http.Request) error { return s.saved(w, r, p, name) })
	}
	on("GET", "files/{name...}", s.orPage(func(w http.ResponseWriter, r *http.Request) error { return s.files(w, r, p) }))
	on("GET", store.AnswerFile, page(store.AnswerFile))
	on("GET", "certificate.html", page("certificate.html"))
	if p.campaign {
		on("GET", "{$}", s.orPage(func(w http.ResponseWriter, r *http.Request) error { return s.campaign(w, r, p) }))
		mux.ServeHTTP(w, r)
		return nil
	}
	on("GET", "{$}", s.orPage(read(func(w http.ResponseWriter, r *http.Request, dir *store.Dir) error { return s.page(w, r, p, dir) })))
	on("GET", "report.html", page("report.html"))
	on("GET", "predicted", s.orPage(read(s.predicted)))
	on("GET", "detail", orText(read(s.detail)))
	on("GET", "live", orText(read(s.live)))
	on("GET", "pprof/{pass}/{kind}/{setting}/{page...}", orText(read(s.pprof)))
	on("GET", "pprof/{pass}/{kind}/{setting}/vs/{base}/{page...}", orText(read(s.pprof)))
	on("POST", "stop", orText(read(s.stop)))
	on("POST", "resume", orText(read(s.resume)))
	mux.ServeHTTP(w, r)
	return nil
}

// campaign shows the answer of a campaign, or without one how far it is.
func (s *Site) campaign(w http.ResponseWriter, r *http.Request, p foundDir) error {
	if exists(p.path, store.AnswerFile) {
		return s.saved(w, r, p, store.AnswerFile)
	}
	all, _, err := s.all()
	if err != nil {
		return err
	}
	body := struct {
		*entry
		Path string
		Runs []*entry
	}{Path: p.path}
	for _, e := range slices.Backward(all) { // the newest is first
		if e.ID == p.ID {
			body.entry = e
		} else if filepath.Dir(e.path) == filepath.Clean(p.path) {
			body.Runs = append(body.Runs, e)
		}
	}
	if body.entry == nil {
		return refuse(http.StatusNotFound, "There is no such run (any more).")
	}
	s.show(w, r, http.StatusOK, "campaign.tmpl", sheet{Title: short(p.ID), Body: body})
	return nil
}

func open(p foundDir) (*store.Dir, error) {
	if err := safe.Fit(p.path); err != nil {
		return nil, err
	}
	return store.Read(p.path)
}

// page shows a run. That of benchmarks is the report that was written at its end.
func (s *Site) page(w http.ResponseWriter, r *http.Request, p foundDir, dir *store.Dir) error {
	if dir.Run.Plan.Bench != nil {
		if !exists(p.path, "report.html") {
			return refuse(http.StatusNotFound, "The benchmarks are still running, or were interrupted: there is no report yet (consider: dyno report %s).", p.path)
		}
		http.Redirect(w, r, runURL(p.ID)+"report.html", http.StatusSeeOther)
		return nil
	}
	base := r.FormValue("base") // "" is the run's own
	if base != "" && !known(dir, base) {
		return refuse(http.StatusNotFound, "The run has no such setting to compare with.")
	}
	running := heldNow(p)
	key, now := pageKey{p.path, base}, fmt.Sprint(stamp(p.path), running)
	if !s.pages.has(key, now) {
		leave, err := s.enter(r, dir.Path)
		if err != nil {
			return err
		}
		defer leave()
	}
	html, err := s.pages.get(key, now, func() ([]byte, error) { return s.make(p, dir, base, running) })
	if err != nil {
		return fmt.Errorf("The run cannot be shown: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(html)
	return nil
}

// A pageKey is a run, by its path, and the setting that it is compared with.
type pageKey struct{ path, base string }

// make makes the page of a run.
func (s *Site) make(p foundDir, dir *store.Dir, base string, running bool) ([]byte, error) {
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
		Files: append(forecast(p, dir), fileLinks(p)...), Others: s.others(p, dir, base),
	}
	if running || len(dir.Missing()) > 0 { // so that it can be resumed
		page.Site.Live = own + "live"
	}
	for i := range page.Flames {
		f := &page.Flames[i]
		f.URL = own + s.pprofPath(f.Kind, f.Setting, f.Base != "", f.Base) + "flamegraph"
	}
	var b bytes.Buffer
	err = html.HTML(&b, page)
	return b.Bytes(), err
}

// mostOthers is how many other runs a page has links to compare with.
const mostOthers = 10

// others links to the same run against its other settings, and to comparisons with the
// runs of its name that are nearest in time.
func (s *Site) others(p foundDir, dir *store.Dir, base string) (links []html.File) {
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
		return e.ID == p.ID || e.campaign || e.State == broken || e.Plan.Name != short(dir.Run.Plan.Name)
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
func fileLinks(p foundDir) (links []html.File) {
	own := runURL(p.ID)
	for _, name := range []string{store.AnswerFile, "certificate.html", "report.html"} {
		if exists(p.path, name) {
			links = append(links, html.File{Name: name, URL: own + name})
		}
	}
	for _, name := range []string{"bench.txt", "summary.json", "results.jsonl", "run.json"} {
		if exists(p.path, name) {
			links = append(links, html.File{Name: name, URL: own + "files/" + name})
		}
	}
	return append(links, html.File{Name: "all files", URL: own + "files/"})
}

const mostColumns = 4000 // of a picture

// detail answers with a picture of a part of a run.
func (s *Site) detail(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	from, err1 := strconv.ParseFloat(cmp.Or(r.FormValue("from"), "0"), 64)
	to, err2 := strconv.ParseFloat(cmp.Or(r.FormValue("to"), "0"), 64)
	columns, err3 := strconv.Atoi(cmp.Or(r.FormValue("columns"), "1200"))
	whole := from == 0 && to == 0
	switch {
	case err1 != nil || err2 != nil || !whole && !(from >= 0 && from < to && to <= math.MaxFloat64):
		return refuse(http.StatusBadRequest, "want from and to in seconds, from less than to, or neither")
	case err3 != nil || columns < 1 || columns > mostColumns:
		return refuse(http.StatusBadRequest, "want columns, a whole number from 1 to %d", mostColumns)
	}
	leave, err := s.enter(r, dir.Path)
	if err != nil {
		return err
	}
	defer leave()
	picture, err := s.read.picture(dir, from, to, columns)
	if err != nil {
		return err
	}
	if picture == nil {
		return refuse(http.StatusNotFound, "no trial of this run has ended, so there is no picture of it")
	}
	w.Header().Set("Content-Type", "application/json")
	html.PictureJSON(w, picture) // an error is that of who does not read it
	return nil
}
