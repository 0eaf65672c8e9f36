package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/cmd/dyno/plans"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/report/tables"
)

// A fakeBench measures nothing: BenchmarkRSS takes 30 % longer in the second setting,
// and BenchmarkNames does not.
type fakeBench struct {
	cancel context.CancelCauseFunc
	after  int    // blocks it is called
	commit string // of the first setting; the others are dirty
	n      int
}

func (f *fakeBench) open() (*campaign.BenchHands, error) {
	h := &campaign.BenchHands{Bencher: new(gobench.Bencher), Close: func() error { return nil }}
	h.Run = func(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (campaign.BenchRun, error) {
		return fakeRun{f, h.Bencher, e}, f.run(ctx, h.Bencher, e, sink)
	}
	return h, nil
}

type fakeRun struct {
	f   *fakeBench
	lab *gobench.Bencher
	e   *dyno.Experiment
}

func (r fakeRun) Profile(ctx context.Context, wanted []dyno.Benchmark, sink func(*dyno.Result) error) error {
	return r.f.profile(r.lab, r.e, wanted, sink)
}

func (r fakeRun) Locate(setting, file string) string { return "" }

func (f *fakeBench) result(e *dyno.Experiment, s dyno.Setting, block int, purpose string) *dyno.Result {
	f.n++
	r := &dyno.Result{Trial: e.Trial(s), Start: time.Unix(1700000000, 0), Elapsed: time.Second, Subject: "go1.26.8"}
	r.Trial.N, r.Trial.Block, r.Trial.For = f.n, block, purpose
	if f.commit != "" {
		r.Subject += " " + f.commit
		if s.String() != e.Levels()[0].String() {
			r.Subject += "+dirty"
		}
	}
	return r
}

var fakeNames = []string{"RSS", "Names"}

func (f *fakeBench) run(ctx context.Context, b *gobench.Bencher, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	b.Watch(gobench.Step{Phase: "build"})
	first := 1
	for _, r := range b.Before {
		f.n = max(f.n, r.Trial.N)
		if r.Trial.For == "" {
			first = max(first, r.Trial.Block+1)
		}
	}
	for _, s := range e.Levels() {
		if len(b.Before) > 0 {
			break
		}
		r := f.result(e, s, 0, dyno.ForSurvey)
		for _, name := range fakeNames {
			r.Surveys = append(r.Surveys, dyno.Survey{Package: "project/search", Name: name, Printed: "Benchmark" + name, N: 1000, Sec: 1e-5})
		}
		if err := sink(r); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	open := func(string, string) (bool, int) { return true, 0 }
	if b.Open != nil {
		open = b.Open(first - 1)
	}
	for block := first; block <= 88; block++ {
		left := 0
		for _, name := range fakeNames {
			if is, _ := open("project/search", name); is {
				left++
			}
		}
		if most := e.Bench.Planned(); left == 0 || most > 0 && block > most {
			return nil
		}
		b.Watch(gobench.Step{Phase: "block", Block: block, Benchmarks: left})
		if block-1 == f.after && f.cancel != nil {
			f.cancel(interrupt.Err)
			return context.Cause(ctx)
		}
		for i, s := range e.Levels() {
			r := f.result(e, s, block, "")
			for _, name := range fakeNames {
				one := dyno.Benchmark{Package: "project/search", Name: name, N: 100}
				for range 2 {
					var launch []dyno.Values
					for range 12 {
						sec := 1e-5 * (1 + 0.01*rng.NormFloat64())
						if name == "RSS" && i == 1 {
							sec *= 1.3
						}
						launch = append(launch, dyno.Values{{Metric: "sec/op", Value: sec}, {Metric: "B/op", Value: 64}, {Metric: "allocs/op", Value: 2}})
					}
					one.Launches = append(one.Launches, launch)
				}
				r.Benchmarks = append(r.Benchmarks, one)
			}
			if err := sink(r); err != nil {
				return err
			}
		}
		if b.Open != nil {
			open = b.Open(block)
		}
	}
	return nil
}

func (f *fakeBench) profile(b *gobench.Bencher, e *dyno.Experiment, wanted []dyno.Benchmark, sink func(*dyno.Result) error) error {
	b.Watch(gobench.Step{Phase: "profile", Benchmarks: 1})
	recorded := map[string][]string{
		"cpu":    {"search-cpu-go1.27.4", "search-cpu-go1.22.12"},
		"allocs": {"search-allocs-fast", "search-allocs-a"},
	}
	for _, w := range wanted {
		for block := 1; block <= 3; block++ {
			for i, s := range e.Levels() {
				r := f.result(e, s, block, dyno.ForProfile)
				r.Benchmarks = []dyno.Benchmark{{Package: w.Package, Name: w.Name, N: 4000}}
				dir, err := b.Dir(r.Trial.N)
				if err != nil {
					return err
				}
				for _, kind := range e.Profile {
					data, err := os.ReadFile(filepath.Join(testdata, recorded[kind][i]+".pb.gz"))
					if err != nil {
						return err
					}
					if err := os.WriteFile(filepath.Join(dir, kind+".pb.gz"), data, 0o666); err != nil {
						return err
					}
				}
				if err := sink(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dynoBench runs a command with a fake's hands.
func dynoBench(t *testing.T, ctx context.Context, f *fakeBench, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	real := campaign.OpenBench
	campaign.OpenBench = f.open
	defer func() { campaign.OpenBench = real }()
	var out, errs bytes.Buffer
	status = run(ctx, args, &out, &errs)
	return status, out.String(), errs.String()
}

// One command says what changed, why, and how to read it again from files alone.
func TestBench(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	summary := filepath.Join(t.TempDir(), "summary.md")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	status, text, errs := dynoBench(t, t.Context(), new(fakeBench), "bench", "--vary", "GOGC=100,200", "--out", dir)
	if status != exitDone {
		t.Fatalf("status %d\n%s", status, errs)
	}
	for _, want := range []string{"RSS", "the same within 1%", "+30", "worse", "Why RSS changed with GOGC=200: likely search.RSS (rss.go:21), CPU time -"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, want := range []string{"block 14: 2 benchmarks, ", "results are in " + dir} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	for _, file := range []string{"run.json", "results.jsonl", "bench.txt", "summary.json", "report.html"} {
		if !exists(filepath.Join(dir, file)) {
			t.Errorf("there is no %s", file)
		}
	}
	if data, err := os.ReadFile(summary); err != nil || !bytes.Contains(data, []byte("<summary>Why RSS, GOGC=200 changed")) {
		t.Errorf("step summary: %v\n%s", err, data)
	}
	again := func(want int, args ...string) string {
		t.Helper()
		status, out, errs := dynoBench(t, t.Context(), nil, args...)
		if status != want {
			t.Errorf("%s: status %d, want %d\n%s", args, status, want, errs)
		}
		return out
	}
	if got := again(exitDone, "report", dir); got != text {
		t.Errorf("report:\n%s\nwant:\n%s", got, text)
	}
	saved, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if got := again(exitDone, "report", dir, "--json"); err != nil || got != string(saved) {
		t.Errorf("report --json is not summary.json: %v\n%s", err, got)
	}
	var j struct {
		Why []struct{ Benchmark string }
	}
	if err := json.Unmarshal(saved, &j); err != nil || len(j.Why) != 1 || j.Why[0].Benchmark != "project/search.RSS" {
		t.Errorf("summary.json: %v: %+v", err, j)
	}
	again(exitThreshold, "report", dir, "--fail-worse")
	again(exitThreshold, "report", dir, "--threshold", "change(sec_per_op) < 5%")
	again(exitDone, "report", dir, "--threshold", "allocs_per_op <= 2")
	again(exitUsage, "report", dir, "--format", "hgrm")
	for format, want := range map[string]string{"csv": ",project/search,RSS,sec/op,", "openmetrics": "\ndyno_benchmark_time_per_op_seconds{"} {
		if got := again(exitDone, "report", dir, "--format", format); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", format, got)
		}
	}
	if got := again(exitDone, "profile", dir, "--base", "GOGC=100", "--bench", "RSS"); !strings.Contains(got, "cpu per operation, GOGC=200 against GOGC=100, 3 pairs") {
		t.Errorf("profile:\n%s", got)
	}
	again(exitUsage, "profile", dir, "--bench", "Names")
	if got := again(exitDone, "profile", dir); !strings.HasPrefix(got, "project/search.RSS: profiles of separate processes") || strings.Contains(got, "request") || strings.Contains(got, "response") {
		t.Errorf("profile:\n%s", got)
	}
}

// Ctrl-C keeps the blocks that are whole, and reports them.
func TestBenchInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	status, text, errs := dynoBench(t, ctx, &fakeBench{cancel: cancel, after: 3}, "bench", "--aa", "--out", dir)
	if status != exitInterrupted || !strings.Contains(errs, "interrupted: the report covers the complete blocks") || !strings.Contains(text, "3 blocks cannot show any change, however great") ||
		!strings.Contains(errs, "results are in "+dir) {
		t.Errorf("status %d\n%s%s", status, errs, text)
	}
	if status, _, errs := dynoBench(t, t.Context(), nil, "report", dir); status != exitDone {
		t.Errorf("report: status %d\n%s", status, errs)
	}
}

// A run that was interrupted goes on with its next block, and one that came to its end has more blocks.
func TestBenchResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	status, _, errs := dynoBench(t, ctx, &fakeBench{cancel: cancel, after: 3}, "bench", "--vary", "GOGC=100,200", "--blocks", "16", "--out", dir)
	if status != exitInterrupted || !strings.Contains(errs, "resume with dyno bench --resume "+dir) {
		t.Fatalf("status %d\n%s", status, errs)
	}
	blocks := func() int {
		t.Helper()
		var j struct{ Blocks int }
		data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
		if err == nil {
			err = json.Unmarshal(data, &j)
		}
		if err != nil {
			t.Fatal(err)
		}
		return j.Blocks
	}
	for _, c := range []struct {
		args   []string
		status int
		said   string
		blocks int
	}{
		{[]string{"--more", "2"}, exitUsage, "13 of 16 blocks are not done (consider: --resume alone first)", 3},
		{nil, exitDone, "block 16 of 16", 16},
		{nil, exitDone, "nothing is left to do (consider: --more", 16},
		{[]string{"--more", "2"}, exitDone, "block 18 of 18", 18},
		{[]string{"--blocks", "20"}, exitUsage, "--blocks cannot change it", 18},
	} {
		status, text, errs := dynoBench(t, t.Context(), new(fakeBench), append([]string{"bench", "--resume", dir}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.said) || blocks() != c.blocks {
			t.Errorf("%q: status %d, %d blocks, no %q in\n%s%s", c.args, status, blocks(), c.said, errs, text)
		}
		if status == exitDone && !strings.Contains(text, "RSS") {
			t.Errorf("%q: %s", c.args, text)
		}
	}
	plan := func() string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := plan()
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	if status, text, errs := dynoBench(t, ctx, &fakeBench{cancel: cancel, after: 18}, "bench", "--resume", dir, "--more", "2"); status != exitInterrupted || plan() != before || blocks() != 18 {
		t.Errorf("interrupted before a block was done: status %d, %d blocks, and the plan has changed: %v\n%s%s", status, blocks(), plan() != before, errs, text)
	}
	if status, _, errs := dynoBench(t, t.Context(), nil, "run", "--resume", dir); status != exitUsage || !strings.Contains(errs, "dyno bench --resume") {
		t.Errorf("run --resume: status %d\n%s", status, errs)
	}
}

// Mistakes are told before anything is built.
func TestBenchMistakes(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"missing closing )", []string{"--aa", "--bench", "("}},
		{"no factor is varied", []string{"--threshold", "change(sec_per_op) < 5%"}},
		{"no factor is varied", []string{"--pair", "RSS"}},
		{"no such file", []string{"--baseline", "nowhere.txt"}},
		{"is a directory (want a file", []string{"--baseline", "."}},
		{"bench_test.go has no benchmark results", []string{"--baseline", "bench_test.go"}},
	} {
		status, text, errs := dynoBench(t, t.Context(), new(fakeBench), append([]string{"bench"}, c.args...)...)
		if status != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, no %q in\n%s%s", c.args, status, c.want, errs, text)
		}
	}
	out := filepath.Join(t.TempDir(), "run")
	if status, text, errs := dynoBench(t, t.Context(), new(fakeBench), "bench", "--aa", "--threshold", "change(allocs_per_op) < 5%", "--profile", "none", "--out", out); status != exitDone {
		t.Errorf("a threshold of the change that --aa makes: status %d\n%s%s", status, errs, text)
	}
}

// A benchmark that a change breaks is no pass of a gate; one that was broken before, or
// is skipped, is not the change's.
func TestBenchBroken(t *testing.T) {
	boom := func(setting int, kind compare.FaultKind) compare.Fault {
		return compare.Fault{Setting: setting, Kind: kind, Said: "boom"}
	}
	settings := []compare.Setting{{Setting: dyno.Setting{{Factor: "rev", Value: "HEAD"}}}, {Setting: dyno.Setting{{Factor: "rev", Value: "."}}}}
	for name, c := range map[string]struct {
		faults []compare.Fault
		want   bool
	}{
		"new":            {[]compare.Fault{boom(1, compare.FaultFailed)}, true},
		"new in a block": {[]compare.Fault{boom(1, compare.FaultBlocks)}, true},
		"baseline only":  {[]compare.Fault{boom(0, compare.FaultFailed)}, false},
		"both":           {[]compare.Fault{boom(0, compare.FaultFailed), boom(1, compare.FaultFailed)}, false},
		"skipped":        {[]compare.Fault{boom(1, compare.FaultSkipped)}, false},
		"missing":        {[]compare.Fault{boom(1, compare.FaultMissing)}, false},
		"none":           {nil, false},
	} {
		err, want := name, c.want
		f := &findings.Findings{Plan: new(dyno.Experiment), Table: &compare.Table{Kind: compare.OfBenchmarks, Settings: settings}}
		f.Table.Benchmarks = []*compare.Benchmark{{Package: "p", Name: "X", Faults: c.faults}}
		if got := (&outFlags{failWorse: true}).gate(f); (got != nil) != want {
			t.Errorf("%q: %v", err, got)
		}
		if got := new(outFlags).gate(f); got != nil {
			t.Errorf("%q without --fail-worse: %v", err, got)
		}
	}
}

// A file of go test -bench is the baseline of one setting, and is said not to be beside it.
func TestBenchBaseline(t *testing.T) {
	tmp := t.TempDir()
	old := filepath.Join(tmp, "old.txt")
	line := "BenchmarkRSS 1000 5000 ns/op 64 B/op 2 allocs/op\n"
	if err := os.WriteFile(old, []byte("cpu: Abacus\npkg: project/search\n"+strings.Repeat(line, 10)), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(tmp, "run")
	status, text, errs := dynoBench(t, t.Context(), new(fakeBench), "bench", "--baseline", old, "--out", dir)
	if status != exitDone || !strings.Contains(text, "was not measured in turns with this run") || !strings.Contains(text, "cpu is Abacus in baseline, and ") || strings.Contains(text, "nothing to compare") || !strings.Contains(text, "+100") {
		t.Errorf("status %d\n%s%s", status, errs, text)
	}
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	if status, again, errs := dynoBench(t, t.Context(), nil, "report", dir); status != exitDone || again != text {
		t.Errorf("report: status %d\n%s%s", status, errs, again)
	}
	if status, _, _ := dynoBench(t, t.Context(), nil, "report", dir, "--fail-worse"); status != exitThreshold {
		t.Errorf("--fail-worse: status %d", status)
	}
}

// A commit that was measured once is the baseline of what comes after it; one that was
// not is measured beside it.
func TestBenchCache(t *testing.T) {
	tmp := t.TempDir()
	t.Chdir(tmp)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeBench{commit: strings.TrimSpace(string(out))}
	args := []string{"bench", "--baseline", "rev:main", "--cache", "cache", "--blocks", "6", "--out"}
	status, text, errs := dynoBench(t, t.Context(), f, append(args, "a")...)
	if status != exitDone || !strings.Contains(errs, "does not exist yet: dyno measures main and the working tree side by side") || strings.Contains(text, tables.BaselineTitle) {
		t.Fatalf("status %d\n%s%s", status, errs, text)
	}
	status, text, errs = dynoBench(t, t.Context(), f, append(args, "b")...)
	if status != exitDone || strings.Contains(errs, "side by side") || !strings.Contains(text, tables.BaselineTitle) {
		t.Errorf("status %d\n%s%s", status, errs, text)
	}
	status, _, errs = dynoBench(t, t.Context(), f, "bench", "--baseline", "rev:nowhere", "--cache", "cache")
	if status != exitUsage || !strings.Contains(errs, "no revision nowhere") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

// A view lists a run of benchmarks among the others, and shows its report.
func TestBenchView(t *testing.T) {
	root := t.TempDir()
	status, _, errs := dynoBench(t, t.Context(), new(fakeBench), "bench", "--aa", "--name", "codec", "--out", filepath.Join(root, "bench"))
	if status != exitDone {
		t.Fatalf("status %d\n%s", status, errs)
	}
	viewable(t, filepath.Join(root, "service"))
	v := startView(t, root)
	defer v.end()
	client := browser(t)
	fetch(t, client, v.visit)
	for _, page := range []struct {
		path string
		want []string
	}{
		{"", []string{`href="/runs/bench/"`, "codec", `href="/runs/service/"`}},
		{"runs/bench/", []string{"Benchmarks of codec", "RSS"}},
		{"runs/bench/files/bench.txt", []string{"BenchmarkRSS/AA=1"}},
	} {
		status, body := fetch(t, client, v.address+page.path)
		for _, want := range page.want {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("/%s: status %d, no %s in\n%.3000s", page.path, status, want, body)
			}
		}
		if strings.Contains(body, "broken") {
			t.Errorf("/%s says that something is broken:\n%.3000s", page.path, body)
		}
	}
	for _, path := range []string{"runs/bench/detail", "runs/bench/pprof/cpu/", "compare?a=bench&b=service"} {
		if status, body := fetch(t, client, v.address+path); status < 200 || status >= 600 || strings.Contains(body, "panic") {
			t.Errorf("/%s: status %d\n%.1000s", path, status, body)
		}
	}
}

// The plan of benchmarks that init explains is one.
func TestInitPlanBench(t *testing.T) {
	_, text, _ := strings.Cut(plans.Init, "\n# bench:")
	text = strings.ReplaceAll("bench:"+text, "\n# ", "\n")
	e, err := plan.Parse("dyno.yaml", []byte(text))
	if err != nil || e.Bench == nil || e.Bench.Match != "Encode" || len(e.Levels()) != 2 {
		t.Errorf("%v: %+v", err, e)
	}
	if err := check.Experiment(e); err != nil {
		t.Error(err)
	}
}
