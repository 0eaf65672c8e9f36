package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// remoteOf makes a bare repository with the branches of dir, and makes it dir's origin.
func remoteOf(t testing.TB, dir string) string {
	t.Helper()
	remote := filepath.Join(t.TempDir(), "remote.git")
	gitIn(t, dir, "", "clone", "-q", "--bare", ".", remote)
	gitIn(t, dir, "", "remote", "add", "origin", remote)
	return remote
}

func clone(t testing.TB, remote string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	gitIn(t, ".", "", append(append([]string{"clone", "-q"}, args...), "file://"+remote, dir)...)
	return dir
}

func exchange(t testing.TB, l *Ledger, want SyncResult) {
	t.Helper()
	if got, err := l.Sync(t.Context(), "origin"); err != nil || got != want {
		t.Fatalf("sync %s: %+v, %v, want %+v", l, got, err, want)
	}
}

// Two clones hand each other what they have, by way of a remote, and make no more commits than that takes.
func TestSync(t *testing.T) {
	for name, args := range map[string][]string{"sha1": nil, "sha256": {"--object-format=sha256"}} {
		t.Run(name, func(t *testing.T) {
			dir := repositoryOf(t, args...)
			remote := remoteOf(t, dir)
			other := clone(t, remote)
			script(t, filepath.Join(dir, ".git/hooks/pre-push"), "exit 1\n") // as of a linter
			a, b := open(t, "", dir), open(t, "", other)
			exchange(t, a, SyncResult{}) // none has any
			add(t, a, line(1, "one"), line(2, "two"))
			exchange(t, a, SyncResult{Sent: 2}) // the remote has none
			exchange(t, a, SyncResult{})
			exchange(t, b, SyncResult{Received: 2}) // the clone has none
			add(t, b, line(3, "three"))
			exchange(t, b, SyncResult{Sent: 1}) // later than the remote
			exchange(t, a, SyncResult{Received: 1})
			if n := gitIn(t, remote, "", "rev-list", "--count", DefaultRef); n != "2" {
				t.Errorf("%s commits, want 2", n)
			}
			gitIn(t, other, "", "checkout", "-q", "-b", "side")
			kept := commit(t, other)
			gitIn(t, other, "", "checkout", "-q", "main")
			add(t, a, line(4, "four"), line(50_000, "same"))
			if err := b.Add(t.Context(), []json.RawMessage{line(5, "five"), line(50_000, "same"), line(100_000, "six")}, kept); err != nil {
				t.Fatal(err)
			}
			exchange(t, a, SyncResult{Sent: 2})
			exchange(t, b, SyncResult{Received: 1, Sent: 2}) // both have some
			exchange(t, a, SyncResult{Received: 2})
			all := []json.RawMessage{line(1, "one"), line(2, "two"), line(3, "three"), line(4, "four"), line(5, "five"), line(50_000, "same"), line(100_000, "six")}
			want(t, a, all...)
			want(t, b, all...)
			want(t, open(t, "", remote), all...)
			gitIn(t, remote, "", "gc", "-q", "--prune=now")
			if kind := gitIn(t, remote, "", "cat-file", "-t", kept); kind != "commit" {
				t.Errorf("what was kept is a %s at the remote", kind)
			}
			gitIn(t, remote, "", "update-ref", "-d", DefaultRef)
			exchange(t, a, SyncResult{Sent: 7}) // the remote has lost it
			for _, d := range []string{dir, other} {
				if _, err := os.Stat(filepath.Join(d, ".git/FETCH_HEAD")); err == nil {
					t.Error("FETCH_HEAD was written")
				}
			}
		})
	}
}

// Clones that add and sync at the same time lose nothing, nor do two that share a clone.
func TestSyncAtOnce(t *testing.T) {
	const writers, rounds = 4, 3
	remote := remoteOf(t, repositoryOf(t))
	var all []json.RawMessage
	var ledgers []*Ledger
	var dir string
	var wg sync.WaitGroup
	for i := range writers {
		if i%2 == 0 {
			dir = clone(t, remote)
		}
		l := open(t, "", dir)
		ledgers = append(ledgers, l)
		var own [rounds]json.RawMessage
		for j := range own {
			own[j] = line(i*rounds+j, "x")
		}
		all = append(all, own[:]...)
		wg.Go(func() {
			for _, line := range own {
				if err := l.Add(t.Context(), []json.RawMessage{line}); err != nil {
					t.Error(err)
				}
				if _, err := l.Sync(t.Context(), "origin"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want(t, open(t, "", remote), all...)
	for _, l := range ledgers {
		if _, err := l.Sync(t.Context(), "origin"); err != nil {
			t.Fatal(err)
		}
		want(t, l, all...)
	}
}

// A clone of depth 1 takes part, and does not get the history that it does without.
func TestShallow(t *testing.T) {
	dir := repositoryOf(t)
	first := gitIn(t, dir, "", "rev-parse", "HEAD")
	commit(t, dir)
	remote := remoteOf(t, dir)
	full := open(t, "", dir)
	if err := full.Add(t.Context(), []json.RawMessage{line(1, "one")}, gitIn(t, dir, "", "rev-parse", "HEAD")); err != nil {
		t.Fatal(err)
	}
	exchange(t, full, SyncResult{Sent: 1})

	shallow := clone(t, remote, "--depth=1")
	l := open(t, "", shallow)
	head := gitIn(t, shallow, "", "rev-parse", "HEAD")
	if err := l.Add(t.Context(), []json.RawMessage{line(2, "two")}, head); err != nil {
		t.Fatal(err)
	}
	exchange(t, l, SyncResult{Received: 1, Sent: 1})
	add(t, full, line(3, "three"))
	exchange(t, full, SyncResult{Received: 1, Sent: 1})
	exchange(t, l, SyncResult{Received: 1})
	if err := l.Add(t.Context(), []json.RawMessage{line(4, "four")}, head); err != nil {
		t.Fatal(err)
	}
	exchange(t, l, SyncResult{Sent: 1})
	all := []json.RawMessage{line(1, "one"), line(2, "two"), line(3, "three"), line(4, "four")}
	want(t, open(t, "", remote), all...)
	want(t, l, all...)
	if exec.Command("git", "-C", shallow, "cat-file", "-e", first).Run() == nil {
		t.Error("the shallow clone has got the history")
	}
	if err := l.Add(t.Context(), []json.RawMessage{line(5, "five")}, first); err == nil || !strings.Contains(err.Error(), "consider: git fetch") {
		t.Errorf("keep a commit that the clone does not have: %v", err)
	}

	// A remote that has none of the history refuses a part of it.
	empty := filepath.Join(t.TempDir(), "empty.git")
	gitIn(t, ".", "", "init", "-q", "--bare", empty)
	if _, err := l.Sync(t.Context(), "file://"+empty); err == nil || !strings.Contains(err.Error(), "consider: git fetch --unshallow") {
		t.Error(err)
	}
}

// In a mirror, git's own fetch would replace the ref by the remote's.
func TestMirror(t *testing.T) {
	dir := repositoryOf(t)
	remote := remoteOf(t, dir)
	mirror := filepath.Join(t.TempDir(), "mirror.git")
	gitIn(t, ".", "", "clone", "-q", "--mirror", remote, mirror)
	gitIn(t, mirror, "", "config", "--unset", "remote.origin.mirror")
	l := open(t, "", dir)
	add(t, l, line(1, "one"))
	exchange(t, l, SyncResult{Sent: 1})
	m := open(t, "", mirror)
	add(t, m, line(2, "two"))
	exchange(t, m, SyncResult{Received: 1, Sent: 1})
	want(t, m, line(1, "one"), line(2, "two"))
}

func TestSyncErrors(t *testing.T) {
	dir := repositoryOf(t)
	remote := remoteOf(t, dir)
	l := open(t, "", dir)
	add(t, l, line(1, "one"))
	tries := filepath.Join(t.TempDir(), "tries")
	script(t, filepath.Join(remote, "hooks/pre-receive"), fmt.Sprintf("echo >>%s\necho the refs of others are closed >&2\nexit 1\n", tries))
	if _, err := l.Sync(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "sync refs/dyno/track of "+dir+" with origin: ") || !strings.Contains(err.Error(), "the refs of others are closed") {
		t.Error(err)
	}
	if n, err := os.ReadFile(tries); err != nil || len(n) != mostSame {
		t.Errorf("%d tries, want %d: nobody else was there", len(n), mostSame)
	}
	if _, err := l.Sync(t.Context(), "--upload-pack=touch "+dir+"/bad"); err == nil {
		t.Error("an option is no remote")
	}
	if _, err := os.Stat(filepath.Join(dir, "bad")); err == nil {
		t.Error("the name of a remote was run")
	}
	if _, err := l.Sync(t.Context(), "ftp2://user:hunter2@127.0.0.1/"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	for _, other := range []string{t.TempDir(), "http://127.0.0.1:1/"} {
		place := open(t, other, "")
		if got, err := place.Sync(t.Context(), "origin"); err != nil || got != (SyncResult{}) {
			t.Errorf("%s has no remote: %v, %v", place, got, err)
		}
	}
}
