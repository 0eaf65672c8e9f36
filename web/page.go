package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/report/html"
	"github.com/dynolab/dyno/report/words"
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

// fail answers what cannot be shown, with the reason.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, status int, reason string) {
	s.show(w, r, status, "fail.tmpl", sheet{Title: http.StatusText(status), Body: reason})
}

func runURL(id string) string { return "/runs/" + escaped(id) + "/" }

// escaped keeps slashes.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func trendURL(name, metric, setting string) string {
	return "/trend?" + url.Values{"name": {name}, "metric": {metric}, "setting": {setting}}.Encode()
}

//go:embed page/*.js page/*.css
var ownFiles embed.FS

// assets are the scripts and styles of all pages, those of run pages too, by name. assetVersion, a hash of them,
// is part of their addresses, so that a browser may keep them for ever.
var assets, assetVersion = readAssets(html.Assets, ownFiles)

func readAssets(from ...fs.FS) (files map[string][]byte, version string) {
	files = map[string][]byte{}
	for _, f := range from {
		err := fs.WalkDir(f, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || typeOf(p) == "" || strings.Contains(p, ".test.") {
				return err
			}
			files[path.Base(p)], err = fs.ReadFile(f, p)
			return err
		})
		if err != nil {
			panic(err) // what is embedded can be read
		}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum.Write([]byte(name + "\x00"))
		sum.Write(files[name])
		sum.Write([]byte{0})
	}
	return files, hex.EncodeToString(sum.Sum(nil)[:8])
}

// typeOf is the media type of an asset, "" of other files.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return ""
}

func assetURL(name string) string { return "/assets/" + assetVersion + "/" + name }

// asset serves a script or a style sheet. Under another version's address it is not to
// be kept.
func asset(w http.ResponseWriter, r *http.Request) {
	data, ok := assets[r.PathValue("name")]
	if !ok {
		http.Error(w, "there is no such asset", http.StatusNotFound)
		return
	}
	h := w.Header()
	etag := `"` + assetVersion + `"`
	h.Set("Content-Type", typeOf(r.PathValue("name")))
	h.Set("ETag", etag)
	h.Set("Cache-Control", "no-cache")
	if r.PathValue("version") == assetVersion {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(data)
}
