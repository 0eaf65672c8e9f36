package tracking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/findings/tracks"
	"github.com/dynolab/dyno/internal/subject/guard"
	"github.com/dynolab/dyno/internal/track"
)

func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository has commits of a service, each with a file of its number.
func repository(t *testing.T, commits int) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "main")
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range commits {
		commit(t, dir, i)
	}
	return dir
}

func commit(t *testing.T, dir string, i int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cmd", "shop", "main.go"), fmt.Appendf(nil, "package main\n\nfunc main() {} // %d\n", i), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", fmt.Sprintf("commit %d", i))
}

// open begins a track of the repository, whose runs are simulated: level is the logarithm of a commit's CPU time, by title.
func open(t *testing.T, dir, place string, level func(title string) float64) *Tracking {
	t.Helper()
	tr, err := Open(t.Context(), tracks.Options{Dir: dir, At: place}, func() *campaign.Campaign { return &campaign.Campaign{Stderr: io.Discard, Version: "v1"} })
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	titles := map[string]string{}
	titleOf := func(ctx context.Context, rev string) (string, error) {
		if titles[rev] == "" {
			c, err := tr.Commit(ctx, rev)
			if err != nil {
				return "", err
			}
			titles[rev] = c.Title
		}
		return titles[rev], nil
	}
	measure := func(ctx context.Context, _ string, e *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
		var rs []*dyno.Result
		for block := 1; block <= 40; block++ {
			for _, s := range e.Levels() {
				title, err := titleOf(ctx, s[0].Value)
				if err != nil {
					return nil, nil, err
				}
				v := dyno.Values{{Metric: "cpu-sec/req", Value: math.Exp(level(title) + 0.01*rng.NormFloat64())}}
				rs = append(rs, &dyno.Result{Trial: dyno.Trial{Setting: s, Block: block}, Values: v})
			}
			if enough(nil, rs) {
				break
			}
		}
		return nil, rs, nil
	}
	tr.ask = func(ctx context.Context, q question, _ string) (string, error) {
		q.uses(&campaign.Campaign{Version: "v1"})
		p, ok := q.(*pointing)
		if !ok {
			p = &q.(*looking).pointing
		}
		p.build = func(ctx context.Context, _ *dyno.Experiment, s dyno.Setting) (string, error) {
			title, err := titleOf(ctx, s[0].Value)
			if err == nil && math.IsNaN(level(title)) {
				err = errors.New("it does not compile")
			}
			return title, err
		}
		return "run", q.Ask(ctx, measure)
	}
	if tr.Log.Start.Name == "" {
		e := &dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: filepath.Join(dir, "cmd", "shop")}, Load: dyno.Load{Concurrency: 1}}
		if _, err := tr.Init(t.Context(), e, "HEAD~"+fmt.Sprint(strings.Count(run(t, dir, "log", "--format=%H"), "\n")), false); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// titled is the level of commits from a number on.
func titled(from int, size float64) func(string) float64 {
	return func(title string) float64 {
		n := 0
		_, _ = fmt.Sscanf(title, "commit %d", &n)
		if n >= from {
			return size
		}
		return 0
	}
}

// A step is told with its commit as soon as that is measured, in a repository and in a directory alike, and not told again.
func TestStep(t *testing.T) {
	for _, place := range []string{"", filepath.Join(t.TempDir(), "lines")} {
		dir := repository(t, 8)
		tr := open(t, dir, place, titled(5, 0.08))
		commits := strings.Fields(run(t, dir, "log", "--reverse", "--format=%H"))
		for i, id := range commits[1:] {
			if _, err := tr.Add(t.Context(), Adding{Rev: id, Blocks: 8}); err != nil {
				t.Fatal(err)
			}
			if _, err := tr.Check(t.Context(), Checking{Rev: id, Most: 3, NoName: true}); err != nil {
				t.Fatal(err)
			}
			want := 0
			if i+1 >= 5 {
				want = 1
			}
			if len(tr.Shown) != want {
				t.Fatalf("after commit %d: %+v", i+1, tr.Shown)
			}
		}
		if a := tr.Shown[0]; a.Commit != commits[5] || math.Abs(math.Log(a.Ratio)-0.08) > 0.02 || !a.Worse {
			t.Errorf("%+v", a)
		}
		again := open(t, dir, place, titled(5, 0.08))
		r, err := again.Report(t.Context(), "HEAD", "v1")
		if err != nil || !strings.Contains(r.First(), "1 change is shown in 8 commits") || !strings.Contains(r.First(), commits[5][:12]) {
			t.Errorf("%q, %v", r.First(), err)
		}
		if out := run(t, dir, "status", "--porcelain"); out != "" {
			t.Errorf("the repository is not as before: %s", out)
		}
	}
}

// What was measured stays after a squash and a rebase with the commit that has the same content, and what has none is said.
func TestRewritten(t *testing.T) {
	dir := repository(t, 4)
	tr := open(t, dir, "", titled(9, 0))
	for _, rev := range []string{"HEAD~2", "HEAD~1", "HEAD"} {
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 4}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "reset", "-q", "--soft", "HEAD~2")
	run(t, dir, "commit", "-q", "-m", "commit 3, squashed")
	r, err := tr.Report(t.Context(), "HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	line := r.Lines[0]
	head := run(t, dir, "rev-parse", "HEAD")
	if n := len(line.At); n != 3 || line.At[2].ID != head || len(line.Lost) != 1 {
		t.Errorf("%+v", line)
	}
	if !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.HasPrefix(s, "1 measured commit is") }) {
		t.Errorf("%q", r.Notes)
	}
}

// A clone that is too shallow is said with its cure.
func TestShallow(t *testing.T) {
	dir := repository(t, 4)
	tr := open(t, dir, "", titled(9, 0))
	if _, err := tr.Add(t.Context(), Adding{Rev: "HEAD~1", Blocks: 4}); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, dir, "clone", "-q", "--depth=1", "file://"+dir, clone)
	run(t, clone, "fetch", "-q", "origin", "refs/dyno/track:refs/dyno/track")
	other := open(t, clone, "", titled(9, 0))
	r, err := other.Report(t.Context(), "HEAD", "v1")
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "git fetch --unshallow") {
		t.Errorf("%v, %v", r.Notes, err)
	}
}

// Where the anchor does not build any more, the last measured commit takes its place, and levels stay.
func TestAnchorBreaks(t *testing.T) {
	dir := repository(t, 5)
	level := titled(2, 0.05)
	broken := math.Inf(1)
	tr := open(t, dir, "", func(title string) float64 {
		if title == "commit 0" && broken < 0 {
			return math.NaN()
		}
		return level(title)
	})
	for i, rev := range []string{"HEAD~3", "HEAD~2", "HEAD~1", "HEAD"} {
		if i == 2 {
			broken = -1
		}
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 8}); err != nil {
			t.Fatal(err)
		}
	}
	if want := run(t, dir, "rev-parse", "HEAD~2"); tr.Log.Start.Anchor != want {
		t.Errorf("anchor %s, want %s", tr.Log.Start.Anchor, want)
	}
	lines, err := tr.Lines(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	last := lines[0].At[len(lines[0].At)-1]
	if math.Abs(last.Level-0.05) > 0.02 || last.SE <= 0 {
		t.Errorf("%+v", last)
	}
}

// A place that cannot be built, or for which there was no time, does not keep others from being looked at: the first is kept, the other is said.
func TestLookFails(t *testing.T) {
	dir := repository(t, 4)
	level := titled(2, 0.1)
	broken := ""
	tr := open(t, dir, "", func(title string) float64 {
		if title == broken {
			return math.NaN()
		}
		return level(title)
	})
	for _, rev := range []string{"HEAD~2", "HEAD~1", "HEAD"} {
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 8}); err != nil {
			t.Fatal(err)
		}
	}
	ask := tr.ask
	tr.ask = func(ctx context.Context, q question, out string) (string, error) {
		return "", errors.New("build rev=x: it does not compile")
	}
	if waiting, err := tr.Check(t.Context(), Checking{Rev: "HEAD", Most: 3, NoName: true}); err != nil || waiting != 0 {
		t.Errorf("%d wait, %v", waiting, err)
	}
	if n := len(tr.Log.Alarms); n != 1 || tr.Log.Alarms[0].Alpha != 0 || tr.Log.Alarms[0].Why == "" {
		t.Errorf("%+v", tr.Log.Alarms)
	}
	other := repository(t, 3)
	tr = open(t, other, "", level)
	for _, rev := range []string{"HEAD~1", "HEAD"} {
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 8}); err != nil {
			t.Fatal(err)
		}
	}
	ask = tr.ask
	tr.ask = func(ctx context.Context, q question, out string) (string, error) {
		dir, err := ask(ctx, q, out)
		if l, ok := q.(*looking); ok { // as if the time were up
			few := slices.DeleteFunc(l.results, func(r *dyno.Result) bool { return r.Trial.Block > 5 })
			l.judge(few, &dyno.Experiment{Negligible: new(dyno.Fraction)})
		}
		return dir, err
	}
	if _, err := tr.Check(t.Context(), Checking{Rev: "HEAD", Most: 3, NoName: true}); err == nil || !strings.Contains(err.Error(), "5 blocks") || len(tr.Log.Alarms) != 0 {
		t.Errorf("%v, %+v", err, tr.Log.Alarms)
	}
}

// A change whose search is cut off is told by the next check, with the commit, and once.
func TestSearchCutOff(t *testing.T) {
	dir := repository(t, 4)
	tr := open(t, dir, "", titled(2, 0.1))
	for _, rev := range []string{"HEAD~2", "HEAD~1", "HEAD"} {
		if _, err := tr.Add(t.Context(), Adding{Rev: rev, Blocks: 8}); err != nil {
			t.Fatal(err)
		}
	}
	cut := errors.New("cut off")
	tr.search = func(context.Context, *track.Alarm) error { return cut }
	if _, err := tr.Check(t.Context(), Checking{Rev: "HEAD", Most: 3}); !errors.Is(err, cut) || len(tr.Shown) != 0 {
		t.Fatalf("%v, %+v", err, tr.Shown)
	}
	for i := range 2 {
		again := open(t, dir, "", titled(2, 0.1))
		again.search = func(_ context.Context, a *track.Alarm) error { a.Commit = "found"; return nil }
		if _, err := again.Check(t.Context(), Checking{Rev: "HEAD", Most: 3}); err != nil {
			t.Fatal(err)
		}
		if len(again.Shown) != 1-i || i == 0 && again.Shown[0].Commit != "found" {
			t.Errorf("check %d: %+v", i, again.Shown)
		}
		if n := len(again.Log.Alarms); n != 1 || !again.Log.Alarms[0].Searched {
			t.Errorf("%+v", again.Log.Alarms)
		}
	}
}

// A track begins once. The same again changes nothing, another plan is a mistake, and another name is another track.
func TestInitAgain(t *testing.T) {
	dir := repository(t, 3)
	tr := open(t, dir, "", titled(9, 0))
	anchor := tr.Log.Start.Anchor
	e := dyno.Experiment{Name: "shop", Subject: dyno.Subject{Package: filepath.Join(dir, "cmd", "shop")}, Load: dyno.Load{Concurrency: 1}}
	if fresh, err := tr.Init(t.Context(), &e, "HEAD", false); fresh || err != nil || tr.Log.Start.Anchor != anchor {
		t.Errorf("%v, %v, anchor %s", fresh, err, tr.Log.Start.Anchor)
	}
	e.Load.Concurrency = 2
	if _, err := tr.Init(t.Context(), &e, "HEAD", false); err == nil || !strings.Contains(err.Error(), "of another plan") {
		t.Error(err)
	}
	e.Name = "shop-busy"
	second, err := Open(t.Context(), tracks.Options{Dir: dir, Name: e.Name}, tr.New)
	if err != nil {
		t.Fatal(err)
	}
	if fresh, err := second.Init(t.Context(), &e, "HEAD", false); !fresh || err != nil || second.Log.Start.Name != "shop-busy" {
		t.Errorf("%v, %v, %+v", fresh, err, second.Log.Start)
	}
	both, err := Open(t.Context(), tracks.Options{Dir: dir}, tr.New)
	if err == nil {
		err = both.Begun()
	}
	if err == nil || !strings.Contains(err.Error(), "2 tracks (consider: --name shop, or --name shop-busy)") {
		t.Error(err)
	}
	if _, err := second.Add(t.Context(), Adding{Rev: "HEAD"}); !errors.Is(err, ErrAnchor) {
		t.Error(err)
	}
}

// A plan that cannot be tracked is a mistake that says why.
func TestInitMistakes(t *testing.T) {
	dir := repository(t, 2)
	tr := open(t, dir, "", titled(9, 0))
	service := dyno.Subject{Package: filepath.Join(dir, "cmd", "shop")}
	for want, e := range map[string]*dyno.Experiment{
		"is no package":      {Subject: dyno.Subject{Binary: "/bin/true"}},
		"varies the commit":  {Subject: service, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"50", "100"}}}},
		"has credentials":    {Subject: dyno.Subject{Package: service.Package, Env: map[string]string{"API_TOKEN": "abcdef0123456789"}}},
		"/body.json is not ": {Subject: service, Load: dyno.Load{Client: dyno.Client{Loop: []dyno.Step{{Path: "/", BodyFile: filepath.Join(t.TempDir(), "body.json")}}}}},
		"not in the reposit": {Subject: dyno.Subject{Package: t.TempDir()}},
	} {
		if _, err := tr.Init(t.Context(), e, "HEAD", false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := tr.Init(t.Context(), &dyno.Experiment{Subject: service}, "nowhere", false); err == nil || !strings.Contains(err.Error(), "nowhere is no revision") {
		t.Error(err)
	}

	none := &tracks.Track{Ledger: tr.Ledger, Log: &track.Log{}}
	if err := none.Begun(); err == nil || !strings.Contains(err.Error(), "dyno track init") {
		t.Error(err)
	}
}
