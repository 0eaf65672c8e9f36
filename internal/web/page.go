package web

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/words"
)

//go:embed page/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"run":   runURL,
	"short": short,
	"trend": trendURL,
	"asset": assetURL,
	"noun":  words.Noun,
	"metrics": func(what, setting string, rows []pairRow) any {
		return struct {
			Label string
			Rows  []pairRow
		}{what + " " + setting, rows}
	},
	"day":    func(t time.Time) string { return t.Format("2006-01-02") },
	"minute": func(t time.Time) string { return t.Format("2006-01-02 15:04") },
	"iso":    func(t time.Time) string { return t.Format(time.RFC3339) },
}).ParseFS(templateFiles, "page/*.tmpl"))

// A sheet is what all pages of this package have.
type sheet struct {
	Title  string
	Script string // name of its script among the assets; "" for none
	Body   any
}

// show writes a page of this package.
func (s *Site) show(w http.ResponseWriter, r *http.Request, status int, name string, p sheet) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
		panic(err) // a mistake in the template
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes()) // who does not read it is gone
}

// A refusal is why a request gets no page.
type refusal struct {
	status int
	reason string
}

func (e *refusal) Error() string { return e.reason }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// statusOf is that of an error: a refusal's own, else that of a failure of the server.
func statusOf(err error) int {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.status
	}
	return http.StatusInternalServerError
}

// fail answers what cannot be shown, with the reason.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	s.show(w, r, status, "fail.tmpl", sheet{Title: http.StatusText(status), Body: err.Error()})
}

// A handler answers a request, or says why it does not.
type handler func(http.ResponseWriter, *http.Request) error

// orPage answers with a page what a handler does not.
func (s *Site) orPage(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// orText answers what a handler does not with a line, for scripts and frames.
func orText(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			http.Error(w, err.Error(), statusOf(err))
		}
	}
}

func runURL(id string) string { return "/runs/" + escaped(id) + "/" }

// escaped keeps slashes.
func escaped(path string) string { return strings.ReplaceAll(url.PathEscape(path), "%2F", "/") }

func trendURL(name, metric, setting string) string {
	return "/trend?" + url.Values{"name": {name}, "metric": {metric}, "setting": {setting}}.Encode()
}

//go:embed page/*.js page/*.css
var ownFiles embed.FS

// assetVersion is part of the addresses of assets, so that a browser may keep them as
// long as this server lives.
var assetVersion = rand.Text()

func assetURL(name string) string { return "/assets/" + assetVersion + "/" + name }

var assetTypes = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// asset serves a script or a style sheet of all pages, those of run pages too. Under
// another version's address it is not to be kept.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	data, err := fs.ReadFile(html.Assets, name)
	if err != nil {
		data, err = fs.ReadFile(ownFiles, "page/"+name)
	}
	kind, ok := assetTypes[path.Ext(name)]
	if err != nil || !ok {
		http.Error(w, "there is no such asset", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	if r.PathValue("version") == assetVersion {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Write(data)
}
