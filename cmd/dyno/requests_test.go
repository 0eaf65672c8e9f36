package main

import (
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/store"
)

// requests makes the run directory DIR of so many repeats of two settings, or
// of one trial, each with the same few requests; the last trial keeps none if
// there is a third argument.
//
//	requests DIR REPEATS [none]
func requests(ts *testscript.TestScript, _ bool, args []string) {
	repeats, err := strconv.Atoi(args[1])
	ts.Check(err)
	e := &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Args: []string{"{{.arg.mode}}"}, Dir: "/"}, Repeats: 1}
	if repeats > 0 {
		e.Repeats = repeats
		e.Factors = dyno.Factors{{Name: "arg.mode", Levels: []string{"a", "b,c"}}}
	}
	dir, err := store.Create(ts.MkAbs(args[0]), store.Run{Dyno: "test", Plan: e})
	ts.Check(err)
	trials := e.Trials()
	for _, t := range trials {
		r := &dyno.Result{Trial: t, Start: time.Unix(1700000000, 0), Elapsed: time.Second, Latency: hist.New(), Sent: dyno.Sent{Requests: 3}}
		if len(args) < 3 || t.N < len(trials) {
			ts.Check(dir.WriteRequests(t.N, func(yield func(dyno.Request, error) bool) {
				ms := time.Millisecond
				_ = yield(dyno.Request{Client: 0, Step: "GET /", Sent: 100, Done: 2467 * time.Microsecond, Status: 200, Bytes: 5}, nil) &&
					yield(dyno.Request{Client: 1, Step: `say "hi"`, Due: ms, Sent: 2 * ms, Done: 3*ms + 1, Status: 0, Failed: true}, nil) &&
					yield(dyno.Request{Client: 0, Step: "GET /", Due: 3 * ms, Sent: 3 * ms, Done: 5 * ms, Status: 204}, nil)
			}))
		}
		ts.Check(dir.Add(r))
	}
	ts.Check(dir.Close())
}
