package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/tune"
)

func aPlan() *dyno.Experiment {
	return &dyno.Experiment{
		Name: "x", Within: dyno.Duration(10 * time.Minute), Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}}, Load: dyno.Load{Concurrency: 1, Requests: 20},
	}
}

// asking is a campaign with a record in a new directory.
func asking(t *testing.T, steps ...string) *Campaign {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	r := &store.Record{Question: "pair", Plan: aPlan()}
	if err := r.Create(filepath.Join(t.TempDir(), "c")); err != nil {
		t.Fatal(err)
	}
	for _, name := range steps {
		if err := r.Add(store.Step{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return &Campaign{Stderr: io.Discard, Version: "test", record: r, known: len(steps)}
}

// Only one session at a time has the directory of a campaign, from before its build to its end.
func TestEnter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	first, second := &Campaign{}, &Campaign{}
	r := &store.Record{Question: "pair", Plan: aPlan()}
	_, leave, err := first.enter(r, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.enter(&store.Record{Question: "pair", Plan: aPlan()}, dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a new one beside it: %v", err)
	}
	if err := r.Create(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	other, err := store.ReadRecord("c", "pair")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.enter(other, ""); !errors.Is(err, store.ErrLocked) {
		t.Errorf("resumed beside it: %v", err)
	}
	if err := r.Add(store.Step{Name: "1"}); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, leave, err = second.enter(other, ""); err != nil || second.known != 1 || other.Dir() != dir { // what was done since it was read
		t.Fatalf("%v, %d steps", err, second.known)
	}
	leave()

	empty := filepath.Join(t.TempDir(), "empty")
	if _, leave, err = first.enter(&store.Record{Question: "pair"}, empty); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := os.Stat(empty); err == nil {
		t.Error("a directory without a record stays")
	}
}

// An answer that could not be written is not the last.
func TestConcludeUnwritten(t *testing.T) {
	c := asking(t)
	if err := os.MkdirAll(filepath.Join(c.record.Dir(), "pair.json", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.conclude(&pair{}, nil); err == nil || c.record.Done {
		t.Errorf("%v, done: %v", err, c.record.Done)
	}
	c = asking(t)
	if err := c.conclude(&pair{}, nil); err != nil || !c.record.Done {
		t.Errorf("%v, done: %v", err, c.record.Done)
	}
}

// A session that ends without all steps of the one before has no answer, even if nothing failed.
func TestLacks(t *testing.T) {
	c := asking(t, "1", "2")
	c.answered = 1
	if err := c.lacks(nil); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "its step 2 was 2, and is not asked for") {
		t.Error(err)
	}
	if err := c.lacks(errCut); err != errCut {
		t.Error(err)
	}
	c.answered = 2
	if err := c.lacks(errCut); err != nil {
		t.Error(err)
	}
}

// Another program is not measured beside the first; another dyno is noted.
func TestKeepRecord(t *testing.T) {
	sum := "a"
	var said strings.Builder
	c := &Campaign{Stderr: &said, Version: "v1", record: &store.Record{Question: "pair", Plan: aPlan()}, hands: &lab.Lab{}}
	c.hands.Sum = func(context.Context, dyno.Subject) (string, error) { return sum, nil }
	dir := filepath.Join(t.TempDir(), "c")
	keep := func() error { return c.keepRecord(t.Context(), dir, aPlan()) }
	if err := errors.Join(keep(), keep()); err != nil || said.Len() > 0 {
		t.Errorf("%v %s", err, &said)
	}
	c.Version = "v2"
	if err := keep(); err != nil || !strings.Contains(said.String(), "was begun by dyno v1, and is resumed by v2") {
		t.Errorf("%v %s", err, &said)
	}
	sum = "b"
	if err := keep(); err == nil || !strings.Contains(err.Error(), "the program is not the one that was measured") {
		t.Error(err)
	}
	c.record.Sum = "" // of a dyno of before
	if err := keep(); err != nil {
		t.Error(err)
	}
}

// A step that was cut off goes on in the way in which it began, for the rest of its time.
func TestStepDir(t *testing.T) {
	c := asking(t)
	path := filepath.Join(c.record.Dir(), "1")
	if err := os.MkdirAll(filepath.Join(path, "trials"), 0o700); err != nil { // as after a kill
		t.Fatal(err)
	}
	r := &Run{Plan: aPlan(), Path: path}
	dir, earlier, err := c.stepDir(r)
	if err != nil || earlier != 0 || r.Plan.Within != aPlan().Within {
		t.Fatalf("%v, %v, %v", err, earlier, r.Plan.Within)
	}
	for i, trial := range dir.Run.Plan.Trials()[:4] {
		if err := dir.Add(&dyno.Result{Trial: trial, Start: dir.Run.Started.Add(time.Duration(i) * 20 * time.Second), Elapsed: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(dir.SetAlone("no room"), dir.Close()); err != nil {
		t.Fatal(err)
	}
	r = &Run{Plan: aPlan(), Path: path}
	dir, earlier, err = c.stepDir(r)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if want := 70 * time.Second; earlier.Round(time.Second) != want || time.Duration(r.Plan.Within).Round(time.Second) != 10*time.Minute-want || !r.Plan.Alone {
		t.Errorf("%v before, %v left, alone: %v", earlier, r.Plan.Within, r.Plan.Alone)
	}
	if dir.Run.Plan.Within != aPlan().Within {
		t.Errorf("run.json has %v", dir.Run.Plan.Within)
	}
}

// What sessions took does not have the time between them, and has trials side by side once.
func TestWorked(t *testing.T) {
	began := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	at := func(start, length time.Duration) *dyno.Result {
		return &dyno.Result{Start: began.Add(start), Elapsed: length}
	}
	for _, x := range []struct {
		rs   []*dyno.Result
		want time.Duration
	}{
		{nil, 0},
		{[]*dyno.Result{at(time.Second, 10*time.Second)}, 11 * time.Second},
		{[]*dyno.Result{at(2*time.Second, 10*time.Second), at(time.Second, 10*time.Second)}, 12 * time.Second},
		{[]*dyno.Result{at(time.Second, 10*time.Second), at(time.Second, time.Second)}, 11 * time.Second},
		{[]*dyno.Result{at(time.Second, 10*time.Second), at(time.Hour, 10*time.Second)}, 11*time.Second + 30*time.Second + 10*time.Second},
	} {
		if got := worked(began, x.rs, 30*time.Second); got != x.want {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}

// The directory of a search has its record first, and goes on from there.
func TestSearchDirectory(t *testing.T) {
	c := asking(t)
	path := c.record.Dir()
	s := &Search{Campaign: c, Plan: aPlan(), Settings: aPlan().Levels(), Path: path}
	s.Problem.From = 100
	for range 2 { // made, and resumed before its first step
		dir, err := s.directory()
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.ReadRecord(path, "pair"); err != nil {
		t.Error(err)
	}
}

// What a directory lost is said of every run that is resumed.
func TestInto(t *testing.T) {
	c := asking(t)
	path := filepath.Join(c.record.Dir(), "1")
	dir, err := c.Create(&Run{Plan: aPlan(), Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.Add(&dyno.Result{Trial: dir.Run.Plan.Trials()[0]}), dir.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(path, "results.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"tri`)
	f.Close()
	if dir, err = store.Resume(path); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var said strings.Builder
	c.Stderr, c.hands = &said, &lab.Lab{}
	unkept, told := c.into(dir, func(since string) { fmt.Fprint(&said, since) }), "after trial 1"
	if c.hands.Awake(told); unkept() != nil || dir.Run.Awake != told || !strings.Contains(said.String(), "was cut off") || !strings.Contains(said.String(), told) {
		t.Errorf("%v, %q\n%s", unkept(), dir.Run.Awake, &said)
	}
}

// A campaign that was moved goes on, though its settings name a file in it.
func TestMoved(t *testing.T) {
	c := asking(t)
	old := c.record.Dir()
	plan := func(dir string) *dyno.Experiment {
		e := aPlan()
		e.Subject, e.Factors = dyno.Subject{Package: "/src/x", Dir: "/"}, nil
		e.Settings = []dyno.Setting{{{Factor: "GOGC", Value: "100"}}, {{Factor: "GOGC", Value: "100"}, {Factor: "build", Value: "-pgo=" + dir + "/default.pgo"}}}
		return e
	}
	dir, err := c.Create(&Run{Plan: plan(old), Path: filepath.Join(old, "1")})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range dir.Run.Plan.Trials()[:2] {
		if err := dir.Add(&dyno.Result{Trial: trial}); err != nil {
			t.Fatal(err)
		}
	}
	dir.Close()
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	if c.record, err = store.ReadRecord(moved, "pair"); err != nil {
		t.Fatal(err)
	}
	want := plan(moved)
	check := func(dir *store.Dir) {
		t.Helper()
		for i, s := range want.Settings {
			if dir.Run.Settings[i] != s.String() || dir.Run.Plan.Levels()[i].String() != s.String() {
				t.Errorf("%s, %s, want %s", dir.Run.Settings[i], dir.Run.Plan.Levels()[i], s)
			}
		}
		for _, r := range dir.Brief() {
			if name := r.Trial.Setting.String(); strings.Contains(name, old) {
				t.Error(name)
			}
		}
	}
	f, err := c.readStep(filepath.Join(moved, "1"), want) // which is done
	if err != nil {
		t.Fatal(err)
	}
	check(f.Dir)
	dir, _, err = c.stepDir(&Run{Plan: want, Path: filepath.Join(moved, "1")}) // which was cut off
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
	if dir, err = store.Read(filepath.Join(moved, "1")); err != nil {
		t.Fatal(err)
	}
	check(dir)

	other := plan(moved)
	other.Settings[0][0].Value = "50"
	if _, err := c.readStep(filepath.Join(moved, "1"), other); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

// The patch of an earlier session does not stay beside an answer that recommends nothing.
func TestPatchRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "patch", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&Tuning{Dir: dir}).patch(&tuned.Report{Outcome: &tune.Outcome{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "patch")); err == nil {
		t.Error("the patch stays")
	}
}

// A run that is resumed stays on its node; its run.json goes on to name none, as its plan does.
func TestResumedNode(t *testing.T) {
	plan := aPlan()
	plan.Subject = dyno.Subject{Image: "shop:1"}
	plan.On.Kubernetes = &dyno.Kubernetes{Namespace: "perf"}
	dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Add(&dyno.Result{Trial: plan.Trials()[0], Node: &dyno.Machine{Name: "node-2"}}); err != nil {
		t.Fatal(err)
	}
	got, err := asking(t).Resumed(dir)
	if err != nil || len(got.On.Kubernetes.Nodes) != 1 || got.On.Kubernetes.Nodes[0] != "node-2" {
		t.Errorf("%v, %+v", err, got.On.Kubernetes)
	}
	if nodes := dir.Run.Plan.On.Kubernetes.Nodes; len(nodes) > 0 {
		t.Errorf("the stored plan names %q", nodes)
	}
}
