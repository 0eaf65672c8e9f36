package web

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/report/pprofpage"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/web/safe"
)

// mostOpened is how many profiles are open in pprof at a time.
const mostOpened = 16

// asked is what an address below pprof/ names.
type asked struct {
	run, kind, setting string
	base               string
	versus             bool // base is given; its name may be empty
}

// pprof answers /runs/{id}/pprof/{kind}/{setting}/… and …/{setting}/vs/{base}/… with
// pprof's own pages.
func (s *Site) pprof(w http.ResponseWriter, r *http.Request, dir *store.Dir) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "these pages are only to look at", http.StatusMethodNotAllowed)
		return
	}
	rest := escapedRest(r)
	a, page, ok := parseAsked(rest)
	if !ok || !slices.Contains(dyno.ProfileNames, a.kind) || !known(dir, a.setting) || a.versus && !known(dir, a.base) {
		http.NotFound(w, r)
		return
	}
	if status, reason := pprofpage.Check(page); status != 0 {
		http.Error(w, reason, status)
		return
	}
	if page == "" && !strings.HasSuffix(rest, "/") {
		w.Header().Set("Location", rest[strings.LastIndexByte(rest, '/')+1:]+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	leave, ok := s.enter(w, r, dir.Path)
	if !ok {
		return
	}
	defer leave()
	a.run = dir.Path
	pages, err := s.opened.get(a, changed(dir.Path, "results.jsonl").String(), func() (*pprofpage.Pages, error) { return s.openProfiles(dir, a) })
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	back := "../../../"
	switch {
	case r.URL.Query().Has("frame"): // in the run's own page
		back = ""
	case a.versus:
		back += "../../"
	}
	pages.Serve(w, r, page, back)
}

// known reports whether a run has a setting.
func known(dir *store.Dir, setting string) bool {
	return slices.ContainsFunc(dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == setting })
}

// changed is when a file of a run was last written to; zero if it is not there. To
// results.jsonl a result is added after its profiles.
func changed(path, name string) time.Time {
	info, err := os.Lstat(filepath.Join(path, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// escapedRest returns what follows pprof/ in the path as the browser sent it: a setting
// or a run may have slashes.
func escapedRest(r *http.Request) string {
	path, want := r.URL.EscapedPath(), strings.TrimPrefix(r.PathValue("rest"), "pprof/")
	for i := len(path); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		tail := path[min(i+1, len(path)):]
		if got, err := url.PathUnescape(tail); err == nil && got == want && strings.HasSuffix(path[:i], "/pprof") {
			return tail
		}
	}
	return ""
}

// parseAsked reads KIND/SETTING/PAGE or KIND/SETTING/vs/BASE/PAGE; without a page the
// last slash may be missing.
func parseAsked(rest string) (a asked, page string, ok bool) {
	parts := strings.Split(rest, "/")
	if n := len(parts); n == 2 || n == 4 {
		parts = append(parts, "")
	}
	for i, p := range parts {
		var err error
		if parts[i], err = url.PathUnescape(p); err != nil {
			return a, "", false
		}
	}
	switch n := len(parts); {
	case n == 5 && parts[2] == "vs":
		a.base, a.versus = strings.TrimPrefix(parts[3], "-"), true
	case n != 3:
		return a, "", false
	}
	a.kind, a.setting = parts[0], strings.TrimPrefix(parts[1], "-")
	return a, parts[len(parts)-1], true
}

// PprofPath returns the address of pprof's pages of a profile, relative to the run's;
// with versus, of the change since base.
func PprofPath(kind, setting string, versus bool, base string) string {
	escape := func(setting string) string {
		if setting == "" {
			return "-"
		}
		return url.PathEscape(setting)
	}
	path := "pprof/" + kind + "/" + escape(setting) + "/"
	if versus {
		path += "vs/" + escape(base) + "/"
	}
	return path
}

// openProfiles reads what was asked for and opens it in pprof.
func (s *Site) openProfiles(dir *store.Dir, a asked) (*pprofpage.Pages, error) {
	if err := safe.FitProfiles(dir.Path); err != nil {
		return nil, err
	}
	of, err := s.read.profile(dir, a.kind, a.setting)
	if err != nil {
		return nil, err
	}
	if !a.versus {
		return pprofpage.Open(a.kind, of, nil)
	}
	base, err := s.read.profile(dir, a.kind, a.base)
	if err != nil {
		return nil, err
	}
	return pprofpage.Open(a.kind, of, &base)
}
