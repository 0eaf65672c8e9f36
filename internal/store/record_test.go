package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// A record has no secrets, and goes on with them.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	r := &Record{Question: "tune", Flags: map[string][]string{"goal": {"min cpu_per_req"}}, Plan: &dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/", Env: map[string]string{"API_TOKEN": "s3cretvalue"}},
	}}
	if err := r.Create(dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(Step{Name: "1-today", Took: 1.5, Seen: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, RecordFile))
	if err != nil || strings.Contains(string(text), "s3cretvalue") {
		t.Fatalf("%v\n%s", err, text)
	}

	got, err := ReadRecord(dir, "tune")
	if err != nil {
		t.Fatal(err)
	}
	hidden := got.Hidden()
	if len(got.Steps) != 1 || got.Steps[0].Took != 1.5 || got.Flags["goal"][0] != "min cpu_per_req" || got.Dir() != dir || len(hidden) != 1 {
		t.Errorf("%+v, hidden %q", got, hidden)
	}
	// The user gives other values than the first session had: one that is too short to be found everywhere, and one that no form of a
	// credential matches.
	for _, value := range []string{"pw1", "new/p@ss:word"} {
		e, err := got.Reveal(map[string]string{hidden[0]: value})
		if err != nil || e.Subject.Env["API_TOKEN"] != value {
			t.Errorf("%v, %v", err, e.Subject.Env)
		}
		if err := got.Add(Step{Name: "2-candidates"}); err != nil {
			t.Fatal(err)
		}
		if text, err = os.ReadFile(filepath.Join(dir, RecordFile)); err != nil || strings.Contains(string(text), value) || !strings.Contains(string(text), "2-candidates") {
			t.Errorf("%v\n%s", err, text)
		}
	}
	got.Answer = "the answer has new/p@ss:word"
	if err := got.Add(Step{Name: "3-more"}); err != nil {
		t.Fatal(err)
	}
	if text, _ = os.ReadFile(filepath.Join(dir, RecordFile)); strings.Contains(string(text), "word") {
		t.Errorf("%s", text)
	}

	for wrong, want := range map[string]string{dir: "is of dyno tune (consider: dyno tune --resume", t.TempDir(): "is not the directory of a campaign"} {
		if _, err := ReadRecord(wrong, "capacity"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What is in the way of a new run names what resumes it, if anything does.
func TestFree(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	d, err := Create(run, Run{Plan: &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	r := &Record{Question: "tune", Plan: d.Run.Plan}
	if err := r.Create(filepath.Join(dir, "t")); err != nil {
		t.Fatal(err)
	}
	for _, x := range [][3]string{
		{run, "--resume", "(consider: --resume " + run + ", or another --out)"},
		{run, "", "(consider: another --out)"},
		{r.Dir(), "", "(consider: dyno tune --resume " + r.Dir() + ", or another --out)"},
		{dir, "--resume", "is not empty (consider: another --out)"},
	} {
		if err := Free(x[0], x[1]); err == nil || !strings.Contains(err.Error(), x[2]) {
			t.Errorf("%v, want %s", err, x[2])
		}
	}
}

// A step of a campaign is resumed by the campaign, which its errors say.
func TestCampaignOf(t *testing.T) {
	r := &Record{Question: "tune", Plan: &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}}}
	if err := r.Create(filepath.Join(t.TempDir(), "t")); err != nil {
		t.Fatal(err)
	}
	d, err := Create(filepath.Join(r.Dir(), "1-today"), Run{Plan: r.Plan})
	if err != nil {
		t.Fatal(err)
	}
	d.Close() // so that nothing can be added
	want := "tune --resume " + r.Dir()
	if err := d.Add(&dyno.Result{Trial: r.Plan.Trials()[0]}); err == nil || !strings.Contains(err.Error(), "consider: dyno "+want+")") {
		t.Error(err)
	}
	for path, want := range map[string]string{d.Path: want, r.Dir(): want, filepath.Dir(r.Dir()): "", t.TempDir(): ""} {
		if _, resume := CampaignOf(path); resume != want {
			t.Errorf("%s: %q, want %q", path, resume, want)
		}
	}
}

// What a run left that was killed before it had a plan is removed, but no results.
func TestBegun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if begun, err := Begun(path); begun || err != nil {
		t.Error(begun, err)
	}
	results := filepath.Join(path, resultsFile)
	for _, text := range []string{"", "{}\n"} {
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(results, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := Begun(path)
		if _, gone := os.Stat(path); (err == nil) != (text == "") || errors.Is(gone, fs.ErrNotExist) != (text == "") {
			t.Errorf("with results %q: %v, %v", text, err, gone)
		}
	}
}

// Values that were given are hidden whatever they look like.
func TestMakeGiven(t *testing.T) {
	e := &dyno.Experiment{Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/", Env: map[string]string{"DB": "postgres://me:new/p@ss:word@db/x"}}}
	d, err := Make(filepath.Join(t.TempDir(), "run"), Run{Plan: e}, map[string]string{"PASSWORD": "new/p@ss:word"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := d.Run.Plan.Subject.Env["DB"]; got != "postgres://me:redacted~PASSWORD~@db/x" {
		t.Error(got)
	}
}

// A directory of the user's stays, though nothing was asked in it; one that was made for the record goes.
func TestClaimLeaves(t *testing.T) {
	own := t.TempDir()
	for dir, stays := range map[string]bool{own: true, filepath.Join(own, "made"): false} {
		leave, err := new(Record).Claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, want that it stays: %v", dir, err, stays)
		}
	}
}
