// Package web shows the runs of a folder in a browser, those that are under way
// included.
//
// It owns addresses, safety (hosts, tokens, content policies, paths) and what is
// sent while a run goes on. It measures nothing and computes nothing: what pages
// show comes from package findings, how it looks from packages html and pprofpage.
package web

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/store"
)

// A reader makes what pages show, from run directories: findings, but for tests.
type reader struct {
	page    func(dir *store.Dir, base string) (*html.Page, error)
	picture func(dir *store.Dir, from, to float64, columns int) (*timeline.Picture, error)
	compare func(a, b *store.Dir) ([]*compare.Table, error)
	profile func(dir *store.Dir, kind, setting string) (profiles.Sum, error)
}

var fromFindings = reader{
	page: func(dir *store.Dir, base string) (*html.Page, error) {
		f, err := findings.Read(dir, findings.Options{Base: base})
		if err != nil {
			return nil, err
		}
		return html.NewPage(f), nil
	},
	picture: findings.PictureOf,
	compare: findings.Compare,
	profile: findings.SumProfiles,
}

// A Site serves the runs below Root, or Root alone if it is a run directory.
type Site struct {
	Root   string
	Hosts  []string // allowed in requests, such as "127.0.0.1:8080"
	Secret string   // that the address of a first visit has
	Cookie string   // that a browser has once it has been here
	Token  string   // that requests which change something have to bring; "" allows none of them

	// Resume goes on with a run, until it ends or stop is called; it is done when the
	// channel is closed.
	Resume func(path string) (stop func(), done <-chan struct{}, err error)

	read      *reader      // nil means fromFindings
	followers atomic.Int32 // of runs that are under way
	going     going        // runs that were resumed or stopped here

	once    sync.Once
	queue   queue
	entries cache[string, *entry]          // by path
	pages   cache[pageKey, []byte]         // HTML of runs
	opened  cache[asked, *pprofpage.Pages] // each with its profile in memory
}

// Handler serves the site. Only what Resume began goes on after the requests.
func (s *Site) Handler() http.Handler {
	s.once.Do(func() {
		if s.read == nil {
			s.read = &fromFindings
		}
		s.queue.places = make(chan struct{}, mostHeavy)
		s.pages.most, s.opened.most = 16, mostOpened
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.orPage(s.list))
	mux.HandleFunc("GET /trend", s.orPage(s.trend))
	mux.HandleFunc("GET /track", s.orPage(s.track))
	mux.HandleFunc("GET /compare", s.orPage(s.compare))
	mux.HandleFunc("GET /assets/{version}/{name}", asset)
	mux.HandleFunc("GET /runs/{rest...}", s.orPage(s.run))
	mux.HandleFunc("POST /runs/{rest...}", s.orPage(s.run))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent) // browsers ask by themselves, and say that a missing one is an error
	})
	mux.HandleFunc("GET /", s.orPage(func(http.ResponseWriter, *http.Request) error {
		return refuse(http.StatusNotFound, "There is no such page.")
	}))
	return s.guard(mux)
}
