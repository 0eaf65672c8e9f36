package versions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	os.Exit(m.Run())
}

// A merge is searched only if it brought all that is between the ends of its branch.
func TestMerged(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         string // titles of the ends, or the error
	}{
		{"a branch", "on feat; add b1; add b2; on main; add m1; merge feat", "m0..b2"},
		{"a branch with another merged into it", "on feat; add b1; on topic; add t1; on feat; merge topic; on main; add m1; merge feat", "m0..merge topic"},
		{"no merge", "add m1", ".."},
		{"a merge of main into it", "on feat; add b1; on main; add m1; on feat; merge main; add b2; on main; add m2; merge feat", "merged before, on another way"},
		{"another branch that came into both", "on hot; add h1; on main; add m1; on feat; add b1; merge hot; on main; merge hot; merge feat", "merged before, on another way"},
		{"criss-cross", "on feat; add b1; on main; add m1; on x; on main; merge feat; on feat; merge x; add b2; on main; merge feat", "merged before, on another way"},
		{"three at once", "on feat; add b1; on topic main; add t1; on main; add m1; merge feat topic", "it has 3 parents"},
	} {
		dir := t.TempDir()
		clock := 1_700_000_000
		git := func(args ...string) string {
			clock++
			cmd := exec.Command("git", args...)
			date := fmt.Sprintf("DATE=@%d +0000", clock)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org", "GIT_AUTHOR_"+date, "GIT_COMMITTER_"+date)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: git %q: %v\n%s", test.name, args, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		add := func(title string) {
			if err := os.WriteFile(filepath.Join(dir, title+".go"), []byte("package main\n\nvar "+title+" = 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			git("add", "-A")
			git("commit", "-q", "-m", title)
		}
		git("init", "-q", "-b", "main")
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		add("m0")
		for _, step := range strings.Split(test.script, "; ") {
			switch f := strings.Fields(step); f[0] {
			case "on":
				if exec.Command("git", "-C", dir, "rev-parse", "-q", "--verify", f[1]).Run() != nil {
					git(append([]string{"branch"}, f[1:]...)...)
				}
				git("checkout", "-q", f[1])
			case "add":
				add(f[1])
			case "merge":
				git(append([]string{"merge", "-q", "--no-ff", "-m", step}, f[1:]...)...)
			}
		}
		e := &dyno.Experiment{Subject: dyno.Subject{Package: ".", Dir: dir}}
		l, err := Commits(t.Context(), e, git("rev-parse", "HEAD~1"), "")
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		good, bad, err := l.Merged(t.Context(), len(l.All)-1)
		title := func(id string) string {
			if id == "" {
				return ""
			}
			return git("log", "-1", "--format=%s", id)
		}
		if got := title(good) + ".." + title(bad); err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}
