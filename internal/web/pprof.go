package web

import (
	"cmp"
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
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

// mostOpened is how many profiles are open in pprof at a time.
const mostOpened = 16

// asked is what an address below pprof/ names.
type asked struct {
	run, kind, setting string
	base               string
	versus             bool // base is given; its name may be empty
}

// pprof answers pprof/{pass}/{kind}/{setting}/{page...} of a run, and
// pprof/{pass}/{kind}/{setting}/vs/{base}/{page...}, with pprof's own pages. The
// setting without a name is "-".
func (s *Site) pprof(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	setting, base, page := r.PathValue("setting"), r.PathValue("base"), r.PathValue("page")
	a := asked{dir.Path, r.PathValue("kind"), strings.TrimPrefix(setting, "-"), strings.TrimPrefix(base, "-"), base != ""}
	if !same(r.PathValue("pass"), s.pass()) || !slices.Contains(dyno.ProfileNames, a.kind) || !known(dir, a.setting) || a.versus && !known(dir, a.base) {
		return refuse(http.StatusNotFound, "the run has no such profile")
	}
	if status, reason := pprofpage.Check(page); status != 0 {
		return refuse(status, "%s", reason)
	}
	leave, err := s.enter(r, dir.Path)
	if err != nil {
		return err
	}
	defer leave()
	pages, err := s.opened.get(a, changed(dir.Path, "results.jsonl").String(), func() (*pprofpage.Pages, error) { return s.openProfiles(dir, a) })
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, "%v", err)
	}
	if err != nil {
		return err
	}
	back := "../../../../"
	switch {
	case r.URL.Query().Has("frame"): // in the run's own page
		back = ""
	case a.versus:
		back += "../../"
	}
	pages.Serve(w, r, page, back)
	return nil
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

// pprofPath returns the address of pprof's pages of a profile, relative to the run's;
// with versus, of the change since base.
func (s *Site) pprofPath(kind, setting string, versus bool, base string) string {
	path := "pprof/" + s.pass() + "/" + kind + "/" + cmp.Or(url.PathEscape(setting), "-") + "/"
	if versus {
		path += "vs/" + cmp.Or(url.PathEscape(base), "-") + "/"
	}
	return path
}

// openProfiles reads what was asked for and opens it in pprof.
func (s *Site) openProfiles(dir *store.Dir, a asked) (*pprofpage.Pages, error) {
	if err := safe.FitProfiles(dir.Path); err != nil {
		return nil, err
	}
	of, err := s.read.profile(dir, a.kind, a.setting)
	var base *profiles.Sum
	if err == nil && a.versus {
		base = new(profiles.Sum)
		*base, err = s.read.profile(dir, a.kind, a.base)
	}
	if err != nil {
		return nil, err
	}
	return pprofpage.Open(a.kind, of, base)
}
