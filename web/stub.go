package web

import (
	"net/http"

	"github.com/dynolab/dyno/store"
)

// Stubs until they are merged: the integrator deletes this file.

func (s *Site) pprof(w http.ResponseWriter, r *http.Request, dir *store.Dir) { http.NotFound(w, r) }

func (s *Site) live(w http.ResponseWriter, r *http.Request, dir *store.Dir) { http.NotFound(w, r) }

func (s *Site) stop(w http.ResponseWriter, r *http.Request, dir *store.Dir) { http.NotFound(w, r) }

func (s *Site) resume(w http.ResponseWriter, r *http.Request, dir *store.Dir) { http.NotFound(w, r) }
