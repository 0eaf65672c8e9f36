package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dynolab/dyno/internal/git"
)

func gitIn(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Stderr = new(bytes.Buffer)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, cmd.Stderr)
	}
	return strings.TrimSpace(string(out))
}

// commit makes one of the branch that is checked out, and returns its hash.
func commit(t testing.TB, dir string) string {
	t.Helper()
	write(t, filepath.Join(dir, "file"), unlike())
	gitIn(t, dir, "", "add", "file")
	gitIn(t, dir, "", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x")
	return gitIn(t, dir, "", "rev-parse", "HEAD")
}

// unlike is a text that no other call has returned.
var unlike = func() func() string {
	var n int
	var mu sync.Mutex
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return strconv.Itoa(n)
	}
}()

// repositoryOf makes a repository with one commit.
func repositoryOf(t testing.TB, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "", append([]string{"init", "-q", "-b", "main"}, args...)...)
	commit(t, dir)
	return dir
}

// script writes a program of the shell.
func script(t testing.TB, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text)
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// pointTo moves the ledger's ref to a commit of a tree, given as git ls-tree prints it.
func pointTo(t testing.TB, dir, tree string) {
	t.Helper()
	gitIn(t, dir, "", "update-ref", DefaultRef, gitIn(t, dir, "", "-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "x", gitIn(t, dir, tree, "mktree")))
}

// shapes are repositories of many kinds, made as they are asked for.
var shapes = map[string]func(t *testing.T) (dir string){
	"plain":  func(t *testing.T) string { return repositoryOf(t) },
	"sha256": func(t *testing.T) string { return repositoryOf(t, "--object-format=sha256") },
	"packed": func(t *testing.T) string { // hashes of refs in one file
		dir := repositoryOf(t)
		gitIn(t, dir, "", "pack-refs", "--all")
		return dir
	},
	"bare": func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "bare")
		gitIn(t, repositoryOf(t), "", "clone", "-q", "--bare", ".", dir)
		return dir
	},
	"worktree": func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "tree")
		gitIn(t, repositoryOf(t), "", "worktree", "add", "-q", dir)
		return dir
	},
	"folder": func(t *testing.T) string {
		dir := filepath.Join(repositoryOf(t), "a", "b")
		write(t, filepath.Join(dir, "file"), "x")
		return dir
	},
	"hook": func(t *testing.T) string { // git sets these for hooks
		dir, other := repositoryOf(t), repositoryOf(t)
		t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
		t.Setenv("GIT_WORK_TREE", other)
		t.Setenv("GIT_INDEX_FILE", filepath.Join(other, "index"))
		t.Setenv("GIT_AUTHOR_DATE", "nonsense")
		return dir
	},
	"configured": func(t *testing.T) string {
		dir := repositoryOf(t)
		for _, kv := range []string{"user.useConfigOnly=true", "commit.gpgSign=true", "core.autocrlf=true", "i18n.commitEncoding=utf-16"} {
			k, v, _ := strings.Cut(kv, "=")
			gitIn(t, dir, "", "config", k, v)
		}
		return dir
	},
}

// A repository of any shape gets the lines, and nothing else of it changes. No hook runs.
func TestRepositories(t *testing.T) {
	hook := filepath.Join(t.TempDir(), "ran")
	for name, make := range shapes {
		t.Run(name, func(t *testing.T) {
			dir := make(t)
			l := open(t, "", dir)
			clean := git.Command(t.Context(), dir).Env
			state := func() string {
				cmd := exec.Command("sh", "-c", `git for-each-ref | grep -v refs/dyno/track; git rev-parse --symbolic-full-name HEAD; git status --porcelain 2>&1; cd "$(git rev-parse --git-dir)" && ls && cat index 2>/dev/null`)
				cmd.Dir, cmd.Env = dir, clean
				out, err := cmd.CombinedOutput()
				if err != nil && name != "bare" {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			cmd := exec.Command("git", "rev-parse", "--git-common-dir")
			cmd.Dir, cmd.Env = dir, clean
			common, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range []string{"reference-transaction", "post-commit", "pre-commit", "commit-msg"} {
				path := filepath.Join(strings.TrimSpace(string(common)), "hooks", h)
				if !filepath.IsAbs(path) {
					path = filepath.Join(dir, path)
				}
				script(t, path, "touch "+hook+"\nexit 1\n")
			}
			before := state()
			add(t, l, line(1, "one"), line(50_000, "two"))
			add(t, l, line(2, "three"))
			want(t, l, line(1, "one"), line(2, "three"), line(50_000, "two"))
			if after := state(); after != before {
				t.Errorf("%s\nbecame\n%s", before, after)
			}
			if _, err := os.Stat(hook); err == nil {
				t.Error("a hook ran")
			}
			if !strings.HasSuffix(l.String(), strings.TrimSuffix(dir, "/a/b")) || !strings.HasPrefix(l.String(), "refs/dyno/track of /") {
				t.Errorf("its name is %s", l)
			}
		})
	}
}

// What is there already makes no commit; files of a later dyno stay.
func TestTree(t *testing.T) {
	dir := repositoryOf(t)
	l := open(t, "", dir)
	add(t, l, line(1, "one"))
	tip := gitIn(t, dir, "", "rev-parse", DefaultRef)
	add(t, l, line(1, "one"))
	if now := gitIn(t, dir, "", "rev-parse", DefaultRef); now != tip {
		t.Error("nothing new made a commit")
	}
	tree := gitIn(t, dir, "", "ls-tree", DefaultRef) + "\n" + gitIn(t, dir, "", "ls-tree", "HEAD", "file") + "\n040000 tree " + gitIn(t, dir, "", "rev-parse", "HEAD^{tree}") + "\tfolder\n"
	pointTo(t, dir, tree)
	add(t, l, line(2, "two"))
	want(t, l, line(1, "one"), line(2, "two"))
	if names := gitIn(t, dir, "", "ls-tree", "--name-only", DefaultRef); names != "2026-01.jsonl\nfile\nfolder" {
		t.Errorf("the tree has %q", names)
	}
}

// A commit that is kept is there when its branch has gone, and git has collected what nothing refers to.
func TestKeep(t *testing.T) {
	dir := repositoryOf(t)
	l := open(t, "", dir)
	gitIn(t, dir, "", "checkout", "-q", "-b", "side")
	kept, alone := commit(t, dir), commit(t, dir)
	gitIn(t, dir, "", "checkout", "-q", "main")
	if err := l.Add(t.Context(), []json.RawMessage{line(1, "one")}, kept); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(t.Context(), []json.RawMessage{line(2, "two")}, kept, gitIn(t, dir, "", "rev-parse", "HEAD")); err != nil {
		t.Fatal(err)
	}
	if parents := strings.Fields(gitIn(t, dir, "", "rev-list", "--parents", "-1", DefaultRef)); len(parents) != 2 {
		t.Errorf("the second commit has %d parents: what is kept is kept again", len(parents)-1)
	}
	gitIn(t, dir, "", "branch", "-q", "-D", "side")
	gitIn(t, dir, "", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--amend", "-m", "another history")
	gitIn(t, dir, "", "reflog", "expire", "--expire=now", "--all")
	gitIn(t, dir, "", "gc", "-q", "--prune=now")
	if kind := gitIn(t, dir, "", "cat-file", "-t", kept); kind != "commit" {
		t.Errorf("what was kept is a %s", kind)
	}
	if exec.Command("git", "-C", dir, "cat-file", "-e", alone).Run() == nil {
		t.Error("what was not kept is there, so the test proves nothing")
	}
	want(t, l, line(1, "one"), line(2, "two"))
	for _, keep := range []string{alone, kept[:12], "main", "", gitIn(t, dir, "", "rev-parse", "HEAD^{tree}"), "x\ny"} {
		err := l.Add(t.Context(), []json.RawMessage{line(3, "three")}, keep)
		if err == nil || !strings.Contains(err.Error(), "no commit of the repository has that full hash") {
			t.Errorf("keep %q: %v", keep, err)
		}
	}
	want(t, l, line(1, "one"), line(2, "two"))
}

// Many that add to one repository at once lose nothing.
func TestAddAtOnce(t *testing.T) {
	dir := repositoryOf(t)
	var all []json.RawMessage
	var wg sync.WaitGroup
	for i := range 6 {
		own := []json.RawMessage{line(2*i, "x"), line(2*i+1, "y")}
		all = append(all, own...)
		wg.Go(func() {
			l := open(t, "", dir)
			for _, line := range own {
				if err := l.Add(t.Context(), []json.RawMessage{line}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want(t, open(t, "", dir), all...)
}

// However few of its commands git lives to run, the ref has the former state or the new one, whole.
func TestKilled(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	count := filepath.Join(bin, "count")
	script(t, filepath.Join(bin, "git"), fmt.Sprintf(`n=$(($(cat %[1]s) - 1))
echo $n >%[1]s
[ $n -ge 0 ] || kill -9 $$
exec %[2]s "$@"
`, count, real))
	dir := repositoryOf(t)
	l := open(t, "", dir)
	add(t, l, line(1, "one"))
	path, head := os.Getenv("PATH"), gitIn(t, dir, "", "rev-parse", "HEAD")
	for lives := 0; ; lives++ {
		write(t, count, strconv.Itoa(lives))
		t.Setenv("PATH", bin+":"+path)
		err := l.Add(t.Context(), []json.RawMessage{line(2, "two"), line(50_000, "two")}, head)
		t.Setenv("PATH", path)
		if err == nil {
			if lives < 5 {
				t.Errorf("all was done by %d commands", lives)
			}
			break
		}
		want(t, l, line(1, "one"))
	}
	want(t, l, line(1, "one"), line(2, "two"), line(50_000, "two"))
}

// Without git, or when its objects are damaged or too large, the message says so.
func TestGitErrors(t *testing.T) {
	dir := repositoryOf(t)
	l := open(t, "", dir)
	add(t, l, line(1, "one"))
	blob := gitIn(t, dir, "", "rev-parse", DefaultRef+":2026-01.jsonl")
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Read(t.Context()); err == nil || !strings.Contains(err.Error(), blob+" is no blob of the repository") {
		t.Error(err)
	}
	tree := gitIn(t, dir, "", "rev-parse", DefaultRef+"^{tree}")
	if err := os.Remove(filepath.Join(dir, ".git/objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(t.Context(), []json.RawMessage{line(2, "two")}); err == nil || !strings.Contains(err.Error(), "the tree of ") {
		t.Errorf("a tree that is missing was taken for an empty one: %v", err)
	}
	huge := gitIn(t, dir, strings.Repeat("\n", mostBytes+1), "-c", "core.compression=0", "hash-object", "-w", "--stdin")
	pointTo(t, dir, "100644 blob "+huge+"\t2026-01.jsonl\n")
	if _, _, err := l.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "more than dyno reads of it") {
		t.Error(err)
	}
	t.Setenv("PATH", "")
	if _, _, err := l.Read(t.Context()); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "consider: install git") {
		t.Error(err)
	}
}

func BenchmarkRead(b *testing.B) {
	dir := repositoryOf(b)
	l := open(b, "", dir)
	var lines []json.RawMessage
	fill := strings.Repeat(`{"p50":1.25,"n":"value"},`, 38)
	for i := range 10_000 {
		lines = append(lines, json.RawMessage(fmt.Sprintf(`{"at":"%d-%02d-%02dT%02d:00:00Z","n":%d,"values":[%s0]}`, 2024+i/12%3, i%12+1, i/36%28+1, i%24, i, fill)))
	}
	add(b, l, lines...)
	if n := len(slices.Collect(strings.Lines(gitIn(b, dir, "", "ls-tree", DefaultRef)))); n != 36 {
		b.Fatalf("%d months", n)
	}
	for b.Loop() {
		if got, _, err := l.Read(b.Context()); err != nil || len(got) != len(lines) {
			b.Fatalf("%d lines, %v", len(got), err)
		}
	}
}
