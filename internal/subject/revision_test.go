//go:build linux

package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// gitIn runs git in a directory, as a user without settings.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return run(t, dir, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"}, args...)...)
}

func committed(t *testing.T, dir string) {
	t.Helper()
	if !exists(filepath.Join(dir, ".git")) {
		gitIn(t, dir, "init", "-q", "-b", "main")
	}
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-qm", "a commit", "--allow-empty")
}

const (
	libMain = "package main\n\nimport \"example.com/lib\"\n\nfunc main() { println(lib.Name) }\n"
	libMod  = "module example.com/lib\n\ngo 1.22\n"
	embeds  = "package main\n\nimport _ \"embed\"\n\n//go:embed dist/page.html\nvar page string\n\nfunc main() { println(page) }\n"
)

func lib(name string) string { return "package lib\n\nconst Name = \"" + name + "\"\n" }

// Each of these repositories builds in its working tree. Its revisions do, too, or the error names what then makes it build.
func TestRevisionTraps(t *testing.T) {
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, root string) (pkg string) // in root
		fails   string                                       // part of the error; then cure mends it
		cure    func(t *testing.T, pkg string, s *dyno.Subject)
		prints  string
		warning string
	}{
		{name: "an embedded folder that git ignores, copied", make: makeEmbeds,
			fails: "consider: --copy dist", cure: func(_ *testing.T, _ string, s *dyno.Subject) { s.Copy = []string{"dist"} }, prints: "now"},
		{name: "an embedded folder that git ignores, made again", make: makeEmbeds,
			fails: "--prepare COMMAND", cure: func(_ *testing.T, _ string, s *dyno.Subject) {
				s.Prepare = "mkdir -p dist && printf made > dist/page.html"
			}, prints: "made"},
		{name: "a submodule", make: func(t *testing.T, root string) string {
			files(t, root, "lib/go.mod", libMod, "lib/lib.go", lib("of the submodule"))
			committed(t, filepath.Join(root, "lib"))
			files(t, root, "app/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./third/lib\n", "app/main.go", libMain)
			gitIn(t, filepath.Join(root, "app"), "init", "-q", "-b", "main")
			gitIn(t, filepath.Join(root, "app"), "submodule", "--quiet", "add", filepath.Join(root, "lib"), "third/lib")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/third/lib/lib.go", lib("of the working tree"))
			return "app"
		}, prints: "of the submodule"},
		{name: "a submodule that is not here", make: func(t *testing.T, root string) string {
			files(t, root, "lib/go.mod", libMod, "lib/lib.go", lib("of the submodule"))
			committed(t, filepath.Join(root, "lib"))
			files(t, root, "origin/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./third/lib\n", "origin/main.go", libMain)
			gitIn(t, filepath.Join(root, "origin"), "init", "-q", "-b", "main")
			gitIn(t, filepath.Join(root, "origin"), "submodule", "--quiet", "add", filepath.Join(root, "lib"), "third/lib")
			committed(t, filepath.Join(root, "origin"))
			gitIn(t, root, "clone", "-q", "origin", "app")
			return "app"
		}, fails: "consider: git submodule update --init third/lib", cure: func(t *testing.T, pkg string, _ *dyno.Subject) {
			gitIn(t, pkg, "submodule", "--quiet", "update", "--init", "third/lib")
		}, prints: "of the submodule"},
		{name: "a submodule that is not here and not needed", make: func(t *testing.T, root string) string {
			files(t, root, "docs/page", "")
			committed(t, filepath.Join(root, "docs"))
			files(t, root, "origin/go.mod", goMod, "origin/main.go", helloMain)
			gitIn(t, filepath.Join(root, "origin"), "init", "-q", "-b", "main")
			gitIn(t, filepath.Join(root, "origin"), "submodule", "--quiet", "add", filepath.Join(root, "docs"), "docs")
			committed(t, filepath.Join(root, "origin"))
			gitIn(t, root, "clone", "-q", "origin", "app")
			return "app"
		}, prints: "v1"},
		{name: "Git LFS without the content of what is not embedded", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/cmd/main.go", embeds, "app/cmd/dist/page.html", "here",
				"app/docs/large", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("ab", 32)+"\nsize 5\n")
			committed(t, filepath.Join(root, "app"))
			return "app/cmd"
		}, prints: "here", warning: "docs/large is a pointer of Git LFS"},
		{name: "an embedded folder of which git has a hidden file", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/dist/.gitkeep", "", "app/.gitignore", "dist/*\n!.gitkeep\n",
				"app/main.go", "package main\n\nimport \"embed\"\n\n//go:embed dist\nvar dist embed.FS\n\nfunc main() {\n\ttext, _ := dist.ReadFile(\"dist/page.html\")\n\tprintln(string(text))\n}\n")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/dist/page.html", "now")
			return "app"
		}, fails: "consider: --copy dist", cure: func(_ *testing.T, _ string, s *dyno.Subject) { s.Copy = []string{"dist"} }, prints: "now"},
		{name: "an embedded folder of another package", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/cmd/main.go", "package main\n\nimport \"example.org/x/web\"\n\nfunc main() { println(web.Page) }\n",
				"app/web/web.go", "package web\n\nimport _ \"embed\"\n\n//go:embed dist/page.html\nvar Page string\n", "app/.gitignore", "dist/\n")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/web/dist/page.html", "now")
			return "app/cmd"
		}, fails: "consider: --copy ../web/dist", cure: func(_ *testing.T, _ string, s *dyno.Subject) { s.Copy = []string{"../web/dist"} }, prints: "now"},
		{name: "a profile that git does not have", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/main.go", helloMain)
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/default.pgo", "")
			return "app"
		}, prints: "v1", warning: "git does not have default.pgo"},
		{name: "code that git ignores", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/main.go", helloMain, "app/.gitignore", "*.gen.go\n*_windows.go\nscratch.go\ntmp\n")
			files(t, root, "app/a_windows.go", "package main\n", "app/scratch.go", "//go:build ignore\n\npackage main\n", "app/tmp/try/main.go", "package main\n")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/a.gen.go", "package main\n\nfunc init() { println(1) }\n", "app/b.gen.go", "package main\n", "app/testdata/c.gen.go", "package c\n")
			return "app"
		}, prints: "v1", warning: "git does not have a.gen.go, one of 2 such files"},
		{name: "go.work above the repository", make: func(t *testing.T, root string) string {
			files(t, root, "go.work", "go 1.22\n\nuse (\n\t./lib2\n\t./app\n)\n", "lib2/go.mod", libMod, "lib2/lib.go", lib("of the workspace"),
				"app/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n", "app/main.go", libMain)
			committed(t, filepath.Join(root, "app"))
			return "app"
		}, prints: "of the workspace", warning: "lib2"},
		{name: "go.work in the repository that git does not know", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.work", "go 1.22\n\nuse ./cmd\nuse ./lib2 // the library\n", "app/lib2/go.mod", libMod, "app/lib2/lib.go", lib("of the revision"),
				"app/cmd/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n", "app/cmd/main.go", libMain, "app/.gitignore", "go.work\n")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/lib2/lib.go", lib("of the working tree"))
			return "app/cmd"
		}, prints: "of the revision"},
		{name: "a module beside the repository", make: func(t *testing.T, root string) string {
			files(t, root, "lib/go.mod", libMod, "lib/lib.go", lib("beside"),
				"app/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n", "app/main.go", libMain)
			committed(t, filepath.Join(root, "app"))
			gitIn(t, filepath.Join(root, "app"), "worktree", "add", "-q", "--detach", filepath.Join(root, "elsewhere/app")) // of the user
			return "app"
		}, prints: "beside", warning: "lib"},
		{name: "a module two directories above", make: func(t *testing.T, root string) string {
			files(t, root, "lib/go.mod", libMod, "lib/lib.go", lib("above"),
				"team/app/svc/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n\nreplace (\n\texample.com/lib v0.0.0 => ../../../lib\n)\n", "team/app/svc/main.go", libMain)
			committed(t, filepath.Join(root, "team/app"))
			return "team/app/svc"
		}, prints: "above", warning: "lib"},
		{name: "Git LFS", make: func(t *testing.T, root string) string {
			const content = "large"
			sum := sha256.Sum256([]byte(content))
			oid := hex.EncodeToString(sum[:])
			files(t, root, "app/go.mod", goMod, "app/main.go", embeds, "app/dist/page.html", "version https://git-lfs.github.com/spec/v1\noid sha256:"+oid+"\nsize 5\n")
			committed(t, filepath.Join(root, "app"))
			files(t, root, "app/.git/lfs/objects/"+oid[:2]+"/"+oid[2:4]+"/"+oid, content, "app/dist/page.html", content)
			return "app"
		}, prints: "large"},
		{name: "Git LFS without the content", make: func(t *testing.T, root string) string {
			files(t, root, "app/go.mod", goMod, "app/main.go", embeds, "app/dist/page.html", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("ab", 32)+"\nsize 5\n")
			committed(t, filepath.Join(root, "app"))
			return "app"
		}, fails: "consider: git lfs fetch origin"},
		{name: "a shallow clone", make: func(t *testing.T, root string) string {
			files(t, root, "origin/go.mod", goMod, "origin/main.go", helloMain)
			committed(t, filepath.Join(root, "origin"))
			committed(t, filepath.Join(root, "origin"))
			gitIn(t, root, "clone", "-q", "--depth", "1", "file://"+filepath.Join(root, "origin"), "app")
			return "app"
		}, fails: "git fetch --unshallow", cure: func(t *testing.T, pkg string, s *dyno.Subject) {
			gitIn(t, pkg, "fetch", "-q", "--unshallow")
		}, prints: "v1"},
		{name: "a branch that was not fetched", make: func(t *testing.T, root string) string {
			files(t, root, "origin/go.mod", goMod, "origin/main.go", helloMain)
			committed(t, filepath.Join(root, "origin"))
			gitIn(t, filepath.Join(root, "origin"), "branch", "feature")
			gitIn(t, root, "clone", "-q", "--single-branch", "-b", "main", "file://"+filepath.Join(root, "origin"), "app")
			return "app:origin/feature"
		}, fails: "git fetch origin feature:refs/remotes/origin/feature", cure: func(t *testing.T, pkg string, s *dyno.Subject) {
			gitIn(t, pkg, "fetch", "-q", "origin", "feature:refs/remotes/origin/feature")
		}, prints: "v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOPROXY", "off")
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			gocache(t)
			root := t.TempDir()
			pkg, rev, ok := strings.Cut(c.make(t, root), ":")
			if pkg = filepath.Join(root, pkg); !ok {
				rev = "HEAD"
			}
			if c.name == "a shallow clone" {
				rev = "HEAD~1"
			}
			s := dyno.Subject{Package: ".", Dir: pkg, Rev: rev}
			for times := range 2 { // the second finds what the first prepared
				b := newBuilder(t)
				if c.fails != "" && times == 0 {
					_, err := b.Build(context.Background(), s)
					wantError(t, err, c.fails)
					if err := b.Close(); err != nil {
						t.Error(err)
					}
					if c.cure == nil {
						return
					}
					c.cure(t, pkg, &s)
					b = newBuilder(t)
				}
				built := mustBuild(t, b, s)
				said, err := exec.Command(built.Path).CombinedOutput()
				if got := strings.TrimSpace(string(said)); err != nil || got != c.prints || !built.Injected {
					t.Errorf("it prints %q, want %q (error %v, injected %t)", got, c.prints, err, built.Injected)
				}
				warned := strings.Join(built.Warnings.Texts(), "; ")
				if (c.warning == "") != (warned == "") || !strings.Contains(warned, c.warning) {
					t.Errorf("warnings %q, want one with %q", warned, c.warning)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
			left, _ := filepath.Glob(filepath.Join(root, "*/.git/worktrees/*"))
			for _, l := range left {
				if !strings.HasSuffix(l, "worktrees/app") { // of the user
					t.Errorf("left behind: %s", l)
				}
			}
		})
	}
}

func makeEmbeds(t *testing.T, root string) string {
	files(t, root, "app/go.mod", goMod, "app/main.go", embeds, "app/.gitignore", "dist/\n")
	committed(t, filepath.Join(root, "app"))
	files(t, root, "app/dist/page.html", "now")
	return "app"
}

// files writes files below a directory: names and texts in turn.
func files(t *testing.T, root string, texts ...string) {
	t.Helper()
	writeFiles(t, root, texts...)
}

// gocache keeps the cache of compiled packages, which XDG_CACHE_HOME would move.
func gocache(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	t.Setenv("GOMODCACHE", f[1])
	if f[0] = os.Getenv("GOCACHE"); f[0] == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		f[0] = filepath.Join(home, ".cache/go-build")
	}
	t.Setenv("GOCACHE", f[0])
}

// What a command made is not made again in the next run, unless the command is another; what fails is shown.
func TestPrepareOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	gocache(t)
	root := t.TempDir()
	dir := filepath.Join(root, makeEmbeds(t, root))
	count := filepath.Join(root, "count")
	build := func(command string) (*Built, error) {
		b := newBuilder(t)
		return b.Build(context.Background(), dyno.Subject{Package: ".", Dir: dir, Rev: "HEAD", Prepare: command})
	}
	command := fmt.Sprintf("echo x >> %s; mkdir -p dist/sub; ln -sf ../page.html dist/sub/link; printf made > dist/page.html", count)
	for range 2 {
		built, err := build(command)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(built.Path).CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "made" {
			t.Errorf("it prints %q, %v", said, err)
		}
	}
	if text, _ := os.ReadFile(count); string(text) != "x\n" {
		t.Errorf("prepared %d times", strings.Count(string(text), "x"))
	}
	_, err := build("printf 'the %s' reason; exit 3")
	wantError(t, err, "the reason")
	_, err = build("true")
	wantError(t, err, "no matching files")
}

// What is copied is what git does not have: the revision's own files stay, and nothing outside of the worktree is touched.
func TestCopyStays(t *testing.T) {
	gocache(t)
	root := t.TempDir()
	app := filepath.Join(root, "app")
	files(t, root, "app/go.mod", goMod, "app/main.go", embeds, "app/.gitignore", "dist/page.html\n", "app/dist/kept", "", "srv/dist/page.html", "of the user")
	if err := os.Symlink(filepath.Join(root, "srv"), filepath.Join(app, "web")); err != nil {
		t.Fatal(err)
	}
	committed(t, app)
	files(t, root, "app/dist/page.html", "now", "app/main.go", strings.Replace(embeds, "package main", "package main // today's", 1)+"\nfunc init() { panic(1) }\n")
	build := func(copies ...string) (*Built, error) {
		b := newBuilder(t)
		return b.Build(context.Background(), dyno.Subject{Package: ".", Dir: app, Rev: "HEAD", Copy: copies})
	}
	for _, path := range []string{"dist", "."} {
		built, err := build(path)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(built.Path).CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "now" {
			t.Errorf("with a copy of %s it prints %q, %v", path, said, err)
		}
	}
	_, err := build("go.mod")
	wantError(t, err, "copy go.mod: git has all of it")
	_, err = build("web/dist")
	wantError(t, err, "copy web/dist")
	if text, err := os.ReadFile(filepath.Join(root, "srv/dist/page.html")); string(text) != "of the user" {
		t.Errorf("behind a link of the revision: %q, %v", text, err)
	}
}

// What a command does to files of git is done in each run, and what it made in one directory is not another's.
func TestPrepareAnew(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	gocache(t)
	root := t.TempDir()
	files(t, root, "app/go.mod", goMod)
	for _, dir := range []string{"a", "b"} {
		files(t, root, "app/"+dir+"/main.go", embeds, "app/"+dir+"/dist/page.html", "tracked")
	}
	committed(t, filepath.Join(root, "app"))
	for range 2 {
		for _, dir := range []string{"a", "b"} {
			b := newBuilder(t)
			built, err := b.Build(context.Background(), dyno.Subject{Package: ".", Dir: filepath.Join(root, "app", dir), Rev: "HEAD", Prepare: "basename $PWD > dist/page.html"})
			if err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command(built.Path).CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != dir {
				t.Errorf("in %s it prints %q, %v", dir, said, err)
			}
		}
	}
}

// Temporary files of a build's commands go with the builder, whatever becomes of the commands.
func TestTemporaryFiles(t *testing.T) {
	gocache(t)
	root, temp := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, makeEmbeds(t, root))
	t.Setenv("TMPDIR", temp)
	b := newBuilder(t)
	_, err := b.Build(context.Background(), dyno.Subject{Package: ".", Dir: dir, Rev: "HEAD", Prepare: "mktemp && exit 3"})
	wantError(t, err, "exit status 3")
	if left, _ := filepath.Glob(filepath.Join(temp, "tmp.*")); left != nil {
		t.Errorf("outside of the builder's folder: %v", left)
	}
}

// A hook of git has variables that bind git to its repository, which is not the subject's.
func TestInHook(t *testing.T) {
	gocache(t)
	root := t.TempDir()
	files(t, root, "app/go.mod", goMod, "app/main.go", helloMain)
	committed(t, filepath.Join(root, "app"))
	t.Setenv("GIT_DIR", ".git")
	t.Setenv("GIT_INDEX_FILE", filepath.Join(root, "index"))
	mustBuild(t, newBuilder(t), dyno.Subject{Package: "./app", Dir: root, Rev: "HEAD"})
}

// An entry of git that a crash has left is used again: one of another name would stay.
func TestEntryOfCrash(t *testing.T) {
	gocache(t)
	root := t.TempDir()
	files(t, root, "lib/go.mod", libMod, "lib/lib.go", lib("beside"),
		"app/go.mod", "module example.com/app\n\ngo 1.22\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n", "app/main.go", libMain)
	app, saved := filepath.Join(root, "app"), filepath.Join(root, "saved")
	committed(t, app)
	list := filepath.Join(app, ".git/worktrees")
	for range 2 {
		b, err := NewBuilder(root) // the name depends on the place
		if err != nil {
			t.Fatal(err)
		}
		mustBuild(t, b, dyno.Subject{Package: ".", Dir: app, Rev: "HEAD"})
		if !exists(saved) {
			run(t, root, "cp", "-rT", list, saved)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(list); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
		run(t, root, "cp", "-rT", saved, list)
	}
}

// Revisions that differ in what no program is made of have one sum, though each is built in a worktree of its own; a revision that differs in more
// has another.
func TestRevisionsOfOneProgram(t *testing.T) {
	dir := t.TempDir()
	sums := map[string]string{}
	b := newBuilder(t)
	for _, c := range [][2]string{
		{"first", "package main\n\nfunc main() { println(1) }\n"},
		{"comment", "package main\n\nfunc main() { println(1) } // one\n"},
		{"code", "package main\n\nfunc main() { println(2) }\n"},
	} {
		files(t, dir, "go.mod", "module example.com/x\n\ngo 1.22\n", "main.go", c[1])
		committed(t, dir)
		built, err := b.Build(context.Background(), dyno.Subject{Package: ".", Dir: dir, Rev: strings.TrimSpace(gitIn(t, dir, "rev-parse", "HEAD"))})
		if err != nil {
			t.Fatal(err)
		}
		sums[c[0]] = built.Sum
	}
	if sums["first"] != sums["comment"] || sums["first"] == sums["code"] {
		t.Errorf("sums %q", sums)
	}
}
