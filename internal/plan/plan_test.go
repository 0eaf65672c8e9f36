package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
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

func TestParse(t *testing.T) {
	t.Chdir(t.TempDir())
	if e, err := plan.Parse("sub/dyno.yaml", []byte("subject: {binary: ./x}")); err != nil || filepath.Base(e.Subject.Dir) != "sub" || e.Name != "sub" {
		t.Errorf("%+v, %v", e, err)
	}
	e, err := plan.Parse("/work/x/dyno.yaml", []byte(studyPlan))
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
	if err := os.WriteFile("conf", []byte("@{{.Port}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e2, err := plan.Parse("dyno.yaml", []byte("subject:\n  binary: ./x\n  addr: https://{{.Addr}}\n  files:\n    a/b.conf: \"@conf\"\n    c.conf: |\n      listen {{.Port}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a/b.conf": "{{\"@\"}}{{.Port}}\n", "c.conf": "listen {{.Port}}\n"}; !reflect.DeepEqual(e2.Subject.Files, want) || e2.Subject.Addr != "https://{{.Addr}}" {
		t.Errorf("%+v", e2.Subject)
	}
	roundTrip(t, e2)
	if *e.Negligible != 0.02 || !bool(e.Subject.NoInject) || e.Load.Client.Loop[0].Method != "PATCH" {
		t.Errorf("plan: %+v", e)
	}
}

// Study 003's load, and every other word of one.
const (
	usersPlan = `subject: {url: http://127.0.0.1:8080}
load:
  concurrency: 100
  duration: 30s
  connect_timeout: 1s
  read_timeout: 5s
  insecure: true
  data: {users: users.csv}
  keep_requests: none
  client:
    setup: [{method: PUT, path: /upload, body_file: big.bin}, sleep: 10ms..20ms]
    loop:
      - {path: "/a/{{.users.id}}", parallel: 100}
      - {name: page, parallel: [GET /b, {path: /c, measure: false, capture: {c: .c}}]}
      - sleep: 1s
`
	openPlan = `subject: {url: https://127.0.0.1:8080}
vary: {load.concurrency: [20, 40]}
load:
  rate: 100→2000 over 60s then 2000 over 30s
  arrival: poisson
  max_in_flight: 2000
  http: 2
  max_requests_kept: 1_000_000
  path: /
  method: put
  body_file: ../big.bin
`
	ratesPlan   = "subject: {binary: ./x}\nvary: {load.rate: [500/s, 0->100 over 10s]}\nload: {targets: t.txt, warmup: 1s}\n"
	commandPlan = "subject: {binary: ./x}\nvary: {arg.vus: [1, 2]}\nload: {command: 'k6 run --vus {{.arg.vus}} x.js', idle: 1s, max_failures: 0}\n"
	grpcPlan    = "subject: {url: http://h}\nload: {rate: 5, insecure: true, grpc: {method: pkg.Service.Method, data: [{name: x, n: 1, list: [1.5, '2']}, '{\"n\":{{.n}}}'], metadata: {authorization: Bearer abc}," +
		" descriptors: s.binpb, authority: a.example, connections: 4, messages: 100}}\n"
)

func TestParseLoad(t *testing.T) {
	load := func(src string) *dyno.Load {
		e, err := plan.Parse("/work/x/dyno.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Experiment(e); err != nil {
			t.Fatal(err)
		}
		return &e.Load
	}
	measured := false
	for _, c := range []struct{ got, want any }{
		{*load(usersPlan), dyno.Load{
			Concurrency: 100, Duration: 30e9, ConnectTimeout: 1e9, ReadTimeout: 5e9, Insecure: true,
			Data: map[string]string{"users": "/work/x/users.csv"}, KeepRequests: "none",
			Client: dyno.Client{
				Setup: []dyno.Step{{Method: "PUT", Path: "/upload", BodyFile: "/work/x/big.bin"}, {Sleep: dyno.Sleep{Min: 10e6, Max: 20e6}}},
				Loop: []dyno.Step{
					{Path: "/a/{{.users.id}}", Parallel: dyno.Parallel{Times: 100}},
					{Name: "page", Parallel: dyno.Parallel{Steps: []dyno.Step{{Method: "GET", Path: "/b"}, {Path: "/c", Measure: &measured, Capture: map[string]string{"c": ".c"}}}}},
					{Sleep: dyno.Sleep{Min: 1e9, Max: 1e9}},
				},
			}}},
		{*load(openPlan), dyno.Load{
			Rate: parsed(t, "100->2000 over 60s then 2000 over 30s"), Arrival: "poisson", MaxInFlight: 2000, HTTP: "2", MaxRequestsKept: 1e6,
			Client: dyno.Client{Loop: []dyno.Step{{Method: "PUT", Path: "/", BodyFile: "/work/big.bin"}}}}},
		{load(ratesPlan).Targets, "/work/x/t.txt"},
		{*load(grpcPlan), dyno.Load{Rate: dyno.PerSecond(5), Insecure: true, GRPC: &dyno.GRPC{
			Method: "pkg.Service.Method", Data: []string{`{"name": "x", "n": 1, "list": [1.5, "2"]}`, `{"n":{{.n}}}`}, Metadata: map[string]string{"authorization": "Bearer abc"},
			Descriptors: "/work/x/s.binpb", Authority: "a.example", Connections: 4, Messages: 100,
		}}},
		{load("subject: {url: http://h}\nload: {grpc: {method: a.B/C, data:\n  {a: {b: yes},\n   c: 007}}}").GRPC.Data, []string{`{"a": {"b": "yes"}, "c": 7}`}},
		{load("subject: {url: http://h}\nload:\n  grpc:\n    method: a.B/C\n    data:\n      a:\n      - b: 1.20\n").GRPC.Data, []string{`{"a": [{"b": 1.2}]}`}},
		{load(commandPlan).Command, "k6 run --vus {{.arg.vus}} x.js"},
		{load("subject: {url: http://h}\nload: {http: 1.1, rate: 5, max_in_flight: 256}").HTTP, "1.1"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got  %+v\nwant %+v", c.got, c.want)
		}
	}
}

// What run.json keeps of a plan is read by the same parser when a run is
// resumed; so is the plan with its defaults written out.
func TestPlanRoundTrip(t *testing.T) {
	for _, src := range []string{studyPlan, usersPlan, openPlan, ratesPlan, commandPlan, grpcPlan} {
		a, err := plan.Parse("/work/x/dyno.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		resolved := a.Resolved()
		for _, e := range []*dyno.Experiment{a, &resolved} {
			b := roundTrip(t, e)
			if x, y := a.Trials(), b.Trials(); !reflect.DeepEqual(x, y) {
				t.Errorf("the trials are not the same:\n%+v\n%+v", x, y)
			}
		}
	}
}

func roundTrip(t *testing.T, e *dyno.Experiment) *dyno.Experiment {
	t.Helper()
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := plan.Parse("/elsewhere/run.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e, b) {
		t.Errorf("\n%+v\nbecame\n%+v", e, b)
	}
	return b
}

// A rate that is a level decides what the defaults mean.
func TestTrialsOfRates(t *testing.T) {
	e := &dyno.Experiment{
		Subject: dyno.Subject{Binary: "x"},
		Factors: dyno.Factors{{Name: "load.rate", Levels: []string{"50", "0->10 over 7s"}}, {Name: "load.concurrency", Levels: []string{"300", "3"}}},
		Repeats: 1,
	}
	passes := func() {
		t.Helper()
		if err := check.Experiment(e); err != nil {
			t.Fatal(err)
		}
	}
	passes()
	for _, tr := range e.Trials() {
		length := dyno.DefaultDuration
		if tr.Setting[0].Value != "50" {
			length = 7e9
		}
		most := map[string]int{"300": 300, "3": 3}[tr.Setting[1].Value]
		if l := tr.Load; l.Duration != length || l.Concurrency != most || l.MaxInFlight != most {
			t.Errorf("%s: %+v", tr.Setting, l)
		}
	}
	e.Factors = e.Factors[:1]
	passes()
	if l := e.Trials()[0].Load; l.Concurrency != dyno.DefaultConnections {
		t.Errorf("%d connections, want the default of an open load", l.Concurrency)
	}
	e.Load.Duration = 10e9
	if err := check.Experiment(e); err == nil || !strings.Contains(err.Error(), "the rate has its own length, 7s") {
		t.Errorf("a duration beside stages that end: %v", err)
	}
}

func TestLoadString(t *testing.T) {
	ramp := parsed(t, "100->2000 over 60s then 2000 over 30s")
	for _, c := range []struct {
		load dyno.Load
		want string
	}{
		{dyno.Load{}, "closed load: 10 clients, for 10s; latency runs from when a request was sent"},
		{dyno.Load{Concurrency: 1, RequestsPerClient: 5, Warmup: 1e9, Targets: "/a/t.txt"}, "closed load: 1 client, 5 requests each with the requests of t.txt after 1s of warm-up; latency runs from when a request was sent"},
		{dyno.Load{Rate: dyno.PerSecond(1e6)}, "open load: 1000000 requests per second (constant), for 10s, over at most 256 connections; latency runs from when a request was due"},
		{dyno.Load{Rate: ramp, Arrival: "poisson", Concurrency: 256, MaxInFlight: 500}, "open load: requests per second 100->2000 over 1m0s then 2000 over 30s (poisson), for 1m30s, over at most 256 connections with at most 500 requests under way; latency runs from when a request was due"},
		{dyno.Load{Rate: dyno.PerSecond(5), GRPC: &dyno.GRPC{Method: "a.B.C"}}, "open load: 5 requests per second (constant), for 10s with calls of a.B/C by gRPC, over at most 256 connections; latency runs from when a request was due"},
		{dyno.Load{Command: "k6 run x.js"}, "load: k6 run x.js; latency as k6 measures it"},
	} {
		if got := c.load.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A planMistake is what is wrong with a plan, and where.
type planMistake struct{ name, plan, line, want string }

func TestPlanMistakes(t *testing.T) {
	testMistakes(t, []planMistake{
		{"unknown key", "repeats: 5\n", "1:1", `unknown key "repeats" (did you mean repeat?)`},
		{"unknown nested key", "load:\n  concurency: 2\n", "2:3", `did you mean concurrency?`},
		{"not YAML", "name: [1\n", "1:7", "sequence end token ']' not found"},
		{"wrong kind", "load: 5\n", "1:7", `want a mapping (key: value), got "5"`},
		{"missing value", "name:\n", "1:6", "the value is missing"},
		{"duration", "load: {duration: 5}\n", "1:18", `bad duration "5" (want for example 30s or 1m30s)`},
		{"count", "repeat: 0\n", "1:9", `want a whole number from 1, got "0"`},
		{"trials", "repeat: 1000000000\n", "1:1", "1e+09 trials are too many"},
		{"trials of a run that decides itself", "subject: {package: .}\nvary:\n  A: [" + numbers(2600) + "]\n", "2:1", "1.04e+05 trials are too many"},
		{"settings", "vary:\n  A: [" + numbers(200) + "]\n  B: [" + numbers(200) + "]\n", "1:1", "4e+04 settings are too many"},
		{"no levels", "vary:\n  GOGC: []\n", "2:3", "factor GOGC has no levels"},
		{"level twice", "vary:\n  GOGC: [1, 1]\n", "2:3", "factor GOGC has a level twice"},
		{"Go version", "vary:\n  go: [latest]\nsubject: {package: .}\n", "2:3", `bad Go version "latest"`},
		{"limit", "vary:\n  limit.cpu: [much]\n", "2:3", "limit.cpu: bad number of CPUs"},
		{"two ends", "load:\n  requests: 5\n  duration: 5s\n", "1:1", "the load has two ends"},
		{"two subjects", "subject: {package: ., url: http://127.0.0.1}\n", "1:1", "both package and url"},
		{"rev of a binary", "subject: {binary: ./x}\nvary: {rev: [a, b]}\n", "2:8", "factor rev needs a package in a git repository"},
		{"step", "load: {client: {loop: [/a]}}\n", "1:24", "a step is a mapping, or a line such as: GET /path"},
		{"missing dot", "subject: {url: localhost:8080}\n", "1:11", `bad URL "localhost:8080"`},
		{"timeout", "load: {timeout: 0s}\n", "1:17", "want more than 0s"},
		{"seed", "seed: 18446744073709551616\n", "1:7", "want a whole number below 2^64"},
		{"another layout of a binary", "relink: true\nsubject: {binary: ./x}\n", "1:1", "relink needs a subject that dyno builds"},
		{"CPUs awake for a URL", "awake: true\nsubject: {url: http://127.0.0.1:1}\n", "1:1", "the CPUs are kept awake for a subject that dyno launches on this machine"},
		{"another layout of a slice", "relink: true\nslice: 4s\nsubject: {package: .}\nvary: {GOGC: [1, 2]}\n", "1:1", "slices are of one launch"},
		{"old Go", "subject: {package: ., go: new}\n", "1:23", `bad Go version "new"`},
		{"step in two parts", "load:\n  client:\n    setup: [{name: a, path: /, measure: true}]\n    loop:\n      - GET /b\n      - {name: a, path: /}\n", "6:9", `step "a" is measured in setup and in loop`},
		{"status", "load: {path: /, expect: 2000}\n", "1:25", `bad status "2000"`},
		{"address", "subject: {binary: ./x, addr: 127.0.0.1:8443}\n", "1:24", `bad addr "127.0.0.1:8443" (want for example https://{{.Addr}} or https://127.0.0.1:8443)`},
		{"address of a URL", "subject: {url: http://h, addr: http://h}\n", "1:1", "not http://h (consider: url alone)"},
		{"file outside", "subject:\n  binary: ./x\n  files: {../a: b}\n", "3:11", `bad name "../a" of a file`},
		{"no file", "subject: {binary: ./x, files: {a: \"@nosuch\"}}\n", "1:35", "no such file"},
		{"probe", "probes: {use: [perf]}\n", "1:10", `unknown probe "perf"`},
	})
}

func TestLoadMistakes(t *testing.T) {
	testMistakes(t, []planMistake{
		{"grpc without method", "load: {grpc: {data: a}}\n", "1:8", "load grpc has no method (want for example method: helloworld.Greeter/SayHello)"},
		{"grpc method", "load: {grpc: {method: SayHello}}\n", "1:15", `bad method "SayHello"`},
		{"grpc and path", "load: {path: /, grpc: {method: a.B/C}}\n", "1:1", "load has grpc and client (want one"},
		{"grpc and http", "load: {http: 2, grpc: {method: a.B/C}}\n", "1:8", "load has grpc and http (want one"},
		{"grpc and program", "load: {program: x, grpc: {method: a.B/C}}\n", "1:8", "load has grpc and program (want one"},
		{"grpc and targets", "load: {targets: x, grpc: {method: a.B/C}}\n", "1:8", "load has grpc and targets (want one"},
		{"grpc and command", "load: {grpc: {method: a.B/C}, command: x}\n", "1:8", "load has command and grpc"},
		{"grpc and none", "load: {grpc: {method: a.B/C}, none: true}\n", "1:8", "load has none and grpc"},
		{"grpc data twice", "load: {grpc: {method: a.B/C, data: a, data_file: b}}\n", "1:39", "load grpc has data and data_file"},
		{"grpc metadata", "load: {grpc: {method: a.B/C, metadata: {grpc-timeout: 1S}}}\n", "1:41", `bad name "grpc-timeout" of metadata`},
		{"grpc data of lists", "load: {grpc: {method: a.B/C, data: [[a]]}}\n", "1:37", "want a plain value, got a list"},
		{"sleep", "load: {client: {loop: [GET /, sleep: 2]}}\n", "1:38", `bad sleep "2" (want for example 1s or 500ms..1.5s)`},
		{"sleep backwards", "load: {client: {loop: [GET /, sleep: 2s..1s]}}\n", "1:38", `bad sleep "2s..1s"`},
		{"sleep and more", "load: {client: {loop: [{path: /, sleep: 1s}]}}\n", "1:25", "a step with sleep has no other keys, but this has path"},
		{"only sleep", "load: {client: {loop: [sleep: 1s]}}\n", "1:17", "the loop only sleeps"},
		{"no path", "load: {client: {loop: [name: a]}}\n", "1:24", "a step needs a path"},
		{"parallel", "load: {client: {loop: [{path: /, parallel: 0}]}}\n", "1:44", `want a whole number from 1, got "0"`},
		{"parallel nothing", "load: {client: {loop: [parallel: []]}}\n", "1:34", "want at least one step"},
		{"list and path", "load: {client: {loop: [{parallel: [GET /], path: /}]}}\n", "1:44", "a list of parallel steps has no key but name, and this has path"},
		{"parallel in parallel", "load: {client: {loop: [parallel: [GET /, {path: /, parallel: 2}]]}}\n", "1:42", "a parallel step is one request"},
		{"list in list", "load:\n  client:\n    loop:\n      - parallel:\n        - parallel: [GET /]\n", "5:11", "a parallel step is one request"},
		{"sleep in parallel", "load: {client: {loop: [parallel: [GET /, sleep: 1s]]}}\n", "1:42", "without sleep or parallel"},
		{"path in parallel", "load:\n  client:\n    loop:\n      - parallel:\n        - GET /a\n        - GET b\n", "6:11", `path "b" of a step does not begin with a slash`},
		{"captured at once", "load: {client: {loop: [{path: /, parallel: 2, capture: {a: .a}}]}}\n", "1:47", "not from 2 parallel ones"},
		{"parallel in two parts", "load: {client: {setup: [{path: /a, measure: true}], loop: [parallel: [{path: /a}]]}}\n", "1:60", `step "GET /a" is measured in setup and in loop`},
		{"two bodies", "load: {client: {loop: [{path: /, body: a, body_file: b}]}}\n", "1:43", "both body and body_file"},
		{"two bodies alone", "load: {body: a, body_file: b}\n", "1:1", "both body and body_file"},
		{"capture alone", "load: {path: /, capture: {a: .a}}\n", "1:17", `unknown key "capture"`},
		{"rate", "load: {rate: 100->200}\n", "1:14", `bad rate "100->200": a stage needs a length`},
		{"rate and sleep", "load: {rate: 5, client: {loop: [sleep: 1s]}}\n", "1:33", "with a rate the loop begins with a request"},
		{"rate and duration", "load: {rate: 5 over 1m, duration: 10s}\n", "1:25", "the rate has its own length, 1m0s (consider: leave duration out)"},
		{"rate and requests", "load: {rate: 5 over 1m, requests: 301}\n", "1:25", "the stages of the rate end before 301 requests are due"},
		{"rate without end", "load: {rate: 0->5 over 1m then 5}\n", "1:8", "the last stage of the rate has no end"},
		{"arrival", "load: {rate: 5, arrival: even}\n", "1:17", `unknown arrival "even"`},
		{"closed in flight", "load: {max_in_flight: 5}\n", "1:8", "max_in_flight needs a rate"},
		{"in flight", "load: {rate: 5, concurrency: 256, max_in_flight: 257}\n", "1:35", "each of 256 connections has one request under way"},
		{"level in flight", "load: {rate: 5, http: 1.1, max_in_flight: 7}\nvary: {load.concurrency: [10, 5]}\n", "1:28", "each of 5 connections"},
		{"connect timeout", "load: {connect_timeout: 31s}\n", "1:8", "connect_timeout is 31s, longer than the timeout of the whole request, 30s"},
		{"read timeout", "load: {read_timeout: 2s, timeout: 1s}\n", "1:8", "read_timeout is 2s, longer than"},
		{"HTTP", "load: {http: 3}\n", "1:8", `unknown version "3" of HTTP (want 1.1 or 2)`},
		{"insecure", "load: {insecure: maybe}\n", "1:18", `want true or false, got "maybe"`},
		{"data", "load: {data: users.csv}\n", "1:14", "want a mapping"},
		{"no data", "load: {data: {users: ''}}\n", "1:22", "want the path of a file"},
		{"data name", "load: {data: {a-b: x.csv}}\n", "1:15", `bad name "a-b" of data`},
		{"data taken", "load: {data: {a: x.csv, counter: x.csv}}\n", "1:25", "data cannot be named counter"},
		{"data captured", "load:\n  data: {a: x.csv}\n  client: {loop: [parallel: [{path: /b, capture: {a: .a}}]]}\n", "2:10", `a is data and is captured by step "GET /b"`},
		{"targets", "load: {targets: t.txt, path: /}\n", "1:8", "load has targets and its own steps"},
		{"targets and client", "load: {targets: t.txt, client: {setup: [GET /]}}\n", "1:8", "load has targets and its own steps"},
		{"command", "load: {command: wrk, timeout: 1s}\n", "1:22", "load has command and timeout (consider: say it in the command)"},
		{"command and deadline", "load: {command: wrk, deadline: 30ms}\n", "1:22", "deadline works with dyno's own load only"},
		{"no deadline", "load: {deadline: 0s}\n", "1:18", "want more than 0s"},
		{"memory of a URL", "subject: {url: http://127.0.0.1}\nmemory: true\n", "2:1", "http://127.0.0.1 runs already (consider: memory: false)"},
		{"memory and command", "load: {command: wrk}\nmemory: true\n", "2:1", "needs dyno's own load, not a command"},
		{"memory and slice", "subject: {package: .}\nvary: {GOGC: [50, 100]}\nslice: 1s\nmemory: true\n", "4:1", "slices have no trial for memory"},
		{"deadline and slice", "subject: {package: .}\nvary: {GOGC: [50, 100]}\nslice: 1s\nload: {deadline: 1s}\n", "4:8", "deadline has no meaning with slices"},
		{"command and step", "load: {command: wrk, client: {loop: [GET /]}}\n", "1:22", "load has command and client"},
		{"command and level", "load: {command: wrk}\nvary: {load.rate: [5]}\n", "1:1", "load has command and rate"},
		{"keep", "load: {keep_requests: some}\n", "1:8", `bad keep_requests "some" (want all or none)`},
		{"keep none", "load: {keep_requests: none, max_requests_kept: 5}\n", "1:29", "no meaning with keep_requests: none"},
	})
}

// testMistakes: each mistake names its place and shows the line.
func testMistakes(t *testing.T, mistakes []planMistake) {
	for _, c := range mistakes {
		t.Run(c.name, func(t *testing.T) {
			_, err := plan.Parse("dyno.yaml", []byte(c.plan))
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

// numbers are as many levels.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d, ", i)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{studyPlan, usersPlan, openPlan, ratesPlan, commandPlan} {
		f.Add(src)
	}
	f.Add("vary: {GOGC: [1, 2]}\nload: [1]\n")
	f.Fuzz(func(t *testing.T, src string) {
		e, err := plan.Parse("dyno.yaml", []byte(src))
		var mistake *dyno.PlanError
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && e.Subject.String() == "" && check.Experiment(e) == nil {
			t.Fatal("a plan without a subject passes Check")
		}
		if err == nil && check.Experiment(e) == nil {
			if resolved := e.Resolved(); check.Experiment(&resolved) != nil {
				t.Fatalf("a good plan does not pass with its defaults written out: %v", check.Experiment(&resolved))
			}
		}
	})
}

// Every block holds every setting once; the order is of the seed and not that
// of the file.
func TestTrials(t *testing.T) {
	e := &dyno.Experiment{
		Subject: dyno.Subject{Binary: "x", Env: map[string]string{"A": "1"}},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "off"}}, {Name: "load.concurrency", Levels: []string{"1", "8"}}},
		Repeats: 20, Seed: new(uint64(7)),
	}
	if err := check.Experiment(e); err != nil {
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
		if err := check.Experiment(e); (err == nil) != c.ok {
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
	files, err := filepath.Glob("../../examples/*/dyno.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example plans: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Parse(file, src); err != nil {
			t.Error(err)
		}
	}
}

// With relink each compared block has a layout of its own, which the seed determines; what profiles see is the linker's own.
func TestTrialsRelinked(t *testing.T) {
	const text = "subject: {package: .}\nvary: {rev: [a, b]}\nseed: 7\nrepeat: 6\nprofile: [cpu]\nprofile_repeat: 1\n"
	trials := func(more string) []dyno.Trial {
		e, err := plan.Parse("dyno.yaml", []byte(text+more))
		if err != nil {
			t.Fatal(err)
		}
		return e.Trials()
	}
	layouts := map[uint32]bool{}
	again := trials("relink: true\n")
	for i, tr := range trials("relink: true\n") {
		if l := tr.Subject.Layout; (l == 0) != (tr.For == dyno.ForProfile) || l != again[i].Subject.Layout {
			t.Errorf("trial %d for %q: layout %d, and %d with the same seed", tr.N, tr.For, l, again[i].Subject.Layout)
		} else if l > 0 {
			layouts[l] = true
		}
	}
	if len(layouts) != 6 {
		t.Errorf("%d layouts of 6 blocks", len(layouts))
	}
	for _, tr := range trials("") {
		if tr.Subject.Layout != 0 {
			t.Errorf("trial %d has a layout without relink", tr.N)
		}
	}
}

// The trial that tells whether memory is given back lasts a minute at most, but
// stages of a rate, and numbers of requests, are played as they are.
func TestTrialsForMemory(t *testing.T) {
	for _, c := range []struct {
		plan     string
		duration time.Duration
		idle     time.Duration
	}{
		{"load: {duration: 5h}", time.Minute, 10 * time.Second},
		{"load: {duration: 5s, idle: 3s}", 5 * time.Second, 3 * time.Second},
		{"load: {rate: 5/s, duration: 5h}", time.Minute, 10 * time.Second},
		{"load: {rate: 0->50 over 50s then 50 over 40s}", 90 * time.Second, 10 * time.Second},
		{"load: {requests: 100}\nmemory: true", 0, 10 * time.Second},
		{"load: {duration: 5s}", -1, 0}, // none
		{"load: {duration: 5h}\nmemory: false", -1, 0},
	} {
		e, err := plan.Parse("dyno.yaml", []byte("subject: {binary: ./x}\n"+c.plan+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", c.plan, err)
		}
		trials := e.Trials()
		last := trials[len(trials)-1]
		if c.duration < 0 {
			if last.For != "" {
				t.Errorf("%s: a trial for %s", c.plan, last.For)
			}
			continue
		}
		if last.For != dyno.ForMemory || time.Duration(last.Load.Duration) != c.duration || time.Duration(last.Load.Idle) != c.idle {
			t.Errorf("%s: for %q, %v, idle %v; want %v, idle %v", c.plan, last.For, last.Load.Duration, last.Load.Idle, c.duration, c.idle)
		}
		if err := check.Experiment(e); err != nil {
			t.Errorf("%s: %v", c.plan, err)
		}
	}
}

// Every metric has a name of its own in thresholds, which can be written.
func TestThresholdNames(t *testing.T) {
	of := map[string]string{}
	for _, m := range dyno.Metrics {
		name := dyno.ThresholdName(m.Name)
		if other := of[name]; other != "" {
			t.Errorf("%s and %s are both %s", other, m.Name, name)
		}
		of[name] = m.Name
		if th, err := dyno.ParseThreshold(name + " < 1"); err != nil || th.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for metric, want := range map[string]string{
		"p99.9-sec": "p99_9", "cpu-sec/req": "cpu_per_req", "req/s": "req_per_s", "gc-cpu-frac": "gc_cpu", "stw-max-sec": "stw_max",
		"service-p99-sec": "service_p99", "GET /-p99-sec": "GET_p99", "///-p50-sec": "_p50", "a  - b-p50-sec": "a_b_p50", "rule:sum": "rule_sum",
	} {
		if got := dyno.ThresholdName(metric); got != want {
			t.Errorf("%s: got %s, want %s", metric, got, want)
		}
	}
}

func TestThresholdsOfPlans(t *testing.T) {
	src := `subject: {binary: ./x}
vary: {GOGC: [100, 50]}
probes: {prometheus: /metrics, metrics: [jobs_total]}
load: {client: {loop: [{name: patch, path: /}, GET /list]}}
thresholds: ["p99 < 30ms", failures == 0, change(p99)<5%, patch_p99 < 1s, GET_list_p50 < 1s, jobs_total_count < 7]
`
	e, err := plan.Parse("dyno.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Experiment(e); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"change(p99) \u003c 5%"`) {
		t.Errorf("got %s", data)
	}
	back, err := plan.Parse("run.json", data)
	if err != nil || len(back.Thresholds) != 6 || back.Thresholds[2] != e.Thresholds[2] {
		t.Errorf("got %v, %v", back, err)
	}

	testMistakes(t, []planMistake{
		{"unit", "name: x\nthresholds: [failures == 0, \"p99 < 30\"]\n", "2:29", "p99 is a time"},
		{"syntax", "thresholds:\n  - p99 < 30ms\n  - p99\n", "3:5", "no comparison"},
		{"one", "thresholds: p98 < 30ms\n", "1:13", "did you mean p90?"},
		{"unknown", "thresholds: [patch_p99 < 1s]\n", "1:14", "unknown metric patch_p99"},
		{"twice", "thresholds: [p99 < 1s, p99<1s]\n", "1:24", "given twice"},
		{"mapping", "thresholds: {p99: 1s}\n", "1:13", "want a plain value"},
	})
	e.Factors = nil
	var mistake *dyno.PlanError
	if err := check.Experiment(e); !errors.As(err, &mistake) || !strings.Contains(mistake.Msg, "only one setting (consider: --vary") {
		t.Errorf("a change of one setting: %v", err)
	} else if at := plan.Locate("dyno.yaml", []byte(src), mistake); at.Line != 5 || at.Column != 43 {
		t.Errorf("at %d:%d", at.Line, at.Column)
	}
}

func parsed(t testing.TB, rate string) dyno.Rate {
	t.Helper()
	r, err := dyno.ParseRate(rate)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Nesting that no plan has is refused before the parser, which would take gigabytes for it.
func TestDeepPlan(t *testing.T) {
	const n = 5_000
	for name, text := range map[string]string{
		"lists":         "vary: " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"mappings":      "vary: " + strings.Repeat("{a: ", n) + "1" + strings.Repeat("}", n),
		"in a row":      "load:\n  client:\n    loop:\n      " + strings.Repeat("- ", n) + "1",
		"closed before": "vary: " + strings.Repeat("]", n) + strings.Repeat("[", n),
	} {
		if _, err := plan.Parse("dyno.yaml", []byte(text+"\n")); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	text := "subject: {binary: ./x}\nload: {body: '" + strings.Repeat("[", n) + "'}\n"
	if _, err := plan.Parse("dyno.yaml", []byte(text)); err != nil {
		t.Errorf("a body of brackets: %.200v", err)
	}
}
