package findings

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// The head of a run's JSON has the plan without credentials, says when the last trial ended, and whether all were made. It is the same
// when the directory is read again.
func TestHead(t *testing.T) {
	const secret = "4f0c2a9be1d7"
	e := &dyno.Experiment{
		Name: "svc", Subject: dyno.Subject{Package: "./svc"}, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}, Repeats: 1,
		Load: dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/", Headers: map[string]string{"Authorization": "Bearer " + secret}}}}},
	}
	path := filepath.Join(t.TempDir(), "run")
	began := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	dir, err := store.Create(path, store.Run{Dyno: "v1", Started: began, Plan: e, Settings: []string{"GOGC=100", "GOGC=50"}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(dir *store.Dir) *Findings {
		f, err := Read(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for i, trial := range e.Trials() {
		h := read(dir).Head()
		if made := began.Add(time.Duration(i) * 3 * time.Second); h.Dyno != "v1" || !h.Made.Equal(made) || !h.Interrupted {
			t.Errorf("after %d trials: %s, %v, interrupted %v; want v1, %v, true", i, h.Dyno, h.Made, h.Interrupted, made)
		}
		r := &dyno.Result{Trial: trial, Start: began.Add(time.Duration(i)*3*time.Second + time.Second), Elapsed: 2 * time.Second, Values: dyno.Values{{Metric: "p50-sec", Value: 1}}}
		if err := dir.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	live := read(dir).Head()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	saved := read(again).Head()
	text, _ := json.Marshal(live)
	if other, _ := json.Marshal(saved); live.Interrupted || string(text) != string(other) {
		t.Errorf("read again: %s, want %s", other, text)
	}
	if plan, _ := json.Marshal(live.Plan); strings.Contains(string(plan), secret) || !strings.Contains(string(plan), "redacted~") {
		t.Errorf("the plan: %s", plan)
	}
}
