package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/texts"
)

// ReadTargets reads a file of requests in either of vegeta's formats
// (https://github.com/tsenart/vegeta, -targets and -format): request lines with
// headers and a body's file below, or one JSON object a line. A target may be a path.
//
// All steps have one name, so they count as one; nothing in them is a template. base
// is the scheme and host of their URLs, "" if there are only paths. A mistake is a
// [*dyno.PlanError] with file and line.
//
// Note: bodies' files are looked for beside the targets, not in the working directory
// as in vegeta, so the file means the same wherever dyno starts.
func ReadTargets(file string) (steps []dyno.Step, base string, err error) {
	data, err := readFile(file)
	p := targets{dir: filepath.Dir(file)}
	if err == nil {
		if err = p.parse(data); err != nil && p.line > 0 {
			err = fmt.Errorf("%s:%d: %w", file, p.line, err)
		}
	}
	if err != nil {
		return nil, "", &dyno.PlanError{Msg: fmt.Sprintf("targets: %v", err), Key: []string{"load", "targets"}}
	}
	return p.steps, p.base, nil
}

type targets struct {
	dir   string // of the bodies' files
	line  int
	steps []dyno.Step

	base  string // "" as long as there were only paths
	host  string // base in the form in which equal ones are equal
	first int    // line of base
}

const targetName = "target"

func (p *targets) parse(data []byte) error {
	line := p.plain
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		line = p.json
	}
	open := false
	for l := range bytes.Lines(data) {
		p.line++
		var err error
		if open, err = line(string(bytes.TrimSpace(l)), open); err != nil {
			return err
		}
	}
	if len(p.steps) == 0 {
		p.line = 0
		return errors.New("no targets in the file")
	}
	return nil
}

// plain reads a line of the HTTP format; a target is open while headers and a body
// may follow.
func (p *targets) plain(line string, open bool) (stillOpen bool, err error) {
	words := strings.Fields(line)
	if len(words) == 3 && isMethod(words[0]) && strings.HasPrefix(words[2], "HTTP/") { // as copied from a capture
		words = words[:2]
	}
	switch {
	case line == "":
		return false, nil
	case line[0] == '#':
		return open, nil
	case isMethod(words[0]) && len(words) == 2:
		return true, p.add(words[0], words[1])
	case isMethod(words[0]) && len(words) > 2:
		return false, fmt.Errorf("%q is not a method and a URL (consider: %%20 for a space)", texts.Shorten(line))
	case !open:
		return false, fmt.Errorf("%q is not a target (want for example GET http://127.0.0.1:8080/path)", texts.Shorten(line))
	case line[0] == '@':
		return false, p.bodyFile(strings.TrimSpace(line[1:]))
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return false, fmt.Errorf("%q is neither a header nor a target", texts.Shorten(line))
	}
	return true, p.header(strings.TrimSpace(name), strings.TrimSpace(value))
}

func (p *targets) json(line string, _ bool) (bool, error) {
	if line == "" {
		return false, nil
	}
	var t struct {
		Method string              `json:"method"`
		URL    string              `json:"url"`
		Body   []byte              `json:"body"`
		Header map[string][]string `json:"header"`
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return false, fmt.Errorf("bad target: %w (want a JSON object with method, url, body in base64, and header; vegeta ignores other keys, dyno does not)", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return false, errors.New("more than one JSON object on the line")
	}
	if err := p.add(t.Method, t.URL); err != nil {
		return false, err
	}
	s := &p.steps[len(p.steps)-1]
	s.Body = texts.Literal(string(t.Body))
	for _, name := range slices.Sorted(maps.Keys(t.Header)) {
		for _, v := range t.Header[name] {
			if err := p.header(name, v); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

func (p *targets) add(method, target string) error {
	if !isMethod(method) {
		return fmt.Errorf("bad method %q (want for example GET)", texts.Shorten(method))
	}
	target, _, _ = strings.Cut(target, "#") // a fragment is not sent
	bad := func(why error) error {
		return fmt.Errorf("bad URL %q: %w (want for example http://127.0.0.1:8080/path or /path)", texts.Shorten(target), why)
	}
	if strings.ContainsAny(target, " \t\r\n") {
		return bad(errors.New("it has a space"))
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return bad(errors.Unwrap(err))
	}
	if target[0] != '/' {
		if u.Host == "" || u.Host == dyno.SocketHost || u.Scheme != "http" && u.Scheme != "https" {
			return bad(errors.New("not of an HTTP service"))
		}
		if err := p.service(u); err != nil {
			return err
		}
	}
	if u.User != nil {
		return bad(errors.New("a user belongs in an Authorization header"))
	}
	p.steps = append(p.steps, dyno.Step{Name: targetName, Method: method, Path: texts.Literal(u.RequestURI())})
	return nil
}

func (p *targets) service(u *url.URL) error {
	_, addr := http1.Address(u)
	host := u.Scheme + "://" + strings.ToLower(addr)
	base := u.Scheme + "://" + u.Host
	if p.base == "" {
		p.base, p.host, p.first = base, host, p.line
	}
	if host != p.host {
		return fmt.Errorf("%s is not %s of line %d: a load goes to one service", base, p.base, p.first)
	}
	return nil
}

func (p *targets) bodyFile(file string) error {
	if file == "" {
		return errors.New("no file after @")
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	p.steps[len(p.steps)-1].BodyFile = file
	return nil
}

// header adds a header to the last target. Values of the same name become one line,
// which means the same (RFC 9110, section 5.3; for cookies RFC 9113, section 8.2.3).
func (p *targets) header(name, value string) error {
	if !http1.IsToken(name) || value == "" || !http1.Printable([]byte(value)) {
		return fmt.Errorf("bad header %q (want NAME: VALUE)", texts.Shorten(name+": "+value))
	}
	s := &p.steps[len(p.steps)-1]
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	between := ", "
	if strings.EqualFold(name, "Cookie") {
		between = "; "
	}
	value = texts.Literal(value)
	for n, v := range s.Headers {
		if strings.EqualFold(n, name) {
			name, value = n, v+between+value
		}
	}
	s.Headers[name] = value
	return nil
}

// isMethod reports whether s looks like a method; capital letters tell a target's
// line from a header's.
func isMethod(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}
