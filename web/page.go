package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dynolab/dyno/report"
)

//go:embed page/*.tmpl
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"run":   runURL,
	"short": short,
	"trend": trendURL,
	"asset": assetURL,
	"noun":  report.Noun,
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

// fail answers what cannot be shown, with the reason.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int, reason string) {
	s.show(w, r, status, "fail.tmpl", sheet{Title: http.StatusText(status), Body: reason})
}

// runURL is the address of a run, with a final slash. An id has slashes of its own,
// which stay.
func runURL(id string) string {
	parts := strings.Split(id, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/runs/" + strings.Join(parts, "/") + "/"
}

func trendURL(name, metric, setting string) string {
	return "/trend?" + url.Values{"name": {name}, "metric": {metric}, "setting": {setting}}.Encode()
}
