//go:build machine

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bisectedRepo is a repository of commits, from the fifth on of which a benchmark, and the service, allocate.
func bisectedRepo(t *testing.T, commits int) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	files := map[string]string{
		"go.mod":       "module example.org/x\n\ngo 1.22\n",
		"main.go":      "package main\n\nimport (\n\t\"net/http\"\n\t\"os\"\n)\n\nfunc main() {\n\thttp.HandleFunc(\"/\", func(w http.ResponseWriter, r *http.Request) { w.Write(text()[:1]) })\n\thttp.ListenAndServe(\"127.0.0.1:\"+os.Getenv(\"PORT\"), nil)\n}\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc BenchmarkText(b *testing.B) {\n\tfor b.Loop() {\n\t\ttext()\n\t}\n}\n",
	}
	for i := range commits {
		made := "kept"
		if i >= 5 {
			made = "make([]byte, 100_000)"
		}
		files["text.go"] = fmt.Sprintf("package main\n\nvar kept = make([]byte, 10)\n\n// text is %d.\nfunc text() []byte {\n\tkept = %s\n\treturn kept\n}\n", i, made)
		files["note.go"] = fmt.Sprintf("package main\n\nvar note = %d\n", i)
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "-m", fmt.Sprintf("commit %d", i))
		if i == 0 {
			git("tag", "good")
		}
	}
	return dir
}

// killed ends a search with kill -9 after a while, and checks that nothing is left of it, neither in the repository.
func killed(s *session, repo string, after time.Duration) {
	time.Sleep(after)
	s.cmd.Process.Kill()
	s.exit()
	s.nothingIsLeft()
	for _, args := range [][]string{{"status", "--porcelain"}, {"worktree", "prune", "-v"}} { // a worktree whose folder is gone is no worktree
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil || args[0] == "status" && len(out) > 0 {
			s.t.Errorf("git %q: %v\n%s", args, err, out)
		}
	}
	if out, _ := exec.Command("git", "-C", repo, "worktree", "list").Output(); strings.Count(string(out), "\n") != 1 {
		s.t.Errorf("worktrees are left:\n%s", out)
	}
}

// The commit that made a benchmark allocate is found, with its function, also by a second session after kill -9.
func TestMachineBisectBenchmark(t *testing.T) {
	repo := bisectedRepo(t, 12)
	s := &session{t: t, out: filepath.Join(t.TempDir(), "out"), mark: fmt.Sprintf("DYNO_TEST_MARK=%s-%d", t.Name(), os.Getpid()), tmp: t.TempDir()}
	s.run(repo, "bisect", ".", "--bench", "Text", "--good", "good", "--metric", "allocs_per_op", "--out", s.out)
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.out, "1-ends")); err == nil {
			break
		}
	}
	killed(s, repo, time.Second)
	s.run(repo, "bisect", "--resume", s.out)
	status := s.exit()
	said := strings.Join(strings.Fields(s.stdout.String()), " ")
	for _, want := range []string{`allocs/op of example.org/x.Text changed with`, `"commit 5"): worse, +1.`, "Why: x.text changed", "changed its source (text.go:6)", "and 2 measured"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q; status %d\n%s\n%s", want, status, &s.stdout, &s.stderr)
		}
	}
	s.nothingIsLeft()
}

// kill -9 at thirty random moments of searches, of the service and of its benchmark: nothing is left, and the next session goes on.
func TestLongBisectKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	repo := bisectedRepo(t, 12)
	var s *session
	done := 0
	for kill := 0; kill < 30 || s != nil; {
		if s == nil {
			s = &session{t: t, out: filepath.Join(t.TempDir(), "out"), mark: fmt.Sprintf("DYNO_TEST_MARK=%s-%d-%d", t.Name(), os.Getpid(), kill), tmp: t.TempDir()}
		}
		args := []string{"bisect", "--resume", s.out}
		if _, err := os.Stat(filepath.Join(s.out, "campaign.json")); err != nil {
			os.RemoveAll(s.out)
			args = []string{"bisect", ".", "--good", "good", "--metric", "alloc_per_req", "-d", "500ms", "-c", "2", "--out", s.out}
			if done%2 == 1 {
				args = []string{"bisect", ".", "--bench", "Text", "--good", "good", "--metric", "allocs_per_op", "--out", s.out}
			}
		}
		s.run(repo, args...)
		wait := time.Duration(rng.Int64N(int64(15 * time.Second)))
		if kill == 30 { // it comes to its end
			wait = 20 * time.Minute
		}
		ended := make(chan bool, 1)
		go func(s *session) {
			for {
				if data, err := os.ReadFile(filepath.Join(s.out, "bisect.json")); err == nil && strings.Contains(string(data), `"answer": "found"`) {
					ended <- true
					return
				}
				time.Sleep(20 * time.Millisecond)
				if wait -= 20 * time.Millisecond; wait <= 0 {
					ended <- false
					return
				}
			}
		}(s)
		if !<-ended {
			killed(s, repo, 0)
			kill++
			continue
		}
		if status := s.exit(); status != 0 || !strings.Contains(s.stdout.String(), `"commit 5"`) {
			t.Errorf("status %d\n%s\n%s", status, &s.stdout, &s.stderr)
		}
		s.nothingIsLeft()
		s, done = nil, done+1
	}
	t.Logf("%d searches came to their end, cut off by 30 kills", done)
}
