//go:build machine

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A commit that makes a service allocate is shown with its function, by two clones that add to one track in turn; one of them is killed with
// kill -9 on its way, and leaves nothing.
func TestMachineTrack(t *testing.T) {
	repo := bisectedRepo(t, 7)
	bare, other := filepath.Join(t.TempDir(), "bare.git"), filepath.Join(t.TempDir(), "other")
	git := func(dir string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git(repo, "clone", "-q", "--bare", repo, bare)
	git(repo, "remote", "add", "origin", bare)
	git(repo, "clone", "-q", bare, other)
	s := &session{t: t, out: filepath.Join(t.TempDir(), "out"), mark: fmt.Sprintf("DYNO_TEST_MARK=%s-%d", t.Name(), time.Now().UnixNano()), tmp: t.TempDir()}
	dyno := func(dir string, args ...string) string {
		t.Helper()
		s.run(dir, append(append([]string{"track"}, args...), "--sync", "origin")...)
		if status := s.exit(); status != exitDone {
			t.Fatalf("dyno track %q: status %d\n%s", args, status, &s.stderr)
		}
		s.nothingIsLeft()
		return s.stdout.String()
	}
	dyno(repo, "init", ".", "--anchor", "good", "-d", "200ms")
	s.run(repo, "track", "add", "HEAD~3", "--sync", "origin", "--out", s.out)
	killed(s, repo, 8*time.Second)
	for i, dir := range []string{repo, other, repo} {
		dyno(dir, "add", fmt.Sprintf("HEAD~%d", 3-i))
	}
	out := dyno(other, "check", "--json")
	var d struct {
		Metrics []struct {
			Commits []struct{ Title string }
		}
		Changes []struct{ Metric, Title, Function string }
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(d.Metrics[0].Commits); n != 4 {
		t.Errorf("%d commits\n%s", n, out)
	}
	found := false
	for _, c := range d.Changes {
		found = found || c.Metric == "alloc-B/req" && c.Title == "commit 5" && strings.HasPrefix(c.Function, "main.text")
	}
	if !found {
		t.Errorf("changes %+v", d.Changes)
	}
}
