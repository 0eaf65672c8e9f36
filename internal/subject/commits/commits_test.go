package commits

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

func runGit(_ context.Context, dir, input string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.Output()
	return string(out), err
}

// A repository is made of commits, each of files and their texts in turn; a text of "-" removes the file.
func repository(t *testing.T, commits ...[]string) string {
	t.Helper()
	dir := t.TempDir()
	must := func(args ...string) {
		t.Helper()
		if _, err := runGit(t.Context(), dir, "", args...); err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
	}
	must("init", "-q", "-b", "main")
	for i, files := range commits {
		for j := 0; j < len(files); j += 2 {
			path := filepath.Join(dir, files[j])
			if files[j+1] == "-" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(files[j+1]), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		must("add", "-A")
		must("commit", "-q", "--allow-empty", "-m", "commit "+string(rune('a'+i)))
		must("tag", string(rune('a'+i)))
	}
	return dir
}

const uses = "package main\n\nimport \"example.org/x/lib\"\n\nfunc main() { lib.F() }\n"

// A commit matters if the program may be made of what it changed, be it only in the middle of the history.
func TestMatters(t *testing.T) {
	dir := repository(t,
		[]string{"go.mod", "module example.org/x\n", "cmd/s/main.go", "package main\n\nfunc main() {}\n", "lib/lib.go", "package lib\n\nfunc F() {}\n",
			"other/other.go", "package other\n", "web/web.go", "package web\n\nimport _ \"embed\"\n\n//go:embed page/index.html\nvar Page string\n", "web/page/index.html", "1"},
		[]string{"README.md", "b"},
		[]string{"lib/lib.go", "package lib\n\nfunc F() { println() }\n"},                        // imported by a later commit alone
		[]string{"lib/lib_test.go", "package lib\n"},                                             // never in the program
		[]string{"other/other.go", "package other\n\nvar X int\n"},                               // imported by none
		[]string{"cmd/s/main.go", uses},                                                          //
		[]string{"lib/notes.txt", "assembly may include it"},                                     //
		[]string{"lib/asm_amd64.s", "// code\n"},                                                 //
		[]string{"lib/lib.go", "package lib\n\nimport _ \"example.org/x/web\"\n\nfunc F() {}\n"}, //
		[]string{"web/page/index.html", "2"},                                                     // embedded
		[]string{"go.sum", "x\n"},
		[]string{"cmd/s/main.go", "package main\n\nfunc main() {}\n"}, // lib is not imported any more
		nil,
	)
	h, err := List(t.Context(), runGit, filepath.Join(dir, "cmd/s"), "a", "main")
	if err != nil {
		t.Fatal(err)
	}
	var matter string
	for i, c := range h.Commits {
		name := string(rune('b' + i))
		if c.Title != "commit "+name || len(c.ID) != 40 || !strings.HasPrefix(c.ID, c.Short()) {
			t.Errorf("commit %s is %+v", name, c)
		}
		if c.Matters {
			matter += name
		}
	}
	if want := "cfghijkl"; matter != want {
		t.Errorf("%s matter, want %s", matter, want)
	}
	if h.Good.Title != "commit a" || h.Top == "" {
		t.Errorf("%+v", h.Good)
	}
}

// What the program is made of by a roundabout way matters, too.
func TestMattersRoundabout(t *testing.T) {
	const mod = "module example.org/x\n"
	main := func(imports string) string {
		return "package main\n\nimport _ \"" + imports + "\"\n\nfunc main() {}\n"
	}
	for _, test := range []struct {
		name  string
		files []string // of the first commit
		then  []string // of the second
	}{
		{"a fork in a folder", []string{"go.mod", mod + "\nreplace (\n\texample.org/orig v1.0.0 => ./fork // ours\n)\n", "main.go", main("example.org/orig/p"), "fork/go.mod", "module example.org/fork\n", "fork/p/p.go", "package p\n"},
			[]string{"fork/p/p.go", "package p\n\nvar X int\n"}},
		{"a nested module of the same path", []string{"go.mod", mod, "main.go", main("example.org/x/lib"), "lib/lib.go", "package lib\n", "tools/copy/go.mod", "module example.org/x/lib\n"},
			[]string{"lib/lib.go", "package lib\n\nvar X int\n"}},
		{"a module in a block", []string{"go.mod", "module (\n\t\"example.org/x\"\n)\n", "main.go", main("example.org/x/lib"), "lib/lib.go", "package lib\n"},
			[]string{"lib/lib.go", "package lib\n\nvar X int\n"}},
		{"assembly that includes", []string{"go.mod", mod, "main.go", "package main\n\nfunc main() {}\n", "f_amd64.s", "#include \"inc/n.inc\"\n", "inc/n.inc", "1"},
			[]string{"inc/n.inc", "2"}},
		{"a test that is embedded", []string{"go.mod", mod, "main.go", "package main\n\nimport _ \"embed\"\n\n//go:embed t/x_test.go\nvar X string\n\nfunc main() {}\n", "t/x_test.go", "package t\n"},
			[]string{"t/x_test.go", "package t // 2\n"}},
		{"a file that is no Go", []string{"go.mod", mod, "main.go", "package main\n\nfunc main() {}\n", "y.go", "pack age\n", "other/z.go", "package other\n"},
			[]string{"other/z.go", "package other\n\nvar X int\n"}},
		{"a file with a space in its name, removed", []string{"go.mod", mod, "main.go", main("example.org/x/lib"), "lib/lib.go", "package lib\n", "lib/a b.go", "package lib\n"},
			[]string{"lib/a b.go", "-"}},
		{"a go.mod without a module", []string{"go.mod", "\n", "main.go", main("example.org/x/lib"), "lib/lib.go", "package lib\n"},
			[]string{"lib/lib.go", "package lib\n\nvar X int\n"}},
	} {
		dir := repository(t, test.files, test.then)
		h, err := List(t.Context(), runGit, dir, "a", "b")
		if err != nil || len(h.Commits) != 1 || !h.Commits[0].Matters {
			t.Errorf("%s: %+v, %v", test.name, h, err)
		}
	}
}

// Symbolic links are not followed, so all commits matter beside one; a submodule at another commit matters.
func TestLinks(t *testing.T) {
	dir := repository(t, []string{"go.mod", "module example.org/x\n", "main.go", "package main\n\nfunc main() {}\n", "docs/a.txt", "1"})
	must := func(args ...string) {
		t.Helper()
		if _, err := runGit(t.Context(), dir, "", args...); err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
	}
	must("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,sub")
	must("commit", "-qm", "submodule \x01 \"x\"")
	must("commit", "-q", "--allow-empty", "-m", "nothing")
	h, err := List(t.Context(), runGit, dir, "a", "main")
	if err != nil || len(h.Commits) != 2 || !h.Commits[0].Matters || h.Commits[1].Matters || h.Commits[0].Title != "submodule \x01 \"x\"" {
		t.Errorf("%+v, %v", h, err)
	}
	if err := os.Symlink("main.go", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	must("add", "link.go")
	must("commit", "-qm", "link")
	if h, err = List(t.Context(), runGit, dir, "a", "main"); err != nil || len(h.Commits) != 3 || !h.Commits[1].Matters {
		t.Errorf("%+v, %v", h, err)
	}
}

// Of two folders with one module, go.mod may take either.
func TestReplaced(t *testing.T) {
	dir := repository(t,
		[]string{"go.mod", "module example.org/x\n\nreplace example.org/dep => ./dep/one\n", "main.go", "package main\n\nimport _ \"example.org/dep\"\n\nfunc main() {}\n",
			"dep/one/go.mod", "module example.org/dep\n", "dep/one/dep.go", "package dep\n", "dep/two/go.mod", "module example.org/dep\n", "dep/two/dep.go", "package dep\n"},
		[]string{"dep/one/dep.go", "package dep\n\nvar X int\n"},
		[]string{"dep/two/dep.go", "package dep\n\nvar X int\n"},
	)
	h, err := List(t.Context(), runGit, dir, "a", "main")
	if err != nil || !h.Commits[0].Matters || !h.Commits[1].Matters {
		t.Errorf("%+v, %v", h, err)
	}
}

// A merge is one commit, with all that came by it.
func TestMerge(t *testing.T) {
	dir := repository(t, []string{"go.mod", "module example.org/x\n", "main.go", "package main\n\nfunc main() {}\n"})
	for _, args := range [][]string{{"checkout", "-q", "-b", "side"}, {"commit", "-q", "--allow-empty", "-m", "one"}} {
		if _, err := runGit(t.Context(), dir, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { println() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"commit", "-qam", "two"}, {"checkout", "-q", "main"}, {"commit", "-q", "--allow-empty", "-m", "three"}, {"merge", "-q", "--no-ff", "-m", "the merge", "side"}} {
		if _, err := runGit(t.Context(), dir, "", args...); err != nil {
			t.Fatal(args, err)
		}
	}
	h, err := List(t.Context(), runGit, dir, "a", "main")
	if err != nil || len(h.Commits) != 2 || h.Commits[1].Title != "the merge" || !h.Commits[1].Matters || h.Commits[0].Matters {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestMistakes(t *testing.T) {
	dir := repository(t, []string{"main.go", "package main\n"}, []string{"main.go", "package main\n\nfunc main() {}\n"})
	for _, args := range [][]string{{"checkout", "-q", "-b", "side", "a"}, {"commit", "-q", "--allow-empty", "-m", "aside"},
		{"checkout", "-q", "-b", "foxtrot"}, {"merge", "-q", "--no-ff", "-m", "main into side", "main"}} {
		if _, err := runGit(t.Context(), dir, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ good, bad, want string }{
		{"nowhere", "main", "nowhere is no revision of "},
		{"main", "main", "main and main are the same commit"},
		{"b", "a", "b is no ancestor of a"},
		{"side", "main", "side is no ancestor of main (consider: --good "},
		{"b", "foxtrot", "b came into foxtrot by a merge, and is no first parent of it (consider: --good "},
	} {
		_, err := List(t.Context(), runGit, dir, test.good, test.bad)
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) || !strings.Contains(mistake.Msg, test.want) {
			t.Errorf("%s..%s: %v, want %s", test.good, test.bad, err, test.want)
		}
	}
	if _, err := List(t.Context(), runGit, t.TempDir(), "a", "b"); err == nil || !strings.Contains(err.Error(), "is not in a git repository") {
		t.Error(err)
	}
}

// What a commit touches is named as a profile names it: not the neighbours of what was removed, and nothing of a renamed file.
func TestTouched(t *testing.T) {
	before := "package x\n\ntype T[K any] struct{}\n\nfunc A() int {\n\treturn 1\n}\n\nfunc (t *T[K]) B() int {\n\ta := 1\n\tb := 2\n\treturn a + b\n}\n\nfunc old() {}\n\n// C has a comment.\nfunc (T[K]) C() {}\n\nfunc D() int {\n\tx := 1\n\tx = 2\n\treturn x\n}\n\nvar v = 1\n"
	after := strings.NewReplacer("return 1", "return 2", "\ta := 1\n", "", "a + b", "b", "func old() {}\n\n", "", "// C has a comment.\n", "", "\tx = 2\n", "", "var v = 1", "var v = 2").Replace(before)
	dir := repository(t, []string{"a b/x.go", before, "gone.go", "package x\n", "r.go", before, "x_test.go", "package x\n\nfunc F() int { return 1 }\n"},
		[]string{"a b/x.go", after, "gone.go", "-", "r.go", "-", "renamed.go", before, "x_test.go", "package x\n\nfunc F() int { return 2 }\n"})
	all, err := Touched(t.Context(), runGit, dir, "HEAD~1", "HEAD", false)
	want := []Func{{"a b/x.go", "A", 5}, {"a b/x.go", "(*T).B", 9}, {"a b/x.go", "D", 16}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := Touched(t.Context(), runGit, dir, "HEAD~1", "HEAD", true); err != nil || len(all) != 4 || all[3] != (Func{"x_test.go", "F", 3}) {
		t.Errorf("with tests: %v, %v", all, err)
	}
	if got := spansOf("+++ b/x.go\n@@ -1,2 +1 @@\n-a\n-b\n+++ b/y.go\n\\ No newline at end of file\n@@ -9 +8,0 @@ f\n-c\n"); len(got) != 1 || !slices.Equal(got["x.go"], []span{{1, 1}, {8, 0}}) {
		t.Errorf("a line of a hunk was read as the name of a file: %v", got)
	}
}
