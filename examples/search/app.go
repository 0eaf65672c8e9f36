package main

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

// app is the service: its feeds, and whether it searches them with the extra
// allocations.
type app struct {
	dir     string // where the feeds' files are
	copying bool
	sources map[string]*source
}

func newApp(dir string, ttl time.Duration, copying bool) *app {
	a := &app{dir: dir, copying: copying, sources: map[string]*source{}}
	for _, p := range providers {
		a.sources[p.name] = &source{ttl: ttl, read: func() (*feed, error) {
			return read(filepath.Join(dir, p.name+".xml"), p.title, !copying)
		}}
	}
	return a
}

// warm fills the cache.
func (a *app) warm() error {
	for _, p := range providers {
		if _, err := a.sources[p.name].get(); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.form)
	mux.HandleFunc("POST /search", a.search)
	mux.Handle("GET /feeds/", http.StripPrefix("/feeds/", http.FileServer(http.Dir(a.dir))))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return mux
}

// page is what the template shows.
type page struct {
	Term      string
	Providers []choice
	Searched  bool
	Results   []result
}

type choice struct {
	Name, Title string
	On          bool
}

func (a *app) form(w http.ResponseWriter, _ *http.Request) {
	p := page{}
	for _, provider := range providers {
		p.Providers = append(p.Providers, choice{provider.name, provider.title, true})
	}
	show(w, &p)
}

// search looks into the chosen feeds, each in a goroutine of its own, and lists
// what was found feed by feed.
func (a *app) search(w http.ResponseWriter, r *http.Request) {
	p := page{Term: r.FormValue("term"), Searched: true}
	if p.Term == "" {
		http.Error(w, "no term to search for", http.StatusBadRequest)
		return
	}
	found := make([][]result, len(providers))
	errs := make([]error, len(providers))
	var wg sync.WaitGroup
	for i, provider := range providers {
		on := r.FormValue(provider.name) == "on"
		p.Providers = append(p.Providers, choice{provider.name, provider.title, on})
		if !on {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			f, err := a.sources[provider.name].get()
			if err != nil {
				errs[i] = err
				return
			}
			found[i] = f.search(p.Term, a.copying)
		}()
	}
	wg.Wait()
	for i := range providers {
		if errs[i] != nil {
			slog.Error("search", "feed", providers[i].name, "err", errs[i])
			http.Error(w, fmt.Sprintf("feed %s cannot be read", providers[i].name), http.StatusInternalServerError)
			return
		}
		p.Results = append(p.Results, found[i]...)
	}
	show(w, &p)
}

// show renders the page, whole before its first byte is sent.
func show(w http.ResponseWriter, p *page) {
	var b bytes.Buffer
	if err := pages.Execute(&b, p); err != nil {
		slog.Error("render", "err", err)
		http.Error(w, "the page cannot be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

var pages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{{if .Searched}}{{.Term}} - {{end}}News search</title></head>
<body>
<form method="post" action="/search">
<input name="term" value="{{.Term}}" placeholder="search the news">
{{- range .Providers}}
<label><input type="checkbox" name="{{.Name}}"{{if .On}} checked{{end}}> {{.Title}}</label>
{{- end}}
<button>Search</button>
</form>
{{- if .Searched}}
<p>{{len .Results}} results</p>
<ol>
{{- range .Results}}
<li><a href="{{.Link}}">{{.Title}}</a> <em>{{.Engine}}</em>
<p>{{.Content}}</p></li>
{{- end}}
</ol>
{{- end}}
</body>
</html>
`))
