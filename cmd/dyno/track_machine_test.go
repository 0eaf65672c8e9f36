//go:build machine

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A commit that makes a service allocate is measured by one clone, after kill -9 on its way, which leaves nothing; another clone shows the change.
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
	dyno(repo, "init", ".", "--anchor", "HEAD~2", "-d", "200ms")
	s.run(repo, "track", "add", "HEAD~1", "--sync", "origin", "--out", s.out)
	killed(s, repo, 8*time.Second)
	dyno(repo, "add", "HEAD~1", "--out", filepath.Join(t.TempDir(), "out"))
	out := dyno(other, "check", "HEAD~1", "--no-bisect", "--json")
	var d struct {
		Metrics []struct {
			Commits []struct{ Title string }
		}
		Changes []struct{ Metric, Title string }
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(d.Metrics[0].Commits); n != 2 {
		t.Errorf("%d commits\n%s", n, out)
	}
	if !slices.ContainsFunc(d.Changes, func(c struct{ Metric, Title string }) bool { return c.Metric == "alloc-B/req" && c.Title == "commit 5" }) {
		t.Errorf("changes %+v", d.Changes)
	}
}
