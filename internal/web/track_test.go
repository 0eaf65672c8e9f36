package web

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/ledger"
	"github.com/dynolab/dyno/internal/track"
)

// The tracks of the repository around the runs have a link and a page.
func TestTracks(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	for range 3 {
		git("commit", "-q", "--allow-empty", "-m", "a <b>")
	}
	ids := strings.Fields(git("log", "--reverse", "--format=%H"))
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	lines := []interface {
		Line() (json.RawMessage, error)
	}{track.Start{At: at, Name: "shop & co", Plan: json.RawMessage(`{"subject":{"package":"./cmd/shop"}}`), Anchor: ids[0]}}
	for _, id := range ids[1:] {
		lines = append(lines, track.Point{At: at, Name: "shop & co", Commit: id, Anchor: ids[0], Blocks: 2, Logs: map[string]track.Ratios{"p99-sec": {Anchor: []float64{0.01, 0.02}}}})
	}
	var texts []json.RawMessage
	for _, l := range lines {
		text, err := l.Line()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	l, err := ledger.Open(t.Context(), "", root, "")
	if err == nil {
		err = l.Add(t.Context(), texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	runs := filepath.Join(root, "dyno-runs")
	made{}.run(t, filepath.Join(runs, "demo"), false)
	s := site(t, runs)
	want(t, get(t, s, "/"), 200, "Over commits", `href="/track?name=shop&#43;%26&#43;co"`)
	w := get(t, s, query("/track", "name", "shop & co"))
	want(t, w, 200, "no change is shown in 3 commits", "p99 latency")
	if strings.Contains(w.Body.String(), "<b>") {
		t.Error("the title of a commit is markup")
	}
	want(t, get(t, s, query("/track", "name", "none")), 404, "There is no such track")
	if body := get(t, site(t, t.TempDir()), "/").Body.String(); strings.Contains(body, "Over commits") {
		t.Error("tracks without a repository")
	}
}
