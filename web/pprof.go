package web

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/store"
)

// A Sum is the sum of the profiles of one kind of a setting's trials.
type Sum struct {
	Setting  string
	Profile  *profile.Profile
	Requests int64 // of the windows that they are of; 0 if that is not known
}

// mostSessions of pprof are open at a time, each with its profile in memory.
const mostSessions = 16

// mostNodes are how many functions a graph has at most; pprof's own default is 80.
const mostNodes = 200

// profiles are pprof's pages that are open, the one that was asked for last at
// the end.
type profiles struct {
	mu   sync.Mutex
	open []*session
}

// A session is what pprof serves of one profile, or of the difference of two.
type session struct {
	asked
	changed time.Time // the run, when its profiles were read

	once  sync.Once
	pages map[string]http.Handler // by path, such as "/top"
	err   error
}

// asked is what an address below pprof/ names.
type asked struct {
	run, kind, setting string
	base               string
	versus             bool // base is given; its name may be empty
}

// pprof answers for /runs/{id}/pprof/{kind}/{setting}/… and
// …/{setting}/vs/{base}/… with pprof's own pages. r's path value "rest" is what
// follows the run's address.
func (s *Site) pprof(w http.ResponseWriter, r *http.Request, dir *store.Dir) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "these pages are only to look at", http.StatusMethodNotAllowed)
		return
	}
	rest := escapedRest(r)
	a, page, ok := parseAsked(rest)
	switch {
	case !ok || !slices.Contains(dyno.ProfileNames, a.kind) || !known(dir, a.setting) || a.versus && !known(dir, a.base):
		http.NotFound(w, r)
		return
	case page == "saveconfig" || page == "deleteconfig": // which would write below the home directory
		http.Error(w, "configurations are not kept here", http.StatusForbidden)
		return
	case !slices.Contains([]string{"", "flamegraph", "top", "graph", "peek", "source", "download"}, page):
		http.NotFound(w, r)
		return
	case page == "" && !strings.HasSuffix(rest, "/"):
		w.Header().Set("Location", rest[strings.LastIndexByte(rest, '/')+1:]+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case page == "graph" && !hasDot():
		http.Error(w, "the graph is drawn by dot, which is not on this machine (consider: to install graphviz; the flame graph shows the same stacks)", http.StatusNotImplemented)
		return
	}
	leave, ok := s.enter(w, r, dir.Path)
	if !ok {
		return
	}
	defer leave()
	a.run = dir.Path
	pages, err := s.profiles.get(a, changed(dir), func() (map[string]http.Handler, error) { return s.openProfiles(dir, a) })
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	query := r.URL.Query()
	framed := query.Has("frame")
	query.Del("frame")
	query["unit"] = slices.DeleteFunc(query["unit"], func(u string) bool { return u != unquoted(u) })
	if n, err := strconv.Atoi(query.Get("n")); page == "graph" && err == nil && (n < 0 || n > mostNodes) {
		query.Set("n", strconv.Itoa(mostNodes)) // nothing ends dot but its work
	}
	got := fetchPage(pages["/"+page], r.Method, query.Encode())
	if strings.HasPrefix(got.head.Get("Content-Type"), "text/html") {
		if err := got.dress(a, framed); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	got.send(w)
}

// known reports whether a run has a setting.
func known(dir *store.Dir, setting string) bool {
	return slices.ContainsFunc(dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == setting })
}

// changed is when the last result of a run was added, and with it its profiles.
func changed(dir *store.Dir) time.Time {
	info, err := os.Stat(filepath.Join(dir.Path, "results.jsonl"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// escapedRest is what follows pprof/ in the path, as the browser sent it: a setting
// may have slashes, and so may the run.
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

// parseAsked reads KIND/SETTING/PAGE or KIND/SETTING/vs/BASE/PAGE; the last slash
// may be missing if there is no page.
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

// PprofPath is the address of pprof's pages of a profile, relative to the run's:
// of the setting alone or, with versus, of what changed since base.
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

// hasDot reports whether graphs can be drawn.
func hasDot() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}

// get returns the pages of a session, which open makes if there is none or if
// the run has changed since.
func (p *profiles) get(a asked, changed time.Time, open func() (map[string]http.Handler, error)) (map[string]http.Handler, error) {
	p.mu.Lock()
	i := slices.IndexFunc(p.open, func(s *session) bool { return s.asked == a })
	var s *session
	if i >= 0 {
		s = p.open[i]
		p.open = slices.Delete(p.open, i, i+1)
	}
	if s == nil || !s.changed.Equal(changed) {
		s = &session{asked: a, changed: changed}
	}
	if p.open = append(p.open, s); len(p.open) > mostSessions {
		p.open = slices.Delete(p.open, 0, 1)
	}
	p.mu.Unlock()

	s.once.Do(func() {
		s.err = errors.New("open pprof: it failed") // should it panic
		s.pages, s.err = open()
	})
	if s.err != nil { // the next request tries anew
		p.mu.Lock()
		p.open = slices.DeleteFunc(p.open, func(other *session) bool { return other == s })
		p.mu.Unlock()
	}
	return s.pages, s.err
}

// openProfiles reads what was asked for and opens it in pprof.
func (s *Site) openProfiles(dir *store.Dir, a asked) (map[string]http.Handler, error) {
	of, err := Sum{Setting: a.setting}, fitProfiles(dir.Path)
	if err != nil {
		return nil, err
	}
	if of.Profile, of.Requests, err = s.Hands.Profile(dir, a.kind, a.setting); err != nil {
		return nil, err
	}
	var base *Sum
	if a.versus {
		base = &Sum{Setting: a.base}
		if base.Profile, base.Requests, err = s.Hands.Profile(dir, a.kind, a.base); err != nil {
			return nil, err
		}
	}
	shown, from, err := comparable(a.kind, of, base)
	if err != nil {
		return nil, err
	}
	return openPprof(shown, from)
}

// driving is held while pprof's driver starts a session: it writes variables of
// its package, even where nothing asks for it.
var driving sync.Mutex

// openPprof starts a session of pprof, and returns what serves its pages. Those
// may be used by many at once. The profiles are pprof's then; from may be nil.
//
// Note: no flag that configures a view is passed, ever: the driver would keep it
// for all sessions, those that are open included. Views are chosen by the URL.
func openPprof(shown, from *profile.Profile) (map[string]http.Handler, error) {
	if _, err := os.UserConfigDir(); err != nil { // pprof asks for it, though nothing is kept there
		return nil, fmt.Errorf("open pprof: %w (consider: HOME=/tmp)", err)
	}
	var pages map[string]http.Handler
	driving.Lock()
	defer driving.Unlock()
	err := driver.PProf(&driver.Options{
		Flagset: flags{versus: from != nil},
		Fetch:   fetcher{"profile": shown, "base": from},
		Sym:     asIs{},
		Obj:     noObjects{},
		UI:      silent{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			pages = args.Handlers
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open pprof: %w", err)
	}
	return pages, nil
}

// noFolder is one that is not there, the same for all sessions. pprof looks also in
// the folders around it, which is the root alone.
const noFolder = "/no-folder-of-dyno"

// flags is the command line of a session.
type flags struct{ versus bool }

func (flags) Bool(name string, def bool, _ string) *bool {
	v := def || name == "no_browser"
	return &v
}
func (flags) Int(_ string, def int, _ string) *int             { return &def }
func (flags) Float64(_ string, def float64, _ string) *float64 { return &def }
func (flags) ExtraUsage() string                               { return "" }
func (flags) AddExtraUsage(string)                             {}
func (flags) Parse(func()) []string                            { return []string{"profile"} }
func (flags) String(name string, def string, _ string) *string {
	switch name {
	case "http":
		def = "localhost:0" // nobody listens
	case "symbolize":
		def = "none"
	case "source_path", "trim_path": // or pprof looks for names in the folder that it was started in
		def = noFolder
	}
	return &def
}

func (f flags) StringList(name string, def string, _ string) *[]*string {
	if name == "diff_base" && f.versus {
		def = "base"
	}
	return &[]*string{&def}
}

// A fetcher has profiles by name. What it returns is the driver's.
type fetcher map[string]*profile.Profile

func (f fetcher) Fetch(src string, _, _ time.Duration) (*profile.Profile, string, error) {
	if f[src] == nil {
		return nil, "", fs.ErrNotExist // else the driver would look elsewhere
	}
	return f[src], "", nil
}

// asIs leaves a profile's symbols as they are.
type asIs struct{}

func (asIs) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// noObjects is the tool for object files where there are none. Else the driver
// would spend 60 ms looking for binutils, and open what a profile names.
type noObjects struct{}

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errors.ErrUnsupported
}
func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errors.ErrUnsupported
}

// silent is a user interface that nobody sees: pages tell their errors.
type silent struct{}

func (silent) ReadLine(string) (string, error)     { return "", io.EOF }
func (silent) Print(...any)                        {}
func (silent) PrintErr(...any)                     {}
func (silent) IsTerminal() bool                    { return false }
func (silent) WantBrowser() bool                   { return false }
func (silent) SetAutoComplete(func(string) string) {}

// pprofPolicy is the content policy of pprof's pages. Their scripts are inline,
// so they live in an origin of their own, from which they can ask for nothing
// and reach nothing of this site.
const pprofPolicy = "sandbox allow-scripts allow-forms allow-popups allow-downloads; default-src 'none'; " +
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// A fetched page is an answer of pprof's before it is sent.
type fetched struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (f *fetched) Header() http.Header         { return f.head }
func (f *fetched) Write(b []byte) (int, error) { return f.body.Write(b) }
func (f *fetched) WriteHeader(status int) {
	if f.status == 0 {
		f.status = status
	}
}

// fetchPage asks a handler of pprof's, which knows a page by its query alone.
func fetchPage(h http.Handler, method, query string) *fetched {
	f := &fetched{head: http.Header{}}
	h.ServeHTTP(f, &http.Request{Method: method, URL: &url.URL{Path: "/", RawQuery: query}, Header: http.Header{}})
	return f
}

func (f *fetched) send(w http.ResponseWriter) {
	for k, v := range f.head {
		w.Header()[k] = v
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pprofPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if f.status != 0 {
		w.WriteHeader(f.status)
	}
	w.Write(f.body.Bytes())
}

// dress takes out of a page what does not work here, and says in it what it shows.
func (f *fetched) dress(a asked, framed bool) error {
	p := edited{text: f.body.String()}
	p.cut(`<div id="config" class="menu-item">`, `<div id="download"`, "")
	p.cut(`<div id="dialog-overlay">`, `<div id="errors">`, noDialogs)
	p.cutLine(`id="disasm"`)
	if !hasDot() {
		p.cutLine(`id="graphbtn"`)
	}
	up := "../../../"
	if a.versus {
		up += "../../"
	}
	back := fmt.Sprintf("<a href=%q>back to the run</a> ", up)
	if framed { // in the run's own page
		back = ""
	}
	p.after("<body>", "\n<p id=\"dyno\">"+back+html.EscapeString(a.about())+"</p>")
	p.before("</head>", "<style>#dyno { margin: 0; padding: 4px 8px; font: 13px sans-serif; background: #fff; color: #222 }</style>\n")
	f.body.Reset()
	f.body.WriteString(p.text)
	return p.err
}

// about says what is shown.
func (a asked) about() string {
	text := a.kind + " profile of " + label(a.setting)
	if !a.versus {
		return text + ", all its trials for profiles added up"
	}
	text += " against " + label(a.base)
	if perRequest(a.kind) {
		text += ", both per million requests"
	}
	return text + ". Boxes are as wide as both together: what there is more of now is red, what there is less of green"
}

func label(setting string) string {
	if setting == "" {
		return "(as is)"
	}
	return setting
}
