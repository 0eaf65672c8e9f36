package tuned

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/tune"
)

var update = flag.Bool("update", false, "write the expected files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as expected:\n%s", name, got)
	}
}

// A service of 85 MiB live, which is its own model.
type service struct{ share float64 }

const live = 85.0 * gcmodel.MiB

func (s service) gogc(c gcmodel.Setting) float64 {
	if c.Limit == 0 {
		return c.GOGC
	}
	live := live
	if c.Live > 0 {
		live *= c.Live
	}
	return min(c.GOGC, max((c.Limit/live-1)*100, 1))
}

func (s service) Predict(c gcmodel.Setting) gcmodel.Prediction {
	live := live
	if c.Live > 0 {
		live *= c.Live
	}
	g := s.gogc(c)
	e := func(v, width float64) gcmodel.Estimate {
		return gcmodel.Estimate{Value: v, Lo: v * (1 - width), Hi: v * (1 + width)}
	}
	p := gcmodel.Prediction{Setting: c, CPU: e(1e-3*(1-s.share+s.share*100/g), 0.03), RSSPeak: e(live*(1+g/100)+8*gcmodel.MiB, 0.03), Limited: g < c.GOGC}
	p.Spiral = g < 5
	if g < 20 {
		p.Doubts = []gcmodel.Doubt{gcmodel.NearCliff}
	}
	return p
}

func (s service) Cliff(_, x float64) float64 { return 1.1 * live * x }

// outcome tunes the service, with as little noise as makes the figures the same everywhere.
func outcome(t *testing.T, s service, p tune.Problem) *tune.Outcome {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	o, err := tune.Run(t.Context(), p, tune.Hands{
		Fit: func([]gcmodel.Window) tune.Model { return s },
		Measure: func(_ context.Context, _ tune.Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (m tune.Measured, err error) {
			for block := 1; block <= 6; block++ {
				for _, x := range settings {
					var c gcmodel.Setting
					for _, l := range x {
						switch l.Factor {
						case "GOGC":
							c.GOGC = gcmodel.Off
							if l.Value != "off" {
								fmt.Sscan(l.Value, &c.GOGC)
							}
						case "GOMEMLIMIT":
							size, _ := dyno.ParseSize(l.Value)
							c.Limit = float64(size)
						}
					}
					g := s.gogc(c)
					v := func(v float64) float64 { return v * (1 + 0.004*(rng.Float64()-0.5)) }
					m.Results = append(m.Results, &dyno.Result{Trial: dyno.Trial{N: len(m.Results) + 1, Block: block, Setting: x}, Values: dyno.Values{
						{Metric: tail, Value: v(5e-3 + 1e-3*100/g)}, {Metric: cpu, Value: v(1e-3 * (1 - s.share + s.share*100/g))}, {Metric: memory, Value: v(live*(1+g/100) + 8*gcmodel.MiB)}}})
				}
			}
			m.Table = compare.Tabulate(m.Results, compare.Options{Settings: settings, Thresholds: p.Limits()})
			m.Windows = []gcmodel.Window{{}}
			return m, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func problem(t *testing.T, goal string, constraints ...string) tune.Problem {
	t.Helper()
	g, err := tune.ParseGoal(goal, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := tune.Problem{Today: dyno.Setting{{Factor: "GOGC", Value: "100"}}, Collector: gcmodel.Setting{GOGC: 100}, Goal: g}
	for _, text := range constraints {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Constraints = append(p.Constraints, th)
	}
	return p
}

func reportOf(o *tune.Outcome) *Report {
	return &Report{Outcome: o, Name: "shop", Dyno: "v1", Made: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC), Dir: "dyno-runs/shop", Load: "closed load: 8 clients, for 3s"}
}

func TestText(t *testing.T) {
	reserved := problem(t, "min cpu_per_req")
	reserved.Reserved = 128 * gcmodel.MiB
	reserved.Today = dyno.Setting{{Factor: "GOGC", Value: "30"}, {Factor: "GOMEMLIMIT", Value: "off"}}
	reserved.Collector.GOGC = 30
	roomy := problem(t, "min cpu_per_req")
	roomy.Reserved = 512 * gcmodel.MiB
	roomy.Today = append(roomy.Today, dyno.Level{Factor: "GOMEMLIMIT", Value: "off"})
	for _, test := range []struct {
		name string
		s    service
		p    tune.Problem
	}{
		{"better", service{0.2}, problem(t, "min cpu_per_req", "rss_peak < 400MiB")},
		{"keep", service{0.004}, problem(t, "min cpu_per_req")},
		{"dear", service{0.035}, problem(t, "min cpu_per_req")},
		{"constraint", service{0.2}, problem(t, "min p99", "rss_peak < 150MiB")},
		{"sum", service{0.25}, problem(t, "")},
		{"cliff", service{0.2}, reserved},
		{"roomy", service{0.2}, roomy},
	} {
		r := reportOf(outcome(t, test.s, test.p))
		if test.name == "better" || test.name == "roomy" {
			values := func(x float64) map[string]compare.Summary {
				return map[string]compare.Summary{cpu: {Center: 1e-3 * x}, memory: {Center: 2e8}, tail: {Center: 6e-3}}
			}
			nan := math.NaN()
			r.Headroom = []tune.Headroom{
				{Case: tune.Case{Kind: tune.HalfLoad}, Today: values(1), Best: values(0.9), Gain: 0.1, Lo: 0.05, Hi: 0.15, Blocks: 4},
				{Case: tune.Case{Kind: tune.DoubleLoad}, Today: values(1), Best: values(0.9), Gain: 0.1, Lo: 0.05, Hi: 0.15, Blocks: 4},
				{Case: tune.Case{Kind: tune.Live25}, Today: values(1), Best: values(0.9), Gain: 0.1, Lo: -1.5, Hi: 0.15, Blocks: 4},
				{Case: tune.Case{Kind: tune.Live50}, Today: values(1.2), Best: nil, BestFailed: true, Gain: nan, Lo: nan, Hi: nan},
			}
		}
		text := r.Text(layout.Options{})
		if n := strings.Count(text, "\n"); n > 45 {
			t.Errorf("%s has %d lines", test.name, n)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(line)); n > 101 {
				t.Errorf("%s: a line of %d characters: %s", test.name, n, line)
			}
		}
		golden(t, test.name+".txt", text)
	}
}

// The page has the recommendation, today's setting in its picture, and what was predicted.
func TestHTML(t *testing.T) {
	r := reportOf(outcome(t, service{0.2}, problem(t, "min cpu_per_req", "rss_peak < 400MiB")))
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>" + html.EscapeString(r.First()) + "</h1>", "<svg", "recommended", "Measured side by side", "Predicted before"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestPatches(t *testing.T) {
	r := reportOf(outcome(t, service{0.2}, problem(t, "min cpu_per_req", "rss_peak < 400MiB")))
	setting := dyno.Setting{{Factor: "GOGC", Value: "off"}, {Factor: "GOMEMLIMIT", Value: "461MiB"}, {Factor: "build", Value: "-pgo=auto"}}
	var b strings.Builder
	for _, p := range Patches("Shop_API", setting, Reason(r)) {
		fmt.Fprintf(&b, "-- %s %s --\n%s", p.Kind, p.File, p.Text)
	}
	golden(t, "patches.txt", b.String())
}

// tune.json is complete, also where figures are missing.
func TestDocument(t *testing.T) {
	r := reportOf(outcome(t, service{0.2}, problem(t, "min cpu_per_req", "rss_peak < 400MiB")))
	for _, d := range []any{r.Document(), r.Predictions()} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"kind":`, `"schema":1`, `"goal":"min cpu_per_req"`, `"subject_to":["rss_peak \u003c 400MiB"]`, `"rss-peak-B":{"value":`} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
	r.Outcome = &tune.Outcome{Problem: r.Problem, Why: tune.NotMeasured}
	if _, err := json.Marshal(r.Document()); err != nil {
		t.Error(err)
	}
	if text := r.Text(layout.Options{}); !strings.HasPrefix(text, "shop: keep today's setting, GOGC=100.\n") {
		t.Error(text)
	}
}
