package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/store"
)

func plan() *dyno.Experiment {
	return &dyno.Experiment{
		Name:    "x",
		Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "off"}}},
		Repeats: 2,
	}
}

func create(t testing.TB) *store.Dir {
	t.Helper()
	d, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: plan()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func result(n int) *dyno.Result {
	h := hist.New()
	for i := range 1000 {
		h.Add(time.Duration(n*1000+i) * time.Microsecond)
	}
	return &dyno.Result{
		Trial: plan().Trials()[n-1], Start: time.Unix(1700000000, 0).UTC(), Elapsed: time.Second,
		Values:   dyno.Values{{Metric: "p50-sec", Value: 0.001}, {Metric: "req/s", Value: 1000}},
		Latency:  h,
		Warnings: dyno.Warnings{{Text: "a doubt"}},
	}
}

// What was added is read back whole, by another process or later.
func TestReadBack(t *testing.T) {
	d := create(t)
	for n := 1; n <= 3; n++ {
		if err := d.Add(result(n)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Run.Plan, plan()) {
		t.Errorf("plan became %+v", r.Run.Plan)
	}
	rs := r.Results()
	if len(rs) != 3 || r.Done(4) || !r.Done(3) {
		t.Fatalf("%d results", len(rs))
	}
	got, want := rs[1], result(2)
	if !reflect.DeepEqual(got.Values, want.Values) || got.Trial.Setting.String() != want.Trial.Setting.String() || got.Elapsed != want.Elapsed {
		t.Errorf("got %+v", got)
	}
	for _, q := range []float64{0, .5, .99, 1} {
		if g, w := got.Latency.Quantile(q), want.Latency.Quantile(q); g != w {
			t.Errorf("quantile %v: %v, want %v", q, g, w)
		}
	}
	if g, w := got.Latency.Stddev(), want.Latency.Stddev(); g < w*.999 || g > w*1.001 {
		t.Errorf("standard deviation %v, want %v", g, w)
	}
}

// Collections are kept to the nanosecond, beside the result.
func TestCollections(t *testing.T) {
	d := create(t)
	want := []dyno.Collection{
		{N: 7, Start: -3, End: 5_000_000_001, SweepTerm: 11, MarkTerm: 12, Assist: 13, Background: 14, Idle: 15,
			HeapStart: 1 << 42, HeapEnd: 0.5, Live: 3, Goal: 4, Forced: true, Uncertainty: 16},
		{N: 8},
	}
	r := result(1)
	r.Collections = slices.Clone(want)
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(result(2)); err != nil {
		t.Fatal(err)
	}
	got, err := d.Collections(1)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if r.Collections != nil || !slices.Contains(r.Files, "gc.csv") {
		t.Errorf("the result has %d collections and files %q", len(r.Collections), r.Files)
	}
	if _, err := d.Collections(2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without collections: %v", err)
	}
	os.WriteFile(filepath.Join(d.Path, "trials", "0002", "gc.csv"), []byte("n,"+strings.Repeat("x,", 12)+"forced\n1,x"+strings.Repeat(",0", 12)+"\n"), 0o666)
	if _, err := d.Collections(2); err == nil || !strings.Contains(err.Error(), "gc.csv: line 2: ") {
		t.Errorf("a broken file: %v", err)
	}
}

// A dyno that is killed at any byte of the last line loses that trial only, and
// the run goes on from there.
func TestCutOffAnywhere(t *testing.T) {
	d := create(t)
	for n := 1; n <= 2; n++ {
		if err := d.Add(result(n)); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	file := filepath.Join(d.Path, "results.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Index(string(whole), "\n") + 1
	for cut := second; cut < len(whole); cut += 7 {
		if err := os.WriteFile(file, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := store.Resume(d.Path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if !r.Done(1) || r.Done(2) {
			t.Fatalf("cut at %d: trial 1 done %v, trial 2 done %v", cut, r.Done(1), r.Done(2))
		}
		if cut > second && len(r.Notes()) == 0 {
			t.Errorf("cut at %d: nothing was said", cut)
		}
		if err := r.Add(result(2)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if again, err := store.Read(d.Path); err != nil || len(again.Results()) != 2 {
			t.Fatalf("cut at %d: after resuming: %v", cut, err)
		}
	}
}

// A trial that failed is run again, and its new result replaces the old.
func TestFailedTrialIsNotDone(t *testing.T) {
	d := create(t)
	bad := result(1)
	bad.Err = "subject died"
	for _, r := range []*dyno.Result{bad, result(2)} {
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if d.Done(1) || !d.Done(2) {
		t.Error("a failed trial counts as done")
	}
	if err := d.Add(result(1)); err != nil {
		t.Fatal(err)
	}
	r, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if rs := r.Results(); len(rs) != 2 || rs[0].Err != "" {
		t.Errorf("results: %+v", rs)
	}
}

func TestCreateRefuses(t *testing.T) {
	d := create(t)
	if _, err := store.Create(d.Path, store.Run{Plan: plan()}); !errors.Is(err, store.ErrExists) {
		t.Errorf("over a run: %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.doc"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(full, store.Run{Plan: plan()}); err == nil {
		t.Error("a directory with other files was taken")
	}
	if _, err := store.Read(full); err == nil || !strings.Contains(err.Error(), "not a run directory") {
		t.Errorf("reading it: %v", err)
	}
}

// An error of storing says what goes on with what is stored, of which benchmarks know no
// --resume.
func TestAddSaysWhatNext(t *testing.T) {
	for cure, e := range map[string]*dyno.Experiment{"dyno run --resume ": {}, "dyno report ": {Bench: new(dyno.Bench)}} {
		d, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Plan: e})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		if err := d.Add(new(dyno.Result)); err == nil || !strings.Contains(err.Error(), "consider: "+cure+d.Path) {
			t.Errorf("%v, want %s", err, cure)
		}
	}
}

func TestOneWriter(t *testing.T) {
	d := create(t)
	if _, err := store.Resume(d.Path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	d.Close()
	r, err := store.Resume(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

// A writer that fails leaves the old file.
func TestWriteFileIsWhole(t *testing.T) {
	d := create(t)
	write := func(text string, fail error) error {
		return d.WriteFile("summary.json", func(w io.Writer) error {
			io.WriteString(w, text)
			return fail
		})
	}
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := write("half", boom); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(d.Path, "summary.json")); string(data) != "old" {
		t.Errorf("the file is now %q", data)
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestMissingHistogramIsSaid(t *testing.T) {
	d := create(t)
	if err := d.Add(result(1)); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(d.Path, "trials", "0001", "latency.hlog"))
	r, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Results()[0].Warnings; len(w) != 2 || !strings.Contains(w[1].Text, "latency.hlog is missing") {
		t.Errorf("warnings: %q", w)
	}
}

// Latencies that were written during the trial stay as they are, and are read
// as the sum of their lines.
func TestLatencyLogOfTheTrial(t *testing.T) {
	d := create(t)
	r := result(1)
	dir, err := d.TrialDir(1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := hist.NewLog(f, r.Start)
	if err != nil {
		t.Fatal(err)
	}
	second := hist.New()
	for i := range 1000 { // the latencies of result(1), 100 a second
		second.Add(time.Duration(1000+i) * time.Microsecond)
		if i%100 != 99 {
			continue
		}
		from := time.Duration(i/100) * time.Second
		if err := log.Add(second, from, from+time.Second); err != nil {
			t.Fatal(err)
		}
		second.Reset()
	}
	before, _ := os.ReadFile(f.Name())
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(f.Name()); string(after) != string(before) {
		t.Error("the log was written again")
	}
	again, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	got := again.Results()[0]
	if len(got.Warnings) != 1 || !got.Latency.Whole() || got.Latency.Quantile(.5) != r.Latency.Quantile(.5) {
		t.Errorf("median %v, want %v; warnings %q", got.Latency.Quantile(.5), r.Latency.Quantile(.5), got.Warnings)
	}
}

// A dyno that knows only schema 1 cannot read the warnings written now, so it has to
// see another schema; runs of schema 1 are still read.
func TestSchemas(t *testing.T) {
	for found, known := range map[int]bool{0: false, 1: true, 2: true, 3: true, 4: false} {
		if err := store.CheckSchema("run.json", found, "v1"); (err == nil) != known {
			t.Errorf("schema %d: %v", found, err)
		}
	}
}

// What a resumed run adds is of schema 2, which has the order of its trials, and run.json says so.
func TestResumeOldSchema(t *testing.T) {
	d := create(t)
	if err := errors.Join(d.Add(result(1)), d.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path, "run.json")
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Replace(string(now), `"schema": 3`, `"schema": 1`, 1)
	if err := os.WriteFile(path, []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	resumed, err := store.Resume(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if resumed.Run.Schema != 2 || !resumed.Run.Plan.Shuffled || resumed.Proven() != nil {
		t.Errorf("schema %d, shuffled: %v; proven: %v", resumed.Run.Schema, resumed.Run.Plan.Shuffled, resumed.Proven())
	}
	if read, err := store.Read(d.Path); err != nil || !read.Done(1) {
		t.Errorf("after that it is read with %v", err)
	}
}

// A run that decided itself how many blocks it takes lacks nothing of the blocks after its last.
func TestMissingOfEnded(t *testing.T) {
	d := create(t)
	d.Run.Plan.Repeats = 0 // up to 40 blocks of 2 settings
	d.Run.Plan.Subject = dyno.Subject{Package: "."}
	d.Run.Plan.Profile = []string{"cpu"}
	d.Run.Plan.ProfileRepeats = 1
	for _, n := range []int{1, 2, 3, 4} {
		r := result(n)
		if n == 2 {
			r.Err = "it did not start"
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.Missing()); n != 79 {
		t.Errorf("while it goes on %d are missing, want all but 3 of 82", n)
	}
	if err := d.SetEnded(dyno.EndedDecided); err != nil {
		t.Fatal(err)
	}
	again, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Missing(); !slices.Equal(got, []int{2, 81, 82}) {
		t.Errorf("after its end %v are missing, want the failed one and the profiles", got)
	}
}

// What a trial that is done is measured again for stays beside the old until it is whole.
func TestAgain(t *testing.T) {
	d, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: plan()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	content := func() string {
		text, _ := os.ReadFile(d.TrialFile(1, "heap.pprof"))
		return string(text)
	}
	for _, text := range []string{"first", "second"} {
		dir, err := d.TrialDir(1)
		if err != nil {
			t.Fatal(err)
		}
		before := content()
		if err := os.WriteFile(filepath.Join(dir, "heap.pprof"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if text == "second" && (before != "first" || content() != "first") {
			t.Errorf("during the second attempt: %q, %q", before, content())
		}
		if err := d.Add(&dyno.Result{Trial: dyno.Trial{N: 1}}); err != nil {
			t.Fatal(err)
		}
		if content() != text {
			t.Errorf("%q, want %q", content(), text)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(d.Path, "trials")); err != nil || len(entries) != 1 {
		t.Errorf("%v, error %v", entries, err)
	}
}

// Who packs a run directory cannot make it look like one of this user's, nor change the plan of one.
func TestProven(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	path := filepath.Join(t.TempDir(), "run")
	d, err := store.Create(path, store.Run{Plan: &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Args: []string{`"proof": "`}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.SetAlone("why"), d.Close()); err != nil {
		t.Fatal(err)
	}
	proven := func(want string) {
		t.Helper()
		d, err := store.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Proven()); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	proven("<nil>")
	if info, err := os.Stat(filepath.Join(home, "dyno", "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	file := filepath.Join(path, "run.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(file, bytes.Replace(text, []byte("/bin/true"), []byte("/bin/evil"), 1), 0o666)
	proven("changed since")
	os.WriteFile(file, text, 0o666)
	proven("<nil>")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // another user's
	proven("changed since")
	if d, err = store.Resume(path); err != nil { // the user says that it is theirs
		t.Fatal(err)
	}
	d.Close()
	proven("<nil>")
	os.Chmod(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "dyno", "key"), 0o644) // others could have read it
	proven("only the user can read")
	t.Setenv("XDG_CONFIG_HOME", "/dev/null") // there is none
	if d, err = store.Resume(path); err != nil {
		t.Fatal(err)
	}
	d.Close()
	proven("no proof")
}

// A line of results without an end is refused before it fills the memory, and one that a crash cut
// off is left out.
func TestResultLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	d, err := store.Create(path, store.Run{Plan: &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true"}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	file := filepath.Join(path, "results.jsonl")
	for text, want := range map[string]string{
		`{"trial":1}` + "\n" + `{"tri`:                     "[1] [results.jsonl: its last line was cut off and is left out] <nil>",
		`{"trial":1}` + "\n{\n":                            "[1] [results.jsonl: its last line was cut off and is left out] <nil>",
		`{"trial":1}` + "\n" + `{"trial":2}`:               "[1] [results.jsonl: its last line was cut off and is left out] <nil>",
		"{\n" + `{"trial":1}` + "\n":                       "line 1: unexpected end of JSON input (consider: delete this line",
		`{"trial":1}` + "\n" + `{"trial":3}` + "\n":        "[1 3] [] <nil>",
		strings.Repeat(" ", 33<<20) + `{"trial":1}` + "\n": "line 1: is longer than",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := store.Read(path)
		got := fmt.Sprint(err)
		if err == nil {
			var ns []int
			for _, r := range d.Brief() {
				ns = append(ns, r.Trial.N)
			}
			got = fmt.Sprint(ns, d.Notes(), err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

// Nothing that looks like a credential is in a run directory, whose files are the user's alone; a run
// goes on with it all the same.
func TestSecrets(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const header, cookie, env, user, param, flag = "eyJhbGciOiJI.header", "id=cookie1234; a=b", "env+\"<secret>&", "p4ssw0rd", "query-5ecret", "flag5ecret"
	step := dyno.Step{
		Path: "/a?x=1&access_token=" + param, Expect: []int{200},
		Headers: map[string]string{"Authorization": "Bearer " + header, "Cookie": cookie, "X-Trace": "visible", "X-Auth-Token": "{{.token}}"},
		Capture: map[string]string{"token": ".body.token"},
	}
	e := &dyno.Experiment{
		Name: "x", Repeats: 2, Factors: dyno.Factors{{Name: "API_TOKEN", Levels: []string{"level-one", "level-two"}}},
		Subject: dyno.Subject{
			Binary: "/bin/true", Dir: "/", Args: []string{"-db", "postgres://me:" + user + "@db/x", "--api-key", flag, "-tokens", "100000"},
			Env: map[string]string{"DB_PASSWORD": env, "MAX_TOKENS": "1000000", "PWD_SHORT": "abc"},
		},
		Load: dyno.Load{Requests: 10, Client: dyno.Client{Loop: []dyno.Step{step}}},
	}
	if short := store.Unhidden(e); !slices.Equal(short, []string{"PWD_SHORT"}) {
		t.Errorf("too short to be hidden are %q", short)
	}
	path := filepath.Join(t.TempDir(), "run")
	d, err := store.Create(path, store.Run{Plan: e, Command: []string{"dyno", "run", "-H", "Authorization: Bearer " + header, "--env", "DB_PASSWORD=" + env}})
	if err != nil {
		t.Fatal(err)
	}
	err = d.WriteRequests(1, func(yield func(dyno.Request, error) bool) { yield(dyno.Request{Step: step.Label()}, nil) })
	r := &dyno.Result{Trial: e.Trials()[0], Failures: map[string]int{step.Label() + ": status 500": 1}, Err: "Get http://me:" + user + "@db: no"}
	if err := errors.Join(err, d.Add(r), d.Close()); err != nil {
		t.Fatal(err)
	}
	hidden := func(where, text string) {
		t.Helper()
		for _, secret := range []string{header, "cookie1234", "secret>", user, param, flag} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s: %s", where, secret, text)
			}
		}
	}
	err = filepath.WalkDir(path, func(name string, f fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := f.Info()
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[f.IsDir()]; err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if !f.IsDir() {
			text, _ := os.ReadFile(name)
			hidden(name, string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hidden("the result for reports", fmt.Sprintf("%+v", d.Results()[0]))
	hidden("the plan for reports", fmt.Sprintf("%+v", d.Run.Plan))

	if d, err = store.Resume(path); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Proven(); err != nil {
		t.Error(err)
	}
	for _, r := range d.Results() {
		if r.Trial.Setting.String() != e.Trials()[0].Setting.String() || r.Failures["GET /a?x=1&access_token=redacted~ACCESS_TOKEN~: status 500"] != 1 {
			t.Errorf("the result is %+v", r)
		}
	}
	values := map[string]string{"AUTHORIZATION": header, "COOKIE": cookie, "DB_PASSWORD": env, "PASSWORD": user, "ACCESS_TOKEN": param, "API_KEY": flag}
	if names := d.Hidden(); len(names) != len(values) {
		t.Errorf("hidden are %v", names)
	}
	again, err := d.Reveal(values)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(e)
	if got, _ := json.Marshal(again); string(got) != string(want) {
		t.Errorf("the plan to go on with:\n%s, want\n%s", got, want)
	}
	if err := d.Add(r); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(path, "results.jsonl"))
	hidden("a later result", string(text))
	if !reflect.DeepEqual(store.Redacted(e), d.Run.Plan) || !reflect.DeepEqual(store.Redacted(d.Run.Plan), d.Run.Plan) {
		t.Errorf("a redacted plan is not that of the run directory:\n%+v\n%+v\n%+v", store.Redacted(e), d.Run.Plan, store.Redacted(d.Run.Plan))
	}
}

// Results outlive their directory: renamed or removed while the run goes on, it is made again with all
// that is known, and the run is told.
func TestRescue(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(d *store.Dir) error
		want int // results in the directory
	}{
		"renamed": {func(d *store.Dir) error { return os.Rename(d.Path, d.Path+"-away") }, 3},
		"removed": {func(d *store.Dir) error { return os.RemoveAll(d.Path) }, 3},
		"another's": {func(d *store.Dir) error {
			if err := os.Rename(d.Path, d.Path+"-away"); err != nil {
				return err
			}
			other, err := store.Create(d.Path, store.Run{Dyno: "test", Plan: plan()})
			if err != nil {
				return err
			}
			return other.Close()
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := create(t)
			for n := 1; n <= 2; n++ {
				if err := errors.Join(d.Rescue(), d.Add(result(n))); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.lose(d); err != nil {
				t.Fatal(err)
			}
			if err := d.Add(result(3)); !errors.Is(err, store.ErrLost) {
				t.Errorf("the third trial: %v", err)
			}
			if _, err := d.TrialDir(4); !errors.Is(err, store.ErrLost) || !errors.Is(d.Rescue(), store.ErrLost) {
				t.Errorf("a fourth trial: %v", err)
			}
			if rs := d.Results(); len(rs) != 3 {
				t.Errorf("%d results are known", len(rs))
			}
			r, err := store.Read(d.Path)
			if err != nil {
				t.Fatal(err)
			}
			if rs := r.Results(); len(rs) != c.want || len(rs) > 0 && rs[0].Latency.Quantile(1) != result(1).Latency.Quantile(1) {
				t.Errorf("%d results are there", len(rs))
			}
		})
	}
}

// A directory that cannot be made again at once, as while a removal goes on, is made again later.
func TestRescueLater(t *testing.T) {
	d := create(t)
	if err := d.Add(result(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(d.Path); err != nil {
		t.Fatal(err)
	}
	// Half of the way: the directory is there, and results.jsonl cannot be opened.
	away := filepath.Join(t.TempDir(), "no", "results.jsonl")
	if err := errors.Join(os.Mkdir(d.Path, 0o700), os.Symlink(away, filepath.Join(d.Path, "results.jsonl"))); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(result(2)); !errors.Is(err, store.ErrLost) {
		t.Errorf("the second trial: %v", err)
	}
	if err := os.RemoveAll(d.Path); err != nil {
		t.Fatal(err)
	}
	if err := d.Rescue(); !errors.Is(err, store.ErrLost) {
		t.Errorf("made again: %v", err)
	}
	r, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if rs := r.Results(); len(rs) != 2 {
		t.Errorf("%d results are there", len(rs))
	}
	if err := os.Remove(filepath.Join(d.Path, "run.json")); err != nil { // the removal's last
		t.Fatal(err)
	}
	d.Rescue()
	if _, err := store.Read(d.Path); err != nil {
		t.Error(err)
	}
}

// The numbers of trials of a run that an older dyno began stay what they were.
func TestFormerTraces(t *testing.T) {
	e := &dyno.Experiment{Subject: dyno.Subject{Package: "."}, Repeats: 1, WhySlow: true, Memory: new(bool), Load: dyno.Load{Duration: dyno.Duration(time.Minute)}}
	all := e.Resolved()
	d, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: &all})
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Path, "run.json")
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := regexp.MustCompile(`(?m)^.*"trace_repeat".*\n`).ReplaceAllString(string(now), "")
	if before == string(now) {
		t.Fatalf("run.json has no trace_repeat:\n%s", now)
	}
	for text, want := range map[string]int{string(now): dyno.WhySlowBlocks, before: 6} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		read, err := store.Read(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		trials := read.Run.Plan.Trials()
		last := trials[len(trials)-1]
		if len(trials) != 1+want || want == 6 && last.Trace != dyno.Duration(10*time.Second) {
			t.Errorf("%d trials, the last with a trace of %v; want %d with traces", len(trials), last.Trace, want)
		}
	}
}
