package main

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/plans"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
)

// parse returns the experiment of a plan file and flags.
func parse(t *testing.T, plan string, args ...string) (*dyno.Experiment, error) {
	t.Helper()
	var p flags.Set
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.LookFlags(fs)
	if plan != "" {
		file := filepath.Join(t.TempDir(), "dyno.yaml")
		if err := os.WriteFile(file, []byte(plan), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", file)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	e, err := p.Experiment()
	if err != nil {
		return nil, err
	}
	e.Subject.Binary = "x"
	return e, check.Experiment(e)
}

func TestLoadFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ramp, err := dyno.ParseRate("100->2000 over 60s then 2000 over 30s")
	if err != nil {
		t.Fatal(err)
	}
	none := dyno.Fraction(0)
	log := `x - - [25/Nov/2026:09:00:01.5 +0000] "GET /a HTTP/1.1" 200 5` + "\n" + `x - - [25/Nov/2026:09:00:03 +0000] "GET /a?b HTTP/1.1" 200 5` + "\n"
	for name, text := range map[string]string{"access.log": log, "empty.log": ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, plan string
		args       []string
		want       dyno.Load
	}{
		{"all", "", []string{"-r", "50", "--deadline=30ms", "--max-in-flight=5", "--connect-timeout=1s", "--read-timeout=2s", "--http=2", "-k", "--keep-requests=all", "--max-requests-kept=7",
			"--data", "a=a.csv", "--data", "b=b/b.csv"},
			dyno.Load{Rate: dyno.PerSecond(50), Deadline: 30e6, MaxInFlight: 5, ConnectTimeout: 1e9, ReadTimeout: 2e9, HTTP: "2", Insecure: true, KeepRequests: "all", MaxRequestsKept: 7,
				Data: map[string]string{"a": filepath.Join(here, "a.csv"), "b": filepath.Join(here, "b", "b.csv")}}},
		{"stages take back the duration of the file", "load: {duration: 5s}", []string{"-r", "100->2000 over 60s then 2000 over 30s"}, dyno.Load{Rate: ramp}},
		{"a rate for ever does not", "load: {duration: 5s}", []string{"-r", "5"}, dyno.Load{Rate: dyno.PerSecond(5), Duration: 5e9}},
		{"targets instead of steps", "load: {duration: 5s, client: {setup: [GET /], loop: [GET /a]}}", []string{"--targets", "t.txt"},
			dyno.Load{Duration: 5e9, Targets: filepath.Join(here, "t.txt")}},
		{"a command instead of all", "load: {duration: 5s, idle: 1s, max_failures: 5%, path: /a}", []string{"--command", "wrk x", "--max-failures=0"},
			dyno.Load{Command: "wrk x", Idle: 1e9, MaxFailures: &none}},
		{"a body instead of a file", "load: {body_file: x}", []string{"--body", "b"},
			dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/", Method: "POST", Body: "b"}}}}},
		{"a file", "load: {body: x}", []string{"--body", "@b.json"},
			dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/", Method: "POST", BodyFile: filepath.Join(here, "b.json")}}}}},
		{"grpc instead of steps", "load: {duration: 5s, client: {setup: [GET /], loop: [GET /a]}}",
			[]string{"--grpc-method", "a.B/C", "--grpc-data", `{"a":{{.n}}}`, "--grpc-metadata", "a: b", "--grpc-metadata", "c: d", "--grpc-descriptors", "s.binpb", "--grpc-authority", "x", "--grpc-connections", "2", "--grpc-messages", "3"},
			dyno.Load{Duration: 5e9, GRPC: &dyno.GRPC{Method: "a.B/C", Data: []string{`{"a":{{.n}}}`}, Metadata: map[string]string{"a": "b", "c": "d"},
				Descriptors: filepath.Join(here, "s.binpb"), Authority: "x", Connections: 2, Messages: 3}}},
		{"grpc data of a file", "load: {grpc: {method: a.B/C, data: {a: 1}}}", []string{"--grpc-data", "@m.jsonl"},
			dyno.Load{GRPC: &dyno.GRPC{Method: "a.B/C", DataFile: filepath.Join(here, "m.jsonl")}}},
		{"a replay instead of steps and a rate", "load: {rate: 5/s, arrival: poisson, duration: 5s, path: /a}", []string{"--replay", "access.log", "--speed", "2x", "-c", "3"},
			dyno.Load{Duration: 5e9, Concurrency: 3, Replay: filepath.Join(here, "access.log"), Speed: 2,
				Recording: &dyno.Recording{Bytes: 122, Requests: 2, Length: 1502e6, Peak: 10}}},
		{"secure again", "load: {insecure: true}", []string{"-k=false"}, dyno.Load{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := parse(t, c.plan, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(e.Load, c.want) {
				t.Errorf("got  %+v\nwant %+v", e.Load, c.want)
			}
		})
	}
	for _, c := range []struct {
		args string
		want string
	}{
		{"-r 5/over/1m -d 10s", "the rate has its own length"},
		{"--targets t.txt -X POST", "load has targets and its own steps"},
		{"--command wrk --deadline 30ms", "load has command and deadline"},
		{"--grpc-method a.B/C --targets t.txt", "load has grpc and targets"},
		{"--grpc-method a.B/C --replay access.log", "load has grpc and replay"},
		{"--grpc-method a.B/C --load-program x", "load has grpc and program"},
		{"--grpc-method a.B/C -X POST", "load has grpc and client"},
		{"--grpc-data {}", "load grpc has no method"},
		{"--command wrk -c 5", "load has command and concurrency"},
		{"--command wrk --targets t.txt", "load has command and targets"},
		{"--replay access.log -r 5", "load has replay and rate"},
		{"--replay access.log --arrival poisson", "load has replay and arrival"},
		{"--replay access.log --targets t.txt", "load has replay and targets"},
		{"--replay access.log -X POST", "load has replay and client"},
		{"--replay access.log --data a=a.csv", "load has replay and data"},
		{"--replay access.log --command wrk", "load has command and replay"},
		{"--replay access.log --speed fast", "bad speed"},
		{"--replay access.log --speed 0", "bad speed"},
		{"--replay access.log -n 3", "access.log has 2 requests that can be sent, not 3"},
		{"--replay empty.log", "replay " + filepath.Join(here, "empty.log") + ": it is empty"},
		{"--replay no.log", "no such file"},
		{"--speed 2", "speed is that of a replay"},
		{"--log-format $request", "log_format is that of a replay's lines"},
		{"--replay access.log --log-format $time_local", "has no request"},
		{"--replay access.log --log-format $time_local$request", "$time_local has nothing behind it"},
		{"--replay access.log --log-format [$request", "has no time"},
		{"--replay access.log --log-format $msec|$request", "the log format wants \"|\" behind $msec"},
		{"--replay-secrets", "replay_secrets needs a replay"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "/over/", " over ")
		}
		if _, err := parse(t, "", args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// Every key of a plan is explained in the plan that init writes, and has a flag
// unless the file's comment says why not.
func TestInitPlanIsComplete(t *testing.T) {
	var p flags.Set
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.LookFlags(fs)
	thresholdFlags(&p, fs, new(outFlags))
	var ofBench benchFlags
	benchSet := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	ofBench.define(benchSet)
	otherwise := map[string]string{"match": "bench", "thresholds": "threshold", "headers": "header", "body_file": "body", "data_file": "grpc-data", "program": "load-program", "needs": "need", "use": "probe", "limits": "limit"}
	none := []string{
		"subject", "load", "probes", "client", "grpc", "bench", // their keys have
		"packages",
		"package", "module", "binary", "url", "args", // arguments of the command
		"container", "dir", "files", "settings", "requests_per_client", "expect", "setup", "loop", "teardown", "capture", "measure", "parallel", "sleep",
	}
	watched := []string{"pid", "process", "none", "more", "resumed", "recording"} // what dyno watch is told on its command line, or --resume --more, or what dyno writes, and a run's plan lacks
	for _, part := range []any{dyno.Experiment{}, dyno.Subject{}, dyno.Load{}, dyno.Client{}, dyno.Step{}, dyno.GRPC{}, dyno.Probes{}, dyno.Bench{}} {
		typ, fs := reflect.TypeOf(part), fs
		if typ.Name() == "Bench" {
			fs = benchSet
		}
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if key == "-" || slices.Contains(watched, key) {
				continue
			}
			if !regexp.MustCompile(`(?m)(^|[ {\[])` + key + `:`).MatchString(plans.Init) {
				t.Errorf("init.yaml does not have %s.%s", typ.Name(), key)
			}
			name := cmp.Or(otherwise[key], strings.ReplaceAll(key, "_", "-"))
			if typ.Name() == "GRPC" && key != "data_file" { // of which --grpc-data is a flag
				name = "grpc-" + name
			}
			if (fs.Lookup(name) == nil) != slices.Contains(none, key) {
				t.Errorf("%s.%s: is there a flag --%s?", typ.Name(), key, name)
			}
		}
	}
}

// What is a comment in init.yaml is a good plan too.
func TestInitPlanComments(t *testing.T) {
	_, load, _ := strings.Cut(plans.Init, "\nload:\n")
	load, _, _ = strings.Cut(load, "\nprobes:\n")
	with := map[string]string{"arrival": "rate: 5", "max_in_flight": "rate: 5", "speed": "replay: x", "replay_secrets": "replay: x", "log_format": "replay: x"} // what a key needs beside it
	var client []string
	for _, line := range strings.Split(load, "\n") {
		line, comment := strings.CutPrefix(line, "  # ")
		key, _, isKey := strings.Cut(line, ":")
		switch {
		case !comment:
		case key == "client" || client != nil && strings.HasPrefix(line, "  "):
			client = append(client, "  "+line)
		case isKey && !strings.Contains(key, " "):
			src := "load:\n  " + line + "\n"
			if w := with[key]; w != "" {
				src += "  " + w + "\n"
			}
			if _, err := plan.Parse("dyno.yaml", []byte(src)); err != nil {
				t.Error(err)
			}
		}
	}
	if len(client) < 5 {
		t.Fatalf("no client: %q", client)
	}
	if _, err := plan.Parse("dyno.yaml", []byte("load:\n"+strings.Join(client, "\n")+"\n")); err != nil {
		t.Error(err)
	}
}

// --limit changes what it names.
func TestLimitFlag(t *testing.T) {
	for args, want := range map[string]dyno.Limits{
		"--limit=cpu=10%,memory=64MiB": {CPU: 0.1, Memory: 64 << 20},
		"--limit=cpu=none":             {Memory: 1 << 30},
		"":                             {CPU: 2, Memory: 1 << 30},
	} {
		e, err := parse(t, "limits: {cpu: 2, memory: 1GiB}", strings.Fields(args)...)
		if err != nil || e.Limits != want {
			t.Errorf("%s: %v, %v; want %v", args, e.Limits, err, want)
		}
	}
	for _, bad := range []string{"disk=1", "cpu", "cpu=0", "cpu=1,cpu=2", "memory=64MB"} {
		if _, err := parse(t, "", "--limit", bad); err == nil {
			t.Errorf("--limit %s is taken", bad)
		}
	}
}
