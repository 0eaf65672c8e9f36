package findings

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

// The sources of two revisions are those that were built, with -trimpath and without, after their worktrees are gone; what the
// working tree has now is neither.
func TestSourcesOfRevisions(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		trees := t.TempDir()
		e := &dyno.Experiment{
			Name: "revisions", Repeats: 1, Profile: []string{"cpu"}, ProfileRepeats: 1,
			Subject: dyno.Subject{Package: filepath.Join(trees, "working")},
			Factors: dyno.Factors{{Name: "rev", Levels: []string{"old", "new"}}},
		}
		dir, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e})
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range e.Trials() {
			if trial.For != dyno.ForProfile {
				continue
			}
			file := filepath.Join(trees, trial.Setting[0].Value, "main.go")
			if trimmed {
				file = "example.org/x/main.go"
			}
			at, err := dir.TrialDir(trial.N)
			if err != nil {
				t.Fatal(err)
			}
			writeProfile(t, filepath.Join(at, "cpu.pb.gz"), file)
			if err := dir.Add(&dyno.Result{Trial: trial, Start: time.Unix(1700000000, 0), Elapsed: time.Second, Sent: dyno.Sent{Requests: 10}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"old", "new", "working"} {
			if err := os.MkdirAll(filepath.Join(trees, name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(trees, name, "main.go"), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := KeepOfService(dir, func(setting string) map[string]string {
			return map[string]string{"example.org/x": filepath.Join(trees, levelOf(dir, setting)[0].Value)}
		}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(trees, "old")), os.RemoveAll(filepath.Join(trees, "new"))); err != nil {
			t.Fatal(err)
		}

		run, err := ReadProfiles(dir, dir.Results())
		if err != nil {
			t.Fatal(err)
		}
		ps, err := run.Profiles("cpu", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Levels() {
			ls := ps.List(regexp.MustCompile("main"), s.String(), false, "")
			if len(ls) != 1 {
				t.Fatalf("trimmed %v, %s: %d listings", trimmed, s, len(ls))
			}
			text, losses := ReadSources(dir, run, ls, "cpu", s.String())
			if got := text[ls[0].File]; len(losses) > 0 || len(got) != 1 || got[0] != s[0].Value {
				t.Errorf("trimmed %v, %s: the source is %q, lost %v", trimmed, s, got, losses)
			}
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeProfile writes a CPU profile of main.main in a file.
func writeProfile(t *testing.T, path, file string) {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.main", Filename: file, StartLine: 1}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{100, 1e9}}}, DurationNanos: 1e9,
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Write(out), out.Close()); err != nil {
		t.Fatal(err)
	}
}
