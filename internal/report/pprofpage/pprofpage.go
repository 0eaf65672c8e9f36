// Package pprofpage shows profiles in pprof's own pages: as a server's, and as a flame
// graph that needs no server.
//
// A profile is what a subject wrote, and pprof trusts it: it shows the files that a
// profile names. So what pprof gets is cleaned first, and where a page is shown it
// needs Policy, or FlameBlocks for a policy of the page around it.
package pprofpage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// Policy is the content policy of pprof's pages. Their scripts are inline, so they
// live in an origin of their own, from which they can ask for nothing and reach
// nothing of the site that serves them.
const Policy = "sandbox allow-scripts allow-forms allow-popups allow-downloads; default-src 'none'; " +
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// mostNodes is the largest number of functions in a graph; pprof's own default is 80.
const mostNodes = 200

// Check says with an HTTP status and a sentence why a page is not served; status 0 allows it.
// The page "" leads to the flame graph.
func Check(page string) (status int, reason string) {
	switch {
	case page == "saveconfig" || page == "deleteconfig": // which would write below the home directory
		return http.StatusForbidden, "this page does not save configurations"
	case !slices.Contains([]string{"", "flamegraph", "top", "graph", "peek", "source", "download"}, page):
		return http.StatusNotFound, "pprof has no such page here"
	case page == "graph" && !hasDot():
		return http.StatusNotImplemented, "the graph is drawn by dot, which is not on this machine (consider: to install graphviz; the flame graph shows the same stacks)"
	}
	return 0, ""
}

func hasDot() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}

// Pages shows one profile or the difference of two. It is safe for concurrent use.
type Pages struct {
	handlers map[string]http.Handler // by path, such as "/top"
	about    string
}

// Open starts a session of pprof with copies of a profile, or of what changed since base if
// that is not nil. kind is one of dyno.ProfileNames.
func Open(kind string, of profiles.Sum, base *profiles.Sum) (*Pages, error) {
	shown, from, _, err := comparable(kind, of, base)
	if err != nil {
		return nil, err
	}
	p, err := open(shown, from)
	if err != nil {
		return nil, err
	}
	p.about = kind + " profile of " + label(of.Setting)
	if base == nil {
		p.about += ", summed over all its trials for profiles"
		return p, nil
	}
	p.about += " against " + label(base.Setting)
	if perRequest(kind) {
		p.about += ", both per million requests"
	}
	p.about += ". The width of a box is the sum of both: red is more than the baseline, green is less"
	return p, nil
}

// Serve answers a request for a page that Check allows. back is the address of the page before,
// or "" in a frame.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request, page, back string) {
	query := r.URL.Query()
	query.Del("frame")
	got := p.fetch(page, r.Method, query)
	h := w.Header()
	for k, v := range got.head {
		h[k] = v
	}
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(got.status)
	if strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		if back != "" {
			back = fmt.Sprintf("<a href=%q>back to the run</a> ", back)
		}
		style := "#dyno { margin: 0; padding: 4px 8px; font: 13px sans-serif; background: #fff; color: #222 } #config, #disasm"
		if !hasDot() {
			style += ", #graphbtn"
		}
		text := strings.Replace(got.body.String(), "<body>", "<body>\n<style>"+style+" { display: none !important }</style>\n<p id=\"dyno\">"+back+html.EscapeString(p.about)+"</p>", 1)
		io.WriteString(w, text)
		return
	}
	w.Write(got.body.Bytes())
}

type fetched struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (f *fetched) Header() http.Header         { return f.head }
func (f *fetched) Write(b []byte) (int, error) { return f.body.Write(b) }
func (f *fetched) WriteHeader(status int)      { f.status = status }

func (p *Pages) fetch(page, method string, query url.Values) *fetched {
	query["unit"] = slices.DeleteFunc(query["unit"], func(u string) bool { return u != unquoted(u) })
	if n, err := strconv.Atoi(query.Get("n")); page == "graph" && err == nil && (n < 0 || n > mostNodes) {
		query.Set("n", strconv.Itoa(mostNodes)) // nothing ends dot but its work
	}
	f := &fetched{head: http.Header{}, status: http.StatusOK}
	p.handlers["/"+page].ServeHTTP(f, &http.Request{Method: method, URL: &url.URL{Path: "/", RawQuery: query.Encode()}, Header: http.Header{}})
	return f
}

// driving is held while pprof's driver starts, as it writes package variables.
var driving sync.Mutex

// open starts a session of pprof and gives it the profiles; from may be nil.
//
// Note: never pass a flag that configures a view: the driver would keep it for all sessions.
// Views are chosen by the URL.
func open(shown, from *profile.Profile) (*Pages, error) {
	if _, err := os.UserConfigDir(); err != nil { // pprof asks for it, though nothing is kept there
		return nil, fmt.Errorf("open pprof: %w (consider: HOME=/tmp)", err)
	}
	var pages Pages
	err := drive(flags{"http": "localhost:0"}, shown, from, &driver.Options{ // nobody listens
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			pages.handlers = args.Handlers
			return nil
		},
	})
	return &pages, err
}

// Peek returns pprof's text of the functions that match, each between callers and callees, per
// million requests where the kind counts by requests. It is fs.ErrNotExist if none matches.
func Peek(kind string, of profiles.Sum, match *regexp.Regexp) (string, error) {
	p, title := clean(of.Profile), label(of.Setting)
	if perRequest(kind) {
		p.Scale(1e6 / float64(of.Requests))
		title += ", per million requests"
	}
	entitle(p, title)
	if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return match.MatchString(f.Name) }) {
		return "", fs.ErrNotExist
	}
	var out text
	// The name of the output is the one thing that the driver keeps; pages have none.
	err := drive(flags{"peek": match.String(), "output": "peek"}, p, nil, &driver.Options{Writer: &out})
	return out.String(), err
}

type text struct{ strings.Builder }

func (t *text) Open(string) (io.WriteCloser, error) { return t, nil }
func (*text) Close() error                          { return nil }

func drive(given flags, shown, from *profile.Profile, o *driver.Options) error {
	given["symbolize"], given["source_path"], given["trim_path"] = "none", noFolder, noFolder // else pprof looks for names in the folder that it was started in
	if from != nil {
		given["diff_base"] = "base"
	}
	o.Flagset, o.Fetch, o.Obj, o.UI = given, fetcher{"profile": shown, "base": from}, noObjects{}, silent{}
	driving.Lock()
	defer driving.Unlock()
	if err := driver.PProf(o); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	return nil
}

// noFolder does not exist. pprof looks also in the folders around it, which is the root alone.
const noFolder = "/no-folder-of-dyno"

// flags are the flags that were given, without dashes.
type flags map[string]string

func (flags) Bool(_ string, def bool, _ string) *bool          { return &def }
func (flags) Int(_ string, def int, _ string) *int             { return &def }
func (flags) Float64(_ string, def float64, _ string) *float64 { return &def }
func (flags) ExtraUsage() string                               { return "" }
func (flags) AddExtraUsage(string)                             {}
func (flags) Parse(func()) []string                            { return []string{"profile"} }
func (f flags) String(name string, def string, _ string) *string {
	if v, ok := f[name]; ok {
		def = v
	}
	return &def
}
func (f flags) StringList(name string, def string, usage string) *[]*string {
	return &[]*string{f.String(name, def, usage)}
}

// A fetcher returns profiles by name. The driver may change what it returns.
type fetcher map[string]*profile.Profile

func (f fetcher) Fetch(src string, _, _ time.Duration) (*profile.Profile, string, error) {
	if f[src] == nil {
		return nil, "", fs.ErrNotExist // else the driver would look elsewhere
	}
	return f[src], "", nil
}

// noObjects keeps the driver from spending 60 ms on binutils and from opening files that a
// profile names.
type noObjects struct{}

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errors.ErrUnsupported
}
func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errors.ErrUnsupported
}

type silent struct{}

func (silent) ReadLine(string) (string, error)     { return "", io.EOF }
func (silent) Print(...any)                        {}
func (silent) PrintErr(...any)                     {}
func (silent) IsTerminal() bool                    { return false }
func (silent) WantBrowser() bool                   { return false }
func (silent) SetAutoComplete(func(string) string) {}

func label(setting string) string { return cmp.Or(setting, "(as is)") }
