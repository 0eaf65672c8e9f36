package tracking

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/track"
)

// rewrite gives all commits of the current branch new hashes. The name makes them differ from those of another time.
func rewrite(t *testing.T, dir, name string) {
	t.Helper()
	run(t, dir, "-c", "user.name="+name, "rebase", "-q", "--root", "--force-rebase")
}

// Levels go on where the anchor breaks after a commit that was not measured itself, or whose hash was another one then.
func TestAnchorBreaksUnmeasured(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(dir string) // of the history, after its second commit was measured
	}{
		{"a text was changed", func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, dir, "add", "-A")
			run(t, dir, "commit", "-q", "-m", "commit 1")
		}},
		{"the history was rewritten", func(dir string) { rewrite(t, dir, "y") }},
	} {
		dir := repository(t, 2)
		level, broken := titled(3, 0.08), false
		tr := open(t, dir, "", func(title string) float64 {
			if title == "commit 0" && broken {
				return math.NaN()
			}
			return level(title)
		})
		add := func() {
			t.Helper()
			if _, err := tr.Add(t.Context(), Adding{Rev: "HEAD", Blocks: 8}); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		add()
		old := run(t, dir, "rev-parse", "HEAD")
		if test.change(dir); test.name == "a text was changed" {
			add()
		}
		broken = true
		for i := 2; i < 4; i++ {
			commit(t, dir, i)
			add()
		}
		r, err := tr.Report(t.Context(), "HEAD", "v1")
		if err != nil {
			t.Fatal(err)
		}
		at := r.Lines[0].At
		if len(r.Apart) > 0 || len(at) < 4 || math.Abs(at[len(at)-1].Level-0.08) > 0.02 || math.Abs(at[len(at)-2].Level) > 0.02 {
			t.Errorf("%s: %v are apart, of %+v", test.name, r.Apart, at)
		}
		if tr.Log.Start.Anchor == old || !strings.HasPrefix(r.First(), "shop: no change is shown in ") {
			t.Errorf("%s: the anchor is %s, and %q", test.name, tr.Log.Start.Anchor, r.First())
		}
	}
}

// A change that was shown stays with its commit, by the hash that this has now, and is no longer said to be in a history that lacks it.
func TestShownRewritten(t *testing.T) {
	dir := repository(t, 6)
	tr := open(t, dir, "", titled(3, 0.1))
	for i := range 5 {
		rev := fmt.Sprintf("HEAD~%d", 4-i)
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 8}); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Check(t.Context(), Checking{Rev: rev, Most: 3, NoName: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "y", "z"} {
		if name != "" {
			rewrite(t, dir, name)
		}
		at, err := tr.Commit(t.Context(), "HEAD~2")
		if err != nil {
			t.Fatal(err)
		}
		r, err := tr.Report(t.Context(), "HEAD", "v1")
		if err != nil {
			t.Fatal(err)
		}
		if r.New = nil; !strings.Contains(r.First(), "1 change is shown in 6 commits; the last: CPU time per request") || !strings.Contains(r.First(), "with "+at.ID[:12]) || r.Worse(at) == "" {
			t.Errorf("after %q: %q, and %q with %s", name, r.First(), r.Worse(at), at.ID)
		}
		if head, err := tr.Commit(t.Context(), "HEAD"); err != nil || r.Worse(head) != "" {
			t.Errorf("after %q: %q, %v", name, r.Worse(head), err)
		}
		if r, err = tr.Report(t.Context(), "HEAD~3", "v1"); err != nil || !strings.Contains(r.First(), "no change is shown") || !slices.Contains(r.Notes, "3 measured commits are newer than this revision.") && name == "" {
			t.Errorf("before it: %q, %q, %v", r.First(), r.Notes, err)
		}
	}
	run(t, dir, "reset", "-q", "--soft", "HEAD~4")
	run(t, dir, "commit", "-q", "-m", "squashed")
	r, err := tr.Report(t.Context(), "HEAD", "v1")
	if err != nil || strings.Contains(r.First(), "1 change") {
		t.Errorf("the squashed history lacks what the change was between: %q, %v", r.First(), err)
	}
}

// A change is said of the commit that was named, though that was not measured itself, and a later one was.
func TestNamedUnmeasured(t *testing.T) {
	dir := repository(t, 4)
	tr := open(t, dir, "", titled(2, 0.1))
	if _, err := tr.Add(t.Context(), Adding{Rev: "HEAD", Blocks: 8}); err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(run(t, dir, "log", "--reverse", "--format=%H"))
	a := track.Alarm{Metric: track.Metrics()[0], Name: "shop", Shape: track.Step, At: now(), From: ids[0], To: ids[3], Commit: ids[2], Shown: true, Worse: true, Searched: true, Ratio: 1.1, Lo: 1.05, Hi: 1.15}
	if err := tr.add(t.Context(), []track.Alarm{a}); err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[string]bool{"HEAD": true, "HEAD~1": true, "HEAD~2": false} {
		r, err := tr.Report(t.Context(), rev, "v1")
		if err != nil || strings.Contains(r.First(), "1 change is shown") != want {
			t.Errorf("%s: %q, %v", rev, r.First(), err)
		}
		if worse := r.Worse(track.Commit{ID: ids[2]}); (worse != "") != want {
			t.Errorf("%s: %q is worse", rev, worse)
		}
		var page strings.Builder
		if err := r.HTML(&page); err != nil || rev == "HEAD" && !strings.Contains(page.String(), `class="change"`) {
			t.Errorf("%s: no mark in the page, %v", rev, err)
		}
	}
}

// Another anchor can be chosen: any, as long as nothing was measured, and then one that was.
func TestOtherAnchor(t *testing.T) {
	dir := repository(t, 4)
	broken := "commit 0"
	tr := open(t, dir, "", func(title string) float64 {
		if title == broken {
			return math.NaN()
		}
		return 0
	})
	if _, err := tr.Add(t.Context(), Adding{Rev: "HEAD", Blocks: 8}); err == nil || !strings.Contains(err.Error(), "--anchor REVISION") {
		t.Errorf("%v", err)
	}
	again := func(anchor string) error {
		_, err := tr.Init(t.Context(), tr.Plan, anchor, true)
		return err
	}
	if err := again("HEAD~2"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Add(t.Context(), Adding{Rev: "HEAD", Blocks: 8}); err != nil {
		t.Fatal(err)
	}
	if r, err := tr.Report(t.Context(), "HEAD~3", "v1"); err != nil || !strings.Contains(r.First(), "no commit is measured yet") {
		t.Errorf("before the anchor: %q, %v", r.First(), err)
	}
	if err := again("HEAD~1"); err == nil || !strings.Contains(err.Error(), "was not measured against an anchor") {
		t.Errorf("%v", err)
	}
	if err := again("HEAD"); err != nil || tr.Log.Start.Anchor != run(t, dir, "rev-parse", "HEAD") {
		t.Errorf("%s, %v", tr.Log.Start.Anchor, err)
	}
	r, err := tr.Report(t.Context(), "HEAD", "v1")
	if err != nil || len(r.Apart) > 0 || len(r.Lines[0].At) != 2 || !strings.Contains(r.Text(layout.Options{Width: 100}), "against "+run(t, dir, "rev-parse", "HEAD~2")[:12]) {
		t.Errorf("%+v, %v", r, err)
	}
}
