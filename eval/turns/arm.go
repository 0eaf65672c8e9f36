package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An arm is one way to measure the same settings. README.md says what each is there for.
type arm struct {
	name string // as the user wrote it
	kind string // alone, turns, rests, idle or cache
	turn time.Duration
	rest *rest // of kind rests
}

// A rest interrupts a load: whoever makes it is stopped again and again, for off after on.
type rest struct{ on, off time.Duration }

// parseArm reads alone, turns, turns=TURN, rests=ON/OFF, idle=TURN and cache=TURN; without a
// time, the turn is dyno's own.
func parseArm(s string) (arm, error) {
	kind, text, given := strings.Cut(s, "=")
	a := arm{name: s, kind: kind}
	mistake := fmt.Errorf("arm %q (want alone, turns[=50ms], rests=50ms/100ms, idle[=50ms] or cache[=50ms])", s)
	var err error
	switch {
	case kind == "rests":
		on, off, _ := strings.Cut(text, "/")
		a.rest = new(rest)
		if a.rest.on, err = time.ParseDuration(on); err != nil {
			return a, mistake
		}
		if a.rest.off, err = time.ParseDuration(off); err != nil || a.rest.on <= 0 || a.rest.off <= 0 {
			return a, mistake
		}
	case !slices.Contains([]string{"alone", "turns", "idle", "cache"}, kind), given && kind == "alone":
		return a, mistake
	case given:
		if a.turn, err = time.ParseDuration(text); err != nil || a.turn <= 0 {
			return a, mistake
		}
	}
	return a, nil
}

// hasNeighbour reports whether the arm needs a service that takes NEIGHBOUR.
func (a arm) hasNeighbour() bool { return a.kind == "idle" || a.kind == "cache" }

type truthOptions struct {
	subjects, arms, levels string // as the user wrote them
	blocks, clients        int
	window                 time.Duration

	names   []string
	each    []arm
	degrees []string // levels of GOGC
}

func (o *truthOptions) parse() error {
	o.names, o.degrees = strings.Split(o.subjects, ","), strings.Split(o.levels, ",")
	for _, name := range o.names {
		if !slices.ContainsFunc(subjects, func(s subject) bool { return s.name == name }) {
			return fmt.Errorf("no subject %q of truth", name)
		}
	}
	if len(o.degrees) < 2 {
		return fmt.Errorf("-gogc %s is less than two levels", o.levels)
	}
	for s := range strings.SplitSeq(o.arms, ",") {
		a, err := parseArm(s)
		if err != nil {
			return err
		}
		o.each = append(o.each, a)
	}
	if len(o.each) < 2 || o.each[0].kind == "turns" {
		return fmt.Errorf("-arms %s (want two or more, the first not in turns)", o.arms)
	}
	return nil
}

// A subject of truth is how dyno is told of a service that collects.
type subject struct {
	name, about string
	own         bool // takes NEIGHBOUR
	flags       func(root, service string) []string
	args        []string
}

// public is a service that we did not write: it decodes the JSON of a request and says it again.
const public = "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin@v2.26.0"

var subjects = []subject{
	{"sessions", "examples/sessions and its plan", false, func(root, _ string) []string {
		return []string{"-f", root + "/examples/sessions/dyno.yaml", "--idle", "0s"}
	}, nil},
	{"alloc", "JSON in and out, a journal of 3,000 documents", true, func(_, service string) []string { return []string{service} }, []string{"alloc"}},
	{"public", public, false, func(string, string) []string {
		return []string{public, "--path", "/anything", "-H", "Content-Type: application/json", "--body", document()}
	}, []string{"-host", "{{.Host}}", "-port", "{{.Port}}", "-log-level", "error"}},
}

// document is JSON of some 4 KB.
func document() string {
	var items []string
	for i := range 64 {
		items = append(items, fmt.Sprintf(`{"item":"number %d","tags":["a","b","c"],"price":%d.25}`, i, i))
	}
	return "[" + strings.Join(items, ",") + "]"
}
