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

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/store"
)

func post(f func(http.ResponseWriter, *http.Request, *store.Dir), dir *store.Dir) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f(w, httptest.NewRequest(http.MethodPost, "/runs/a/x", nil), dir)
	return w
}

// Only one run of the folder is gone on with at a time, whoever began the others.
func TestResume(t *testing.T) {
	root := t.TempDir()
	create := func(name string) *store.Dir {
		e := &dyno.Experiment{Name: name, Repeats: 1, Subject: dyno.Subject{Binary: "/bin/true", Dir: "/"}}
		dir, err := store.Create(filepath.Join(root, name), store.Run{Plan: e})
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
	refused(a, http.StatusNotImplemented, "dyno run --resume")

	var resumed []string
	var held *store.Dir
	var done chan struct{}
	s.Hands.Resume = func(path string) (func(), <-chan struct{}, error) {
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
	if w := post(s.stop, a); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "nobody measures") {
		t.Errorf("stop again: %d %s", w.Code, w.Body)
	}

	// One that ends at once tells why.
	s.Hands.Resume = func(path string) (func(), <-chan struct{}, error) {
		os.WriteFile(filepath.Join(path, ResumeLog), []byte("dyno run: build ./cmd/server: no such directory\n"), 0o666)
		done := make(chan struct{})
		close(done)
		return func() {}, done, nil
	}
	refused(a, http.StatusInternalServerError, "it ended at once: dyno run: build ./cmd/server: no such directory")
	s.Hands.Resume = func(string) (func(), <-chan struct{}, error) { return nil, nil, errors.New("no fork") }
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
