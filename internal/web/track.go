package web

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/dynolab/dyno/internal/findings/tracks"
)

// A tracked is the link to a track of the repository around the runs.
type tracked struct{ Name, URL string }

// tracks are those of the repository around the runs; none if there is no repository, or it cannot be read.
func (s *Site) tracks(r *http.Request) (links []tracked) {
	t, err := tracks.Open(r.Context(), tracks.Options{Dir: s.Root})
	if err != nil {
		return nil
	}
	for _, name := range t.Log.Names {
		links = append(links, tracked{name, "/track?" + url.Values{"name": {name}}.Encode()})
	}
	return links
}

// track shows a track: its metrics over the commits, and which changes are shown.
func (s *Site) track(w http.ResponseWriter, r *http.Request) error {
	t, err := tracks.Open(r.Context(), tracks.Options{Dir: s.Root, Name: r.FormValue("name")})
	if err == nil {
		err = t.Begun()
	}
	if err != nil {
		return refuse(http.StatusNotFound, "There is no such track: %s.", err)
	}
	report, err := t.Report(r.Context(), "HEAD", "")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := report.HTML(&b); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", savedPolicy)
	w.Write(b.Bytes())
	return nil
}
