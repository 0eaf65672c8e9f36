package store

import (
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
