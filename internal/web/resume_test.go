//go:build unix

package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/store"
)

func post(f func(http.ResponseWriter, *http.Request, *store.Dir) error, dir *store.Dir) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	orText(func(w http.ResponseWriter, r *http.Request) error { return f(w, r, dir) })(w, httptest.NewRequest(http.MethodPost, "/runs/a/x", nil))
	return w
}

// Only one run of the folder is gone on with at a time, whoever began the others.
func TestResume(t *testing.T) {
	root := t.TempDir()
	create := func(name string) *store.Dir {
		e := &dyno.Experiment{Name: name, Repeats: 1, Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}}
		here, _ := os.Hostname()
		dir, err := store.Create(filepath.Join(root, name), store.Run{Plan: e, Started: time.Now(), Host: store.Host{Name: here}})
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b := create("a"), create("demo/b")
	a.Close()
	s := &Site{Root: root}
	refused := func(dir *store.Dir, code int, want string) {
		t.Helper()
		if w := post(s.resume, dir); w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s, want %d %s", w.Code, w.Body, code, want)
		}
	}

	var resumed []string
	var held *store.Dir
	var done chan struct{}
	s.Resume = func(path string) (func(), <-chan struct{}, error) {
		resumed = append(resumed, path)
		var err error
		if held, err = store.Resume(path); err != nil {
			return nil, nil, err
		}
		done = make(chan struct{})
		return func() { held.Close(); close(done) }, done, nil
	}
	refused(a, http.StatusConflict, "the run b is under way, and two at once")
	refused(b, http.StatusConflict, "this run is under way already")
	b.Close()

	if w := post(s.resume, a); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./" || len(resumed) != 1 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, resumed)
	}
	refused(a, http.StatusConflict, "this run is under way already")
	refused(b, http.StatusConflict, "the run a is under way")
	if w := post(s.stop, a); w.Code != http.StatusSeeOther {
		t.Errorf("stop: %d %s", w.Code, w.Body)
	}
	<-done
	if w := post(s.stop, a); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "no longer being measured") {
		t.Errorf("stop again: %d %s", w.Code, w.Body)
	}

	// One that ends at once tells why.
	s.Resume = func(path string) (func(), <-chan struct{}, error) {
		os.WriteFile(filepath.Join(path, ResumeLog), []byte("dyno run: build ./cmd/server: no such directory\n"), 0o666)
		done := make(chan struct{})
		close(done)
		return func() {}, done, nil
	}
	refused(a, http.StatusInternalServerError, "it ended at once: dyno run: build ./cmd/server: no such directory")
	s.Resume = func(string) (func(), <-chan struct{}, error) { return nil, nil, errors.New("no fork") }
	refused(a, http.StatusInternalServerError, "no fork")

	again, err := store.Resume(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Add(&dyno.Result{Trial: again.Run.Plan.Trials()[0]}); err != nil {
		t.Fatal(err)
	}
	again.Close()
	refused(again, http.StatusConflict, "all trials of this run are done")
}

// A run that somebody else may have made is not gone on with at a click: its plan
// starts their programs.
func TestResumeForeign(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		host  string
		spoil func(path string) error
		want  string
	}{
		"another machine":    {host: here + "2", want: "it was started on"},
		"packed by somebody": {host: here, spoil: func(p string) error { return edit(p, `"proof": "`, `"proof": "0`) }, want: "not written by your dyno"},
		"with another plan":  {host: here, spoil: func(p string) error { return edit(p, "/bin/true", "/bin/evil") }, want: "not written by your dyno"},
		"with two proofs":    {host: here, spoil: func(p string) error { return edit(p, "{", `{"proof": "`+strings.Repeat("0", 64)+`",`) }, want: "not written by your dyno"},
		"without a proof":    {host: here, spoil: func(p string) error { return edit(p, `"proof"`, `"poof"`) }, want: "no proof"},
		"for all to write":   {host: here, spoil: func(p string) error { return os.Chmod(p, 0o777) }, want: "other users may write"},
		"a plan for all":     {host: here, spoil: func(p string) error { return os.Chmod(filepath.Join(p, "run.json"), 0o666) }, want: "other users may write"},
		"another user's":     {host: here, spoil: func(p string) error { return os.Lchown(filepath.Join(p, "run.json"), os.Getuid()+1, -1) }, want: "another user's"},
		"what dyno run made": {host: here, want: ""},
	} {
		root := t.TempDir()
		e := &dyno.Experiment{Name: "a", Repeats: 1, Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}}
		dir, err := store.Create(filepath.Join(root, "a"), store.Run{Plan: e, Host: store.Host{Name: x.host}})
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		if x.spoil != nil && x.spoil(dir.Path) != nil {
			continue // only root gives files away
		}
		resumed := false
		s := &Site{Root: root, Resume: func(string) (func(), <-chan struct{}, error) {
			resumed = true
			return nil, nil, errors.New("it was asked to")
		}}
		if dir, err = store.Read(dir.Path); err != nil {
			t.Fatal(err)
		}
		w := post(s.resume, dir)
		if refused := w.Code == http.StatusForbidden; refused != (x.want != "") || resumed == refused || !strings.Contains(w.Body.String(), x.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// edit changes a part of run.json.
func edit(path, old, with string) error {
	name := filepath.Join(path, "run.json")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(text), old, with, 1)), 0o666)
	}
	return err
}

// This process holds the lock, and is not to interrupt itself.
func TestStopSelf(t *testing.T) {
	dir := growing(t)
	w := post((&Site{Root: filepath.Dir(dir.Path)}).stop, dir)
	want := http.StatusNotImplemented
	if runtime.GOOS == "linux" {
		want = http.StatusConflict
	}
	if w.Code != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
