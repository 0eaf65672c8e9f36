package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// TestPlans plays the client of each plan against the service: what the plan
// sends is what the service takes, and the document keeps its size.
func TestPlans(t *testing.T) {
	for _, file := range []string{"dyno.yaml", "memory.yaml", "demo/1-gogc.yaml", "demo/2-memory.yaml"} {
		t.Run(file, func(t *testing.T) { testPlan(t, file) })
	}
}

// TestSessions plays the plan whose loop is a whole session.
func TestSessions(t *testing.T) {
	client, play, open := player(t, "rate.yaml")
	for range 3 {
		play(client.Loop)
	}
	if n := open(); n != 0.0 {
		t.Errorf("sessions open after their end: %v", n)
	}
}

type step struct {
	Method, Path, Body string
	Headers            map[string]string
	Expect             int
	Capture            map[string]string
}

type client struct{ Setup, Loop, Teardown []step }

// player reads a plan's client and starts the service. play plays steps and returns the last answer;
// open is the number of sessions.
func player(t *testing.T, file string) (c client, play func([]step) any, open func() any) {
	var plan struct {
		Load struct{ Client client }
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &plan); err != nil {
		t.Fatal(err)
	}

	srv := newService(t)
	vars := map[string]any{"n": -1}
	expand := func(text string) string {
		t.Helper()
		var b strings.Builder
		if err := template.Must(template.New("").Option("missingkey=error").Parse(text)).Execute(&b, vars); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	play = func(steps []step) (answer any) {
		t.Helper()
		if len(steps) == 0 {
			t.Fatal("a phase without steps")
		}
		vars["n"] = vars["n"].(int) + 1
		for _, s := range steps {
			req, err := http.NewRequest(s.Method, srv.URL+expand(s.Path), strings.NewReader(expand(s.Body)))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range s.Headers {
				req.Header.Set(name, value)
			}
			answer = do(t, srv, s.Expect, req)
			for name, query := range s.Capture {
				vars[name] = answer.(map[string]any)[strings.TrimPrefix(query, ".")]
			}
		}
		return answer
	}

	return plan.Load.Client, play, func() any {
		return call(t, srv, 200, "GET", "/healthz", "").(map[string]any)["sessions"]
	}
}

func testPlan(t *testing.T, file string) {
	client, play, open := player(t, file)
	play(client.Setup)
	var members int
	for n := range 3 {
		document := play(client.Loop).(map[string]any)
		if document["visits"] != float64(n+1) {
			t.Errorf("iteration %d: visits = %v", n, document["visits"])
		}
		if n > 0 && len(document) != members {
			t.Errorf("iteration %d: the document grew from %d to %d members", n, members, len(document))
		}
		members = len(document)
	}
	play(client.Teardown)
	if n := open(); n != 0.0 {
		t.Errorf("sessions open after teardown: %v", n)
	}
}
