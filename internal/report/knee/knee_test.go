package knee

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
)

// searched is a report of services whose share beyond the limit grows with the rate as a queue's, in windows that go with
// it exactly.
func searched(t *testing.T, within time.Duration, capacities ...float64) *Report {
	t.Helper()
	r := &Report{Name: "svc", Arrival: "poisson", Dir: "dyno-runs/svc", Negligible: 0.01}
	for _, text := range []string{"p99 < 30ms", "failures < 1%"} {
		o, err := capacity.ParseObjective(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Problem.Objectives = append(r.Problem.Objectives, o)
	}
	r.Problem.From, r.Problem.Precision, r.Problem.Within = 100, 0.05, within
	for i := range capacities {
		r.Settings = append(r.Settings, dyno.Setting{{Factor: "GOGC", Value: string(rune('1' + i))}})
	}
	if len(capacities) == 1 {
		r.Settings[0] = nil
	}
	r.Searches, _ = capacity.Run(context.Background(), r.Problem, len(capacities), func(_ context.Context, i int, rate float64, length time.Duration) (capacity.Window, time.Duration, error) {
		n := rate * length.Seconds()
		x := rate / capacities[i]
		w := capacity.Window{Rate: rate, Length: length, Whole: []capacity.Count{{N: n, Beyond: n * min(0.01*math.Exp(20*(x-1)), 1)}, {N: n}}, Seen: []float64{0.030 * math.Exp(4*(x-1)), 0}}
		return w, length + time.Second, nil
	})
	return r
}

func fits(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > screen.Lines {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 80 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
}

// The answer comes first, and all of it is a screen.
func TestText(t *testing.T) {
	r := searched(t, 3*time.Minute, 500)
	r.Searches[0].Windows[0].Warnings = dyno.Warnings{{Kind: dyno.WarnSteal, Text: "the hypervisor withheld 5 % of the CPU time"}}
	text := r.Text(layout.Options{Width: 80})
	fits(t, text)
	first, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "svc: capacity: ") || !strings.Contains(first, "/s (") || !strings.HasSuffix(first, "at p99 < 30ms and failures < 1%; binding: p99") {
		t.Error(first)
	}
	for _, want := range []string{"p99 (up) against the rate (right): ● held, ○ not held, ─ p99 < 30ms", "not held\n", "doubt: 1 of ", "All windows: dyno report dyno-runs/svc"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The page has the answer, the limit in its picture, and every window.
func TestHTML(t *testing.T) {
	for _, capacities := range [][]float64{{500}, {500, 600}} {
		r := searched(t, 3*time.Minute, capacities...)
		var b bytes.Buffer
		if err := r.HTML(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		windows := 0
		for _, s := range r.Searches {
			windows += len(s.Windows)
		}
		for _, want := range []string{"<h1>" + html.EscapeString(r.First()) + "</h1>", "<svg", "the line is the limit, p99 &lt; 30ms", fmt.Sprintf("%d windows, by rate", windows)} {
			if !strings.Contains(page, want) {
				t.Errorf("no %q in the page", want)
			}
		}
	}
}

// Settings are compared with the first.
func TestTextOfSettings(t *testing.T) {
	r := searched(t, 3*time.Minute, 500, 600, 400, 500)
	text := r.Text(layout.Options{Width: 80})
	fits(t, text)
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) > 6 && (f[0] == "GOGC=2" && f[len(f)-1] == "better" || f[0] == "GOGC=3" && f[len(f)-1] == "worse") {
			rows++
		}
	}
	if rows != 2 {
		t.Errorf("%d rows of verdicts in\n%s", rows, text)
	}
}

// An answer that is less than was asked for says why, and what to do.
func TestWhy(t *testing.T) {
	for want, change := range map[string]func(r *Report){
		"the time was up after":                        func(r *Report) { r.Searches[0].Precision = 1e-6 },
		"as asked for: the search was interrupted":     func(r *Report) { r.Interrupted = true; r.Searches[0].Precision = 1e-6 },
		"the answer is of this machine as it was":      func(r *Report) { disturbed(r, 0) },
		"what the service can take (consider: a quiet": func(r *Report) { disturbed(r, 600) },
		"higher rates could not be tried":              func(r *Report) { limited(r, 300) },
		"even the lowest rate that was tried did not":  func(r *Report) { keep(r, 600, 1e9) },
		"all rates that were tried held":               func(r *Report) { keep(r, 0, 450) },
	} {
		r := searched(t, 3*time.Minute, 500)
		change(r)
		text := r.Text(layout.Options{Width: 200})
		if fits(t, r.Text(layout.Options{Width: 80})); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// keep leaves only the windows at rates from lo to hi, as if no others had been measured.
func keep(r *Report, lo, hi float64) {
	s := &capacity.Search{Problem: r.Problem}
	for _, w := range r.Searches[0].Windows {
		if lo <= w.Rate && w.Rate <= hi {
			s.Add(w, time.Second)
		}
	}
	r.Searches[0] = s
}

func disturbed(r *Report, from float64) {
	s := &capacity.Search{Problem: r.Problem}
	for _, w := range r.Searches[0].Windows {
		if w.Disturbed, w.Steal, w.Others = true, 0.03, 0.2; w.Rate >= from {
			s.Add(w, time.Second)
		}
	}
	r.Searches[0] = s
}

func limited(r *Report, from float64) {
	s := &capacity.Search{Problem: r.Problem}
	for _, w := range r.Searches[0].Windows {
		w.Limited = w.Rate > from
		s.Add(w, time.Second)
		if w.Limited {
			s.Add(w, time.Second)
		}
	}
	r.Searches[0] = s
}

// What is not known is null, as JSON has no infinity.
func TestDocument(t *testing.T) {
	r := searched(t, 3*time.Minute, 500, 600)
	keep(r, 0, 450)
	proof := r.Searches[0].Windows[len(r.Searches[0].Windows)-1]
	proof.Whole, proof.Parts = slices.Clone(proof.Whole), nil
	for i := range proof.Whole { // which is long enough to show that the rate holds
		proof.Whole[i].N, proof.Whole[i].Beyond = 1e5, 0
	}
	r.Searches[0].Add(proof, time.Second)
	r.Searches[0].Windows[0].Warnings = dyno.Warnings{{Kind: dyno.WarnSteal, Text: "stolen"}}
	r.Searches[1] = &capacity.Search{Problem: r.Problem}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(r.Document()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"answer":"at least"`, `"hi":null`, `"objective":"p99 \u003c 30ms"`, `"against_baseline":{"ratio":null`, `"held":true`, `"answer":"unclear","capacity/s":null,"lo":null,"hi":null`, `"warnings":[{"kind":"steal"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}

func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{1: "100%", 0.995: "99.5%", 0.99: "99%", 0.123: "12%", 0.0012: "0.12%", 2: "200%"} {
		if got := percent(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}
