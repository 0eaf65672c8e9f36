package load

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/dynolab/dyno"
)

// A scenario is a dyno.Client made ready to be played: templates and captures
// are compiled, and what does not vary is rendered.
type scenario struct {
	setup, loop, teardown []*step
	tallies               []tally // what is measured: steps of the same name are one
}

// A tally is a name under which requests are counted.
type tally struct {
	label string
	loop  bool // of the loop, so part of the totals
}

type step struct {
	label    string
	method   string
	base     *url.URL
	target   text
	headers  []header
	body     text
	fixed    *request // the whole request, if nothing of it varies
	expect   []int
	captures []capture
	keep     int64 // how much of the body is needed
	measured bool
	tally    int // index in scenario.tallies, if measured
}

type header struct {
	name  string
	value text
}

// bodyShown is how much of a body an error message may quote.
const bodyShown = 200

// compile makes a scenario. A template may use what is captured before it; so a
// misspelt variable is found here, before anything is sent.
func compile(base *url.URL, c *dyno.Client, arg map[string]string) (*scenario, error) {
	known := variables(arg)
	var s scenario
	measured := 0
	for _, part := range []struct {
		name  string
		steps []dyno.Step
		to    *[]*step
		loop  bool
	}{{"setup", c.Setup, &s.setup, false}, {"loop", c.Loop, &s.loop, true}, {"teardown", c.Teardown, &s.teardown, false}} {
		for i := range part.steps {
			st := &part.steps[i]
			keep := int64(bodyShown)
			if part.loop {
				keep = 0
			}
			p, err := compileStep(base, st, known, keep)
			if err != nil {
				return nil, &dyno.PlanError{
					Msg: fmt.Sprintf("step %q: %v", st.Label(), err),
					Key: []string{"load", "client", part.name, strconv.Itoa(i)},
				}
			}
			p.measured = part.loop
			if st.Measure != nil {
				p.measured = *st.Measure
			}
			if p.measured {
				p.tally = s.index(tally{p.label, part.loop})
			}
			if p.measured && part.loop {
				measured++
			}
			*part.to = append(*part.to, p)
		}
	}
	if measured == 0 {
		return nil, errors.New("no step of the loop is measured (consider: measure: true on one of them)")
	}
	return &s, nil
}

func (s *scenario) index(t tally) int {
	if i := slices.Index(s.tallies, t); i >= 0 {
		return i
	}
	s.tallies = append(s.tallies, t)
	return len(s.tallies) - 1
}

// variables are those of a client that has captured nothing yet.
func variables(arg map[string]string) map[string]any {
	if arg == nil {
		arg = map[string]string{}
	}
	return map[string]any{"n": 0, "client": 0, "arg": arg}
}

func compileStep(base *url.URL, st *dyno.Step, known map[string]any, keep int64) (*step, error) {
	p := &step{label: st.Label(), method: st.Verb(), base: base, expect: st.Expect, keep: keep}
	var err error
	if p.target, err = parseText("path", st.Path, known); err != nil {
		return nil, err
	}
	if p.body, err = parseText("body", st.Body, known); err != nil {
		return nil, err
	}
	fixed := p.target.tmpl == nil && p.body.tmpl == nil
	for _, name := range slices.Sorted(maps.Keys(st.Headers)) {
		v, err := parseText("header "+name, st.Headers[name], known)
		if err != nil {
			return nil, err
		}
		p.headers = append(p.headers, header{name, v})
		fixed = fixed && v.tmpl == nil
	}
	if p.captures, err = compileCaptures(st.Capture); err != nil {
		return nil, err
	}
	for _, c := range p.captures {
		known[c.name] = "0"
		if c.jq != nil {
			p.keep = maxBody + 1
		}
	}
	if fixed {
		p.fixed, err = p.request(known)
	}
	return p, err
}

// request renders the request. A fixed one is shared: it must not be changed.
func (s *step) request(vars map[string]any) (*request, error) {
	if s.fixed != nil {
		return s.fixed, nil
	}
	r := &request{method: s.method, header: http.Header{"User-Agent": {"dyno"}}, keep: s.keep}
	target, err := s.target.render(vars)
	if err != nil {
		return nil, err
	}
	if r.url, err = resolve(s.base, target); err != nil {
		return nil, err
	}
	for _, h := range s.headers {
		v, err := h.value.render(vars)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(h.name, "Host") {
			r.host = v
			continue
		}
		r.header.Set(h.name, v)
	}
	r.body, err = s.body.render(vars)
	return r, err
}

// resolve returns the URL of a target, which is a path or what a service sent
// as a Location. It must stay on the service: a load on a stranger is an attack.
func resolve(base *url.URL, target string) (*url.URL, error) {
	if strings.HasPrefix(target, "/") {
		return url.Parse(base.Scheme + "://" + base.Host + target)
	}
	u, err := base.Parse(target)
	if err == nil && (u.Host != base.Host || u.Scheme != base.Scheme) {
		return nil, fmt.Errorf("path %q leaves %s", target, base.Host)
	}
	return u, err
}

// accepts reports whether a status is success.
func (s *step) accepts(status int) bool {
	if len(s.expect) == 0 {
		return status < 400
	}
	return slices.Contains(s.expect, status)
}

// want says in words what accepts does.
func (s *step) want() string {
	if len(s.expect) == 0 {
		return "want below 400"
	}
	return "want " + strings.Trim(fmt.Sprint(s.expect), "[]")
}

// A text is a string that may vary with a client's variables.
type text struct {
	fixed string
	tmpl  *template.Template // nil if it does not vary
}

// parseText compiles a template. A variable that is not known is an error.
func parseText(name, s string, known map[string]any) (text, error) {
	if !strings.Contains(s, "{{") {
		return text{fixed: s}, nil
	}
	t, err := template.New(name).Option("missingkey=error").Parse(s)
	if err != nil {
		return text{}, err
	}
	v := text{tmpl: t}
	// The values are made up, so only a missing one is a mistake of the plan.
	if _, err := v.render(known); errors.As(err, new(*unknownError)) {
		names := slices.Sorted(maps.Keys(known))
		return text{}, fmt.Errorf("%s %q: %w (known: %s)", name, s, err, strings.Join(names, ", "))
	}
	return v, nil
}

// An unknownError names a variable that has no value.
type unknownError struct{ name string }

func (e *unknownError) Error() string { return "unknown variable " + e.name }

func (t *text) render(vars map[string]any) (string, error) {
	if t.tmpl == nil {
		return t.fixed, nil
	}
	var b bytes.Buffer
	err := t.tmpl.Execute(&b, vars)
	if err == nil {
		return b.String(), nil
	}
	// text/template has no type for this error.
	if _, key, ok := strings.Cut(err.Error(), "map has no entry for key "); ok {
		return "", &unknownError{strings.Trim(key, `"`)}
	}
	return "", err
}
