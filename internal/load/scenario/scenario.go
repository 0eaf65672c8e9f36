// Package scenario has what a load's clients play: steps compiled from the plan, a
// file of targets or a recording, with templates, data and captures, and each client's variables.
// It renders requests and takes values out of answers; package load sends them.
package scenario

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/texts"
	"github.com/dynolab/dyno/internal/load/traffic"
	"github.com/dynolab/dyno/internal/safe"
)

// A Scenario is ready to be played: templates and captures are compiled, files read.
type Scenario struct {
	Setup, Loop, Teardown []*Step
	Tallies               []Tally // what is measured: steps of the same name are one
	Warnings              dyno.Warnings
	Recording             *traffic.Recording // of a replay; else nil
	tables                *texts.Tables
	counter               texts.Count // of {{counter}}
}

// Share makes the scenario that of one of several generators, before it is played: what is taken in turn
// over the whole load, such as rows of data, targets and {{counter}}, is taken by them in turn.
func (s *Scenario) Share(index, of int) {
	s.counter.Share(index, of)
	s.tables.Share(index, of)
	for _, step := range s.Loop {
		step.turn.Share(index, of)
	}
}

// A Tally is a label under which requests are counted.
type Tally struct {
	Label string
	Loop  bool // of the loop, so part of the totals
}

// A Step is a request, several at the same time, or a rest.
type Step struct {
	Label    string
	method   string
	base     *url.URL
	target   texts.Text
	host     texts.Text
	fields   []headerText
	body     texts.Text
	closes   bool           // it asks for the connection to be closed
	Fixed    *http1.Request // the whole request, if nothing of it varies
	Expect   []int
	captures []capture
	keep     int64 // how much of the body is needed
	header   bool  // the answer's header is needed
	Measured bool
	Tally    int // index in Scenario.Tallies, if measured

	sleep dyno.Sleep
	Group []*Step // sent at the same time
	turns []*Step // instead of itself: one of these, in turn over all clients
	turn  texts.Count

	replay   *replay            // instead of itself: the step of a request of a recording
	recorded *traffic.Recording // whose request Vars.number it sends; else nil
	also     int                // a status from 400 that is a success, too; 0: none
}

type headerText struct {
	name  string
	value texts.Text
}

// Pick returns the step itself, or that of request n of the load, from 0, for a client with the variables v.
func (s *Step) Pick(n int64, v *Vars) *Step {
	switch {
	case s.replay != nil:
		v.Number = int(n)
		return s.replay.step(int(n))
	case len(s.turns) > 0:
		return s.turns[n%int64(len(s.turns))]
	}
	return s
}

// Next is Pick in a closed load, where requests have no numbers before they are sent.
func (s *Step) Next() *Step {
	if len(s.turns) == 0 {
		return s
	}
	return s.Pick(s.turn.Next(), nil)
}

// Width returns the number of requests that the step sends at the same time.
func (s *Step) Width() int { return max(len(s.Group), 1) }

// Rests reports whether the step is a rest.
func (s *Step) Rests() bool { return s.sleep.Max > 0 }

// RestTime draws how long a client rests in this step.
func (s *Step) RestTime(v *Vars) time.Duration {
	d := time.Duration(s.sleep.Min)
	if more := int64(s.sleep.Max - s.sleep.Min); more > 0 {
		d += time.Duration(v.Random(more + 1))
	}
	return d
}

// Counts reports whether the step's request n is measured.
func (s *Step) Counts(n int) bool {
	if len(s.Group) > 0 {
		return s.Group[n].Measured
	}
	return s.Measured
}

// Vars are one client's variables.
type Vars = texts.Vars

// An UnknownError names a variable that has no value.
type UnknownError = texts.UnknownError

// MaxQuoted is the number of bytes of an answer that are shown for a request that failed.
const MaxQuoted = http1.ErrorBody - 1

type compiler struct {
	base  *url.URL
	known *texts.Names
	s     Scenario
}

// Compile makes the scenario of l. A template may use only what is captured before
// it, so a misspelt variable is found here.
func Compile(base *url.URL, l *dyno.Load, arg map[string]string) (*Scenario, error) {
	tables, err := readData(l.Data)
	if err != nil {
		return nil, err
	}
	c := compiler{base: base, known: texts.NewNames(arg, tables)}
	c.s.tables = tables
	for _, part := range []struct {
		name  string
		steps []dyno.Step
		to    *[]*Step
	}{{"setup", l.Client.Setup, &c.s.Setup}, {"loop", l.Client.Loop, &c.s.Loop}, {"teardown", l.Client.Teardown, &c.s.Teardown}} {
		for i := range part.steps {
			s, err := c.step(&part.steps[i], part.name == "loop")
			if err != nil {
				return nil, &dyno.PlanError{
					Msg: fmt.Sprintf("step %q: %v", part.steps[i].Label(), err),
					Key: []string{"load", "client", part.name, strconv.Itoa(i)},
				}
			}
			*part.to = append(*part.to, s)
		}
	}
	if l.Targets != "" {
		if err := c.targets(l.Targets); err != nil {
			return nil, err
		}
	}
	if l.Replay != "" {
		if err := c.replay(l); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(c.s.Tallies, func(t Tally) bool { return t.Loop }) {
		return nil, errors.New("no step of the loop is measured (consider: measure: true on one of them)")
	}
	return &c.s, nil
}

// targets makes the loop one step that is each target in turn.
func (c *compiler) targets(file string) error {
	targets, _, err := ReadTargets(file)
	if err != nil {
		return err
	}
	all := &Step{Label: targets[0].Label(), Measured: true}
	for i := range targets {
		s, err := c.step(&targets[i], true)
		if err != nil {
			return &dyno.PlanError{
				Msg: fmt.Sprintf("targets: %s: %s %s: %v", file, targets[i].Verb(), targets[i].Path, err),
				Key: []string{"load", "targets"},
			}
		}
		all.turns = append(all.turns, s)
	}
	c.s.Loop = []*Step{all}
	return nil
}

func (c *compiler) step(st *dyno.Step, loop bool) (*Step, error) {
	if st.Sleep != (dyno.Sleep{}) {
		return &Step{Label: "sleep", sleep: st.Sleep}, nil
	}
	if len(st.Parallel.Steps) > 0 {
		all := &Step{Label: st.Label()}
		for i := range st.Parallel.Steps {
			s, err := c.request(&st.Parallel.Steps[i], loop)
			if err != nil {
				return nil, fmt.Errorf("parallel step %q: %w", st.Parallel.Steps[i].Label(), err)
			}
			all.Group = append(all.Group, slices.Repeat([]*Step{s}, max(st.Parallel.Steps[i].Parallel.Times, 1))...)
		}
		return all, nil
	}
	s, err := c.request(st, loop)
	if n := st.Parallel.Times; err == nil && n > 1 {
		s = &Step{Label: s.Label, Group: slices.Repeat([]*Step{s}, n)}
	}
	return s, err
}

func (c *compiler) request(st *dyno.Step, loop bool) (s *Step, err error) {
	s = &Step{Label: st.Label(), method: st.Verb(), base: c.base, Expect: st.Expect, keep: http1.ErrorBody}
	if loop && len(st.Expect) == 0 { // then a body is kept if the status is bad
		s.keep = 0
	}
	if s.target, err = texts.Parse("path", st.Path, c.known); err != nil {
		return nil, err
	}
	body := st.Body
	if st.BodyFile != "" {
		data, err := safe.Data.ReadFile(st.BodyFile)
		if err != nil {
			return nil, err
		}
		if use := texts.Use.Find(data); use != nil {
			c.s.Warnings.AddOf(dyno.WarnTemplate, st.BodyFile, "%s has %s, but dyno sends a file as it is (consider: body: with its text, or --body \"$(cat %[1]s)\", which fills in templates)", st.BodyFile, use)
		}
		body = texts.Literal(string(data))
	}
	if s.body, err = texts.Parse("body", body, c.known); err != nil {
		return nil, err
	}
	if err := c.header(s, st.Headers); err != nil {
		return nil, err
	}
	if s.captures, err = compileCaptures(st.Capture); err != nil {
		return nil, err
	}
	for _, k := range s.captures {
		if err := c.known.Capture(k.name); err != nil {
			return nil, err
		}
		s.header = s.header || k.header != "" || k.cookie != ""
		if k.jq != nil {
			s.keep = MaxKept + 1
		}
	}
	s.Measured = loop
	if st.Measure != nil {
		s.Measured = *st.Measure
	}
	if s.Measured {
		tally := Tally{s.Label, loop}
		if s.Tally = slices.Index(c.s.Tallies, tally); s.Tally < 0 {
			s.Tally = len(c.s.Tallies)
			c.s.Tallies = append(c.s.Tallies, tally)
		}
	}
	if s.constant() {
		r := new(http1.Request)
		if err := s.Render(r, nil); err != nil {
			return nil, err
		}
		if r.URL, err = r.URLOn(c.base); err != nil {
			return nil, err
		}
		r.Wire = r.AppendWire(nil)
		s.Fixed = r
	}
	return s, nil
}

// header compiles a request's header. The user has no say in how the body is framed.
func (c *compiler) header(s *Step, headers map[string]string) error {
	all := map[string]string{"Host": c.base.Host, "User-Agent": "dyno"}
	for name, v := range headers {
		maps.DeleteFunc(all, func(k, _ string) bool { return strings.EqualFold(k, name) })
		all[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !http1.IsToken(name) {
			return fmt.Errorf("bad header name %q", name)
		}
		v, err := texts.Parse("header "+name, all[name], c.known)
		if err != nil {
			return err
		}
		switch strings.ToLower(name) {
		case "host":
			s.host = v
			continue
		case "content-length", "transfer-encoding", "trailer":
			continue
		case "connection":
			s.closes = strings.EqualFold(strings.TrimSpace(all[name]), "close")
		}
		s.fields = append(s.fields, headerText{name, v})
	}
	return nil
}

// Render makes the step's request with the variables v in r, reusing its memory. It
// does not make r.Wire.
func (s *Step) Render(r *http1.Request, v *Vars) (err error) {
	if s.recorded != nil {
		return s.renderRecorded(r, v.Number)
	}
	r.Method, r.Closes, r.KeepBody, r.KeepHeader = s.method, s.closes, s.keep, s.header
	render := func(into []byte, t texts.Text) []byte {
		if err == nil {
			into, err = t.Append(into[:0], v)
		}
		return into
	}
	if r.Target = render(r.Target, s.target); err == nil {
		r.Target, err = http1.OriginForm(s.base, r.Target)
	}
	r.Host = render(r.Host, s.host)
	if r.Body = render(r.Body, s.body); err != nil {
		return err
	}
	r.Fields = slices.Grow(r.Fields[:0], len(s.fields))[:len(s.fields)] // keeps the values' memory
	for i, f := range s.fields {
		to := &r.Fields[i]
		to.Name = f.name
		if to.Value = render(to.Value, f.value); err != nil {
			return err
		}
		if !http1.Printable(to.Value) {
			return fmt.Errorf("header %s has a control character", f.name)
		}
	}
	if !http1.Printable(r.Host) {
		return errors.New("header Host has a control character")
	}
	return nil
}

func (s *Step) constant() bool {
	all := []texts.Text{s.target, s.host, s.body}
	for _, f := range s.fields {
		all = append(all, f.value)
	}
	return !slices.ContainsFunc(all, func(t texts.Text) bool { _, ok := t.Fixed(); return !ok })
}

// NewVars makes a client's variables. Its set-up and its first loop share a row of
// the tables.
func (s *Scenario) NewVars(client int, seed uint64) *Vars {
	v := texts.NewVars(client, seed, s.tables, &s.counter)
	s.tables.Take(v)
	return v
}

// Links returns the largest number of requests that one client has under way at the same time.
func (s *Scenario) Links() int {
	n := 1
	for _, st := range slices.Concat(s.Setup, s.Loop, s.Teardown) {
		n = max(n, st.Width())
	}
	return n
}

// Accepts reports whether an answer with this status is a success.
func (s *Step) Accepts(status int) bool {
	if len(s.Expect) == 0 {
		return s.also > 0 && status == s.also || status < 400 && (status != http.StatusSwitchingProtocols || s.upgrades())
	}
	return slices.Contains(s.Expect, status)
}

// upgrades reports whether the step asks for another protocol. A service that switches to one
// unasked (RFC 9110, section 7.8) has not answered.
func (s *Step) upgrades() bool {
	return slices.ContainsFunc(s.fields, func(f headerText) bool { return strings.EqualFold(f.name, "Upgrade") })
}

// Want says which statuses the step expects, as " (want 201)"; "" if it does not say.
func (s *Step) Want() string {
	if len(s.Expect) == 0 {
		return ""
	}
	return " (want " + strings.Trim(fmt.Sprint(s.Expect), "[]") + ")"
}
