package dyno_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

const studyPlan = `name: sessions
subject:
  package: ./examples/sessions
  args: ["-addr", "{{.Addr}}"]
  env: {LOG_LEVEL: error}
  ready: /healthz
  inject: false
vary:
  LEVEL: [100, 0, 50, "off", 0x10, 007, 1.20]
  arg.size: [1, 2]
repeat: 5
seed: 1
load:
  concurrency: 2
  requests_per_client: 6000
  warmup: 2s
  client:
    setup:    [{method: POST, path: /sessions, body: '{"user":"demo"}', expect: 201, capture: {id: .id}}]
    loop:     [{name: patch, method: patch, path: "/sessions/{{.id}}", headers: {Content-Type: application/json}, body: '{"n":{{.n}}}'}]
    teardown: ["DELETE /sessions/{{.id}}"]
probes: {every: 100ms}
negligible: 2%
`

func TestParsePlan(t *testing.T) {
	t.Chdir(t.TempDir())
	if e, err := dyno.ParsePlan("sub/dyno.yaml", []byte("subject: {binary: ./x}")); err != nil || filepath.Base(e.Subject.Dir) != "sub" || e.Name != "sub" {
		t.Errorf("%+v, %v", e, err)
	}
	e, err := dyno.ParsePlan("/work/x/dyno.yaml", []byte(studyPlan))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"100", "0", "50", "off", "0x10", "007", "1.20"}; !reflect.DeepEqual(e.Factors[0].Levels, want) {
		t.Errorf("levels are not as written: %q", e.Factors[0].Levels)
	}
	if e.Subject.Package != "/work/x/examples/sessions" || e.Subject.Dir != "/work/x" {
		t.Errorf("paths are not relative to the plan: %q, %q", e.Subject.Package, e.Subject.Dir)
	}
	if d := e.Load.Client.Teardown[0]; d.Method != "DELETE" || d.Path != "/sessions/{{.id}}" {
		t.Errorf("short step: %+v", d)
	}
	if *e.Negligible != 0.02 || !bool(e.Subject.NoInject) || e.Load.Client.Loop[0].Method != "PATCH" {
		t.Errorf("plan: %+v", e)
	}
}

// What run.json keeps of a plan is read by the same parser when a run is resumed.
func TestPlanRoundTrip(t *testing.T) {
	a, err := dyno.ParsePlan("/work/x/dyno.yaml", []byte(studyPlan))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := dyno.ParsePlan("/elsewhere/run.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("\n%+v\nbecame\n%+v", a, b)
	}
	if x, y := a.Trials(), b.Trials(); !reflect.DeepEqual(x, y) {
		t.Error("the trials are not the same")
	}
}

// Each mistake names its place and shows the line.
func TestPlanMistakes(t *testing.T) {
	for _, c := range []struct{ name, plan, line, want string }{
		{"unknown key", "repeats: 5\n", "1:1", `unknown key "repeats" (did you mean repeat?)`},
		{"unknown nested key", "load:\n  concurency: 2\n", "2:3", `did you mean concurrency?`},
		{"not YAML", "name: [1\n", "1:7", "sequence end token ']' not found"},
		{"wrong kind", "load: 5\n", "1:7", `want a mapping (key: value), got "5"`},
		{"missing value", "name:\n", "1:6", "the value is missing"},
		{"duration", "load: {duration: 5}\n", "1:18", `bad duration "5" (want for example 30s or 1m30s)`},
		{"count", "repeat: 0\n", "1:9", "want at least 1, got 0"},
		{"not yet", "limits: {cpu: 1}\n", "1:9", "not supported yet"},
		{"no levels", "vary:\n  GOGC: []\n", "2:3", "factor GOGC has no levels"},
		{"level twice", "vary:\n  GOGC: [1, 1]\n", "2:3", "factor GOGC has a level twice"},
		{"Go version", "vary:\n  go: [latest]\nsubject: {package: .}\n", "2:3", `bad Go version "latest"`},
		{"limit", "vary:\n  limit.cpu: [1]\n", "2:3", "limit.cpu is not supported yet"},
		{"two ends", "load:\n  requests: 5\n  duration: 5s\n", "1:1", "the load has two ends"},
		{"two subjects", "subject: {package: ., url: http://127.0.0.1}\n", "1:1", "both package and url"},
		{"rate of a session", "load: {rate: 5/s, client: {loop: [GET /a, GET /b]}}\n", "1:19", "with a rate the loop has one step"},
		{"rev of a binary", "subject: {binary: ./x}\nvary: {rev: [a, b]}\n", "2:8", "factor rev needs a package in a git repository"},
		{"step", "load: {client: {loop: [/a]}}\n", "1:24", "a step is a mapping, or a line such as: GET /path"},
		{"missing dot", "subject: {url: localhost:8080}\n", "1:11", `bad URL "localhost:8080"`},
		{"timeout", "load: {timeout: 0s}\n", "1:17", "want more than 0s"},
		{"seed", "seed: 18446744073709551616\n", "1:7", "want a whole number below 2^64"},
		{"old Go", "subject: {package: ., go: new}\n", "1:23", `bad Go version "new"`},
		{"step in two parts", "load:\n  client:\n    setup: [{name: a, path: /, measure: true}]\n    loop:\n      - GET /b\n      - {name: a, path: /}\n", "6:9", `step "a" is measured in setup and in loop`},
		{"status", "load: {path: /, expect: 2000}\n", "1:25", `bad status "2000"`},
		{"probe", "probes: {use: [perf]}\n", "1:9", `unknown probe "perf"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := dyno.ParsePlan("dyno.yaml", []byte(c.plan))
			var mistake *dyno.PlanError
			if !errors.As(err, &mistake) {
				t.Fatalf("got %v, want a PlanError", err)
			}
			got := err.Error()
			if !strings.HasPrefix(got, "dyno.yaml:"+c.line+": ") || !strings.Contains(got, c.want) || !strings.Contains(got, " | ") {
				t.Errorf("want %s at %s, got\n%s", c.want, c.line, got)
			}
		})
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add(studyPlan)
	f.Add("vary: {GOGC: [1, 2]}\nload: [1]\n")
	f.Fuzz(func(t *testing.T, src string) {
		e, err := dyno.ParsePlan("dyno.yaml", []byte(src))
		var mistake *dyno.PlanError
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && e.Subject.String() == "" && e.Check() == nil {
			t.Fatal("a plan without a subject passes Check")
		}
	})
}

// Every block holds every setting once; the order is of the seed and not that
// of the file.
func TestTrials(t *testing.T) {
	e := &dyno.Experiment{
		Subject: dyno.Subject{Binary: "x", Env: map[string]string{"A": "1"}},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "off"}}, {Name: "load.concurrency", Levels: []string{"1", "8"}}},
		Repeats: 20, Seed: 7,
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	trials := e.Trials()
	if len(trials) != 80 {
		t.Fatalf("%d trials, want 80", len(trials))
	}
	first := map[string]int{}
	for b := 0; b < 20; b++ {
		seen := map[string]bool{}
		for i, tr := range trials[4*b : 4*b+4] {
			if tr.N != 4*b+i+1 || tr.Block != b+1 {
				t.Fatalf("trial %d of block %d at %d", tr.N, tr.Block, 4*b+i+1)
			}
			seen[tr.Setting.String()] = true
			if i == 0 {
				first[tr.Setting.String()]++
			}
			if tr.Subject.Env["GOGC"] != tr.Setting[0].Value || tr.Subject.Env["A"] != "1" {
				t.Errorf("%s: environment %v", tr.Setting, tr.Subject.Env)
			}
			if want := map[string]int{"1": 1, "8": 8}[tr.Setting[1].Value]; tr.Load.Concurrency != want {
				t.Errorf("%s: concurrency %d", tr.Setting, tr.Load.Concurrency)
			}
		}
		if len(seen) != 4 {
			t.Errorf("block %d has settings %v", b+1, seen)
		}
	}
	if len(first) != 4 {
		t.Errorf("blocks begin only with %v: not shuffled", first)
	}
	if !reflect.DeepEqual(trials, e.Trials()) {
		t.Error("the same seed gave another order")
	}
	if e.Subject.Env["GOGC"] != "" {
		t.Error("Trials changed the plan's own environment")
	}
}

// What the Go runtime would not take, or nobody reads, is no level.
func TestLevelsThatMeanNothing(t *testing.T) {
	for _, c := range []struct {
		factor, level string
		ok            bool
	}{
		{"GOGC", "off", true}, {"GOGC", "0", true}, {"GOGC", "", true}, {"GOGC", "1e3", false}, {"GOGC", "99999999999", false},
		{"GOMAXPROCS", "2", true}, {"GOMAXPROCS", "0", false}, {"GOMEMLIMIT", "1GiB", true}, {"GOMEMLIMIT", "1GB", false},
		{"GODEBUG", "anything=1", true}, {"arg.used", "1", true}, {"arg.use", "1", false}, {"arg.whole", "1", true},
	} {
		e := &dyno.Experiment{
			Subject: dyno.Subject{Binary: "x", Args: []string{"-x={{.arg.used}}"}},
			Factors: dyno.Factors{{Name: c.factor, Levels: []string{c.level}}},
		}
		if c.factor == "arg.whole" {
			e.Subject.Args = []string{`{{index .arg "whole"}}`}
		}
		if err := e.Check(); (err == nil) != c.ok {
			t.Errorf("%s=%s: %v", c.factor, c.level, err)
		}
	}
}

func TestSettingString(t *testing.T) {
	s := dyno.Setting{{Factor: "GOGC", Value: "50"}, {Factor: "build", Value: "-pgo=off -race"}, {Factor: "E", Value: ""}}
	if got, want := s.String(), `GOGC=50 build="-pgo=off -race" E=""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back dyno.Setting
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%s became %v (%v)", data, back, err)
	}
}

func TestSplitFlags(t *testing.T) {
	got, err := dyno.SplitFlags(`-gcflags='-N -l' -pgo=off "" x`)
	if want := []string{"-gcflags=-N -l", "-pgo=off", "", "x"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := dyno.SplitFlags(`-a='b`); err == nil {
		t.Error("an unclosed quote passed")
	}
}

func TestExamplePlans(t *testing.T) {
	files, err := filepath.Glob("examples/*/dyno.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example plans: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dyno.ParsePlan(file, src); err != nil {
			t.Error(err)
		}
	}
}
