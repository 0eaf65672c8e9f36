package needed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

// watch reads a need whose process is this one, and which counts so before and after the window.
func watch(t *testing.T, before, after probe.Count, failure error) probe.Reading {
	t.Helper()
	counts := []probe.Count{before, after}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Needs{}.Watch(ctx, probe.Target{Begun: cancel, Needs: []probe.Need{{
		Name: "db", PID: os.Getpid(), Booked: true,
		Count: func(context.Context) (probe.Count, error) {
			c := counts[0]
			counts = counts[1:]
			return c, failure
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func counted(statements ...dyno.Statement) probe.Count {
	c := probe.Count{Statements: map[string]dyno.Statement{}, HasRows: true, HasTemp: true, HasConnections: true, Connections: 3, HasOpened: true, Opened: float64(10 * len(statements))}
	for i, s := range statements {
		c.Statements[fmt.Sprint(i)] = s
	}
	return c
}

// What was asked in the window is told, texts that are the same together.
func TestStatements(t *testing.T) {
	r := watch(t,
		counted(dyno.Statement{Text: "a", Calls: 100, Sec: 1}, dyno.Statement{Text: "b", Calls: 5}, dyno.Statement{Text: "a", Calls: 1000, Sec: 5}),
		counted(dyno.Statement{Text: "a", Calls: 150, Sec: 2}, dyno.Statement{Text: "b", Calls: 5}, dyno.Statement{Text: "a", Calls: 1060, Sec: 5.5, Rows: 7}),
		nil)
	for metric, want := range map[string]float64{"db-statements": 110, "db-server-sec": 1.5, "db-rows": 7, "db-connections": 3, "db-new-connections": 0} {
		if got, _ := r.Values.Get(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if want := (dyno.Statement{Need: "db", Text: "a", Calls: 110, Sec: 1.5, Rows: 7}); len(r.Statements) != 1 || r.Statements[0] != want {
		t.Errorf("statements %+v, want %+v", r.Statements, want)
	}
	if rss, _ := r.Values.Get("db-rss-peak-B"); rss < 1<<20 {
		t.Errorf("resident memory is %v", rss)
	}
}

// What was asked nothing has no CPU time for requests, whatever its timers took.
func TestAskedNothing(t *testing.T) {
	r := watch(t, counted(dyno.Statement{Text: "a", Calls: 1}), counted(dyno.Statement{Text: "a", Calls: 1}), nil)
	if cpu, ok := r.Values.Get("db-cpu-sec"); !ok || cpu != 0 {
		t.Errorf("CPU time is %v, %t", cpu, ok)
	}
}

// Counts that are not sure are left out, and a warning says why.
func TestNotCounted(t *testing.T) {
	for want, c := range map[string]struct {
		after   probe.Count
		failure error
	}{
		"forgot some":        {after: func() probe.Count { c := counted(); c.Evicted = 1; return c }()},
		"no pg_stat":         {after: probe.Count{Unknown: "it has no pg_stat_statements"}},
		"connection refused": {failure: errors.New("connection refused")},
	} {
		r := watch(t, counted(), c.after, c.failure)
		if _, ok := r.Values.Get("db-statements"); ok || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, want) {
			t.Errorf("values %v, warnings %v, want one with %q", r.Values, r.Warnings, want)
		}
		if _, ok := r.Values.Get("db-cpu-sec"); !ok {
			t.Errorf("%s: CPU time is missing", want)
		}
	}
}

// The most frequent statements and the slowest are kept, and the others counted.
func TestForemost(t *testing.T) {
	var all dyno.Statements
	for i := range 200 {
		all = append(all, dyno.Statement{Need: "db", Text: fmt.Sprint(i), Calls: float64(i + 1), Sec: float64(200 - i)})
	}
	kept := foremost("db", all)
	calls := 0.0
	for _, s := range kept {
		calls += s.Calls
	}
	rare, _ := dyno.Statements(kept).Find("db", "0")
	often, _ := dyno.Statements(kept).Find("db", "199")
	if others := kept[len(kept)-1]; len(kept) != 2*mostStatements+1 || calls != 200*201/2 || others.Text != "" || rare.Sec != 200 || often.Calls != 200 {
		t.Errorf("kept %d statements with %v calls: %+v", len(kept), calls, kept)
	}
}
