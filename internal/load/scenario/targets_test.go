package scenario

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/texts"
)

// show writes a step as a request, with what is sent.
func show(t testing.TB, s *dyno.Step) string {
	t.Helper()
	sent := func(what, s string) string {
		x, err := texts.Parse(what, s, texts.NewNames(nil, nil))
		got, ok := x.Fixed()
		if err != nil || !ok {
			t.Errorf("%s %q is a template: %v", what, s, err)
		}
		return got
	}
	out := s.Method + " " + sent("path", s.Path)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		out += "|" + name + ": " + sent("header", s.Headers[name])
	}
	if s.Body != "" {
		out += "|" + sent("body", s.Body)
	}
	if s.BodyFile != "" {
		out += "|@" + filepath.ToSlash(s.BodyFile)
	}
	return out
}

// The forms that vegeta's manual shows, and what its users rely on.
func TestReadTargets(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("in/bodies", 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "in/bodies/new thing.json", "{}")
	writeFile(t, "in/b", "")
	for _, tt := range []struct {
		content, base string
		want          []string
	}{
		{"GET http://goku:9090/path/to/dragon?item=ball\nGET http://goku:9090\nHEAD http://goku:9090/a/success", "http://goku:9090",
			[]string{"GET /path/to/dragon?item=ball", "GET /", "HEAD /a/success"}},
		{"# all of them\n\nGET http://goku/a\r\nX-Account-ID: 8675309\r\n# one more\r\n  accept :  text/html, */*  \r\nGET http://GOKU:80/b\n\n\n#\nDELETE /c#d\nAuthorization: Token DEADBEEF\n", "http://goku",
			[]string{"GET /a|X-Account-ID: 8675309|accept: text/html, */*", "GET /b", "DELETE /c|Authorization: Token DEADBEEF"}},
		{"POST /things\nX-Account-ID: 99\n@bodies/new thing.json\nPATCH\t/things/1\n@ b\n", "",
			[]string{"POST /things|X-Account-ID: 99|@in/bodies/new thing.json", "PATCH /things/1|@in/b"}},
		{"GET /\nCookie: a=1\nCookie: b=2\nx-a: 1\nX-A: 2\n", "", []string{"GET /|Cookie: a=1; b=2|x-a: 1, 2"}},
		{"GET /a{{.n}}?q={{uuid}}&r=%7B%7B\nX: {{.client}}\n\nGET //b\nGET http://[::1]:80/%2f/\n", "http://[::1]:80",
			[]string{"GET /a%7B%7B.n%7D%7D?q={{uuid}}&r=%7B%7B|X: {{.client}}", "GET //b", "GET /%2f/"}},
		{"\ufeffGET /", "", []string{"GET /"}},
		{"GET http://127.0.0.1:9/a HTTP/1.1\nHost: x\nAccept: */*\n\nPOST /b HTTP/2\n", "http://127.0.0.1:9", []string{"GET /a|Accept: */*|Host: x", "POST /b"}},

		{`{"method":"GET","url":"http://goku/a","body":"UHVuY2ghAP97e3t7Lm59fQ==","header":{"Content-Type":["text/plain"],"A":["1","2"],"B":[]}}` +
			"\r\n\n" + ` {"url":"/b","method":"POST"}`, "http://goku",
			[]string{"GET /a|A: 1, 2|Content-Type: text/plain|Punch!\x00\xff{{{{.n}}", "POST /b"}},
		{`{"method":"PUT","url":"http://goku/","body":null,"header":null}`, "http://goku", []string{"PUT /"}},
	} {
		writeFile(t, "in/targets", tt.content)
		steps, base, err := ReadTargets("in/targets")
		if err != nil || base != tt.base {
			t.Errorf("%q: base %q, %v; want %q", tt.content, base, err, tt.base)
		}
		var got []string
		for i := range steps {
			if steps[i].Label() != targetName {
				t.Errorf("a step is called %q", steps[i].Name)
			}
			got = append(got, show(t, &steps[i]))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q:\ngot  %q\nwant %q", tt.content, got, tt.want)
		}
	}
}

func TestTargetMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	const like = "(want for example http://127.0.0.1:8080/path or /path)"
	for _, tt := range []struct{ content, want string }{
		{"", "no targets in the file"},
		{"# nothing\n\n", "no targets in the file"},
		{"GET http://a/\n\nGET http://b/\n", "t:3: http://b is not http://a of line 1: a load goes to one service"},
		{"GET http://a/\nGET https://a/\n", "t:2: https://a is not http://a of line 1: a load goes to one service"},
		{"GET http://a/\nGET http://a:81/\n", "t:2: http://a:81 is not http://a of line 1: a load goes to one service"},
		{"GET", `t:1: "GET" is not a target (want for example GET http://127.0.0.1:8080/path)`},
		{"http://a/", `t:1: "http://a/" is not a target (want for example GET http://127.0.0.1:8080/path)`},
		{"get http://a/", `t:1: "get http://a/" is not a target (want for example GET http://127.0.0.1:8080/path)`},
		{"GET /a b", `t:1: "GET /a b" is not a method and a URL (consider: %20 for a space)`},
		{"GET a/b", `t:1: bad URL "a/b": invalid URI for request ` + like},
		{"GET ftp://a/b", `t:1: bad URL "ftp://a/b": not of an HTTP service ` + like},
		{"GET http:///b", `t:1: bad URL "http:///b": not of an HTTP service ` + like},
		{"GET http:b", `t:1: bad URL "http:b": not of an HTTP service ` + like},
		{"GET /%zz", `t:1: bad URL "/%zz": invalid URL escape "%zz" ` + like},
		{"OPTIONS *", `t:1: bad URL "*": not of an HTTP service ` + like},
		{"GET /\nwhat is this", `t:2: "what is this" is neither a header nor a target`},
		{"GET /\nAb C: d", `t:2: bad header "Ab C: d" (want NAME: VALUE)`},
		{"GET /\nA:", `t:2: bad header "A: " (want NAME: VALUE)`},
		{"GET /\nA: b\x00c", `t:2: bad header "A: b\x00c" (want NAME: VALUE)`},
		{"GET /\n\nA: b", `t:3: "A: b" is not a target (want for example GET http://127.0.0.1:8080/path)`},
		{"POST /\n@", "t:2: no file after @"},
		{"GET /\n\nGET https://user:pass@a/b", `t:3: bad URL "https://user:pass@a/b": a user belongs in an Authorization header ` + like},

		{"{}", `t:1: bad method "" (want for example GET)`},
		{`{"method":"GET"}`, `t:1: bad URL "": empty url ` + like},
		{`{"method":"GET","url":"/a b"}`, `t:1: bad URL "/a b": it has a space ` + like},
		{`{"method":"GET /","url":"/a"}`, `t:1: bad method "GET /" (want for example GET)`},
		{`{"method":"GET","url":"/"}` + "\n" + `{"method":"GET","url":"/","body":"a b"}`, "t:2: bad target: illegal base64 data at input byte 1 (want a JSON object with method, url, body in base64, and header; vegeta ignores other keys, dyno does not)"},
		{`{"method":"GET","url":"/","headers":{}}`, `t:1: bad target: json: unknown field "headers" (want a JSON object with method, url, body in base64, and header; vegeta ignores other keys, dyno does not)`},
		{`{"method":"GET","url":"/","header":{"A":["b\r\nC: d"]}}`, `t:1: bad header "A: b\r\nC: d" (want NAME: VALUE)`},
		{`{"method":"GET","url":"/"} {}`, "t:1: more than one JSON object on the line"},
		{`{"method":"GET","url":"http://a"}` + "\n" + `{"method":"GET","url":"http://b"}`, "t:2: http://b is not http://a of line 1: a load goes to one service"},
	} {
		writeFile(t, "t", tt.content)
		steps, _, err := ReadTargets("t")
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) || mistake.Msg != "targets: "+tt.want || !slices.Equal(mistake.Key, []string{"load", "targets"}) || steps != nil {
			t.Errorf("%q:\ngot  %v\nwant targets: %s", tt.content, err, tt.want)
		}
	}
	writeFile(t, "t", "POST /x\n@none.json")
	_, err := Compile(mustParse(t, "http://a"), &dyno.Load{Targets: "t"}, nil)
	if want := "targets: t: POST /x: open none.json: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("no file of a body: %v, want %s", err, want)
	}
	if _, _, err := ReadTargets("none"); err == nil || err.Error() != "targets: open none: no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

// FuzzTargets: what is read can be sent as it is, to one service, and nothing
// in it ends a line of the request.
func FuzzTargets(f *testing.F) {
	for _, s := range []string{
		"GET http://a:1/b?c={{.n}}\nX: y\n@f\n\n# z\nPOST /\n", "GET http://u:p@a\nGET /x#y\nA: b\nA: c",
		`{"method":"GET","url":"http://a/b","body":"e3s=","header":{"K":["v","w"]}}` + "\n" + `{"method":"PUT","url":"/"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := targets{dir: "d"}
		if p.parse([]byte(s)) != nil {
			return
		}
		if len(p.steps) == 0 {
			t.Fatal("neither targets nor an error")
		}
		for i := range p.steps {
			st := &p.steps[i]
			head, _, _ := strings.Cut(show(t, st), "|")
			path := strings.TrimPrefix(head, st.Method+" ")
			if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \r\n\x00") || !isMethod(st.Method) || st.Name != targetName {
				t.Errorf("%+v", st)
			}
			for name, v := range st.Headers {
				if !http1.IsToken(name) || strings.ContainsAny(v, "\r\n\x00") {
					t.Errorf("header %q: %q", name, v)
				}
			}
			if _, err := http1.OriginForm(mustParse(t, "http://a"), []byte(path)); err != nil {
				t.Error(err)
			}
		}
		if p.base != "" {
			if u := mustParse(t, p.base); fmt.Sprint(u.Scheme, "://", u.Host) != p.base || u.Host == "" {
				t.Errorf("base %q", p.base)
			}
		}
	})
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
