package tracks

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/ledger"
	"github.com/dynolab/dyno/internal/track"
)

// history makes a repository of commits, each of which was measured against the first.
func history(t testing.TB, commits int) string {
	t.Helper()
	dir := t.TempDir()
	git := func(input string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "-b", "main")
	var b strings.Builder
	began := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range commits {
		message := fmt.Sprintf("commit %d", i)
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter x <x@example.org> %d +0000\ndata %d\n%s\n", began.Unix()+int64(i), len(message), message)
	}
	git(b.String(), "fast-import", "--quiet")
	ids := strings.Fields(git("", "log", "--reverse", "--format=%H"))
	rng := rand.New(rand.NewPCG(1, 1))
	start, err := track.Start{Name: "shop", At: began, Plan: json.RawMessage(`{"subject":{"package":"./cmd/shop"}}`), Anchor: ids[0]}.Line()
	if err != nil {
		t.Fatal(err)
	}
	lines := []json.RawMessage{start}
	for i, id := range ids[1:] {
		p := track.Point{Name: "shop", At: began.Add(time.Duration(i) * 3 * time.Hour), Commit: id, Anchor: ids[0], Before: ids[i], Blocks: 8, Logs: map[string]track.Ratios{}}
		for _, m := range track.Metrics() {
			var r track.Ratios
			for range 8 {
				r.Anchor, r.Before = append(r.Anchor, float64(rng.IntN(2000)-1000)/1e5), append(r.Before, float64(rng.IntN(2000)-1000)/1e5)
			}
			p.Logs[m] = r
		}
		line, err := p.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	l, err := ledger.Open(t.Context(), "", dir, "")
	if err == nil {
		err = l.Add(t.Context(), lines)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// All that a track says comes from the repository alone.
func TestReport(t *testing.T) {
	dir := history(t, 30)
	tr, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tr.Report(t.Context(), "HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Lines) != 5 || len(r.Lines[0].At) != 30 || len(r.Notes) != 0 || !strings.Contains(r.First(), "no change is shown in 30 commits") {
		t.Errorf("%d lines, %q, %q", len(r.Lines), r.First(), r.Notes)
	}
	if _, err := tr.Report(t.Context(), "nowhere", "v1"); err == nil || !strings.Contains(err.Error(), "nowhere is no revision") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "not in a git repository") {
		t.Error(err)
	}
}

// A page of ten thousand commits, as dyno view shows it.
func BenchmarkPage(b *testing.B) {
	dir := history(b, 10_000)
	for b.Loop() {
		tr, err := Open(b.Context(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		r, err := tr.Report(b.Context(), "HEAD", "v1")
		if err == nil {
			err = r.HTML(io.Discard)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
