//go:build linux

package subject

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dynolab/dyno"

	"github.com/dynolab/dyno/internal/subject/imprint"
)

const (
	goMod     = "module example.org/x\n\ngo 1.22\n"
	helloMain = "package main\n\nfunc main() { println(\"v1\") }\n"
)

// wantProbe builds and reports whether the probe is in the executable.
func wantProbe(t *testing.T, b *Builder, s dyno.Subject) {
	t.Helper()
	built := mustBuild(t, b, s)
	exe, err := os.ReadFile(built.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !built.Injected || !strings.Contains(string(exe), "DYNO_PROBE") {
		t.Errorf("%s: injected %t, in the executable %t; warnings %q",
			s.String(), built.Injected, strings.Contains(string(exe), "DYNO_PROBE"), built.Warnings)
	}
}

// A variable of the go command is the build's too; one of the runtime makes no other program.
func TestServiceBuildVariables(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", goMod, "main.go", helloMain, "tagged.go", "//go:build tagged\n\npackage main\n\nfunc init() { println(\"tagged\") }\n")
	sum := func(env ...string) string {
		s := dyno.Subject{Package: dir, NoInject: true, Env: map[string]string{}}
		for _, e := range env {
			name, value, _ := strings.Cut(e, "=")
			s.Env[name] = value
		}
		return mustBuild(t, b, s).Sum
	}
	plain := sum()
	if sum("GOGC=50", "PORT=1") != plain || sum("GOFLAGS=") != plain {
		t.Error("a variable of the program, or an empty one, makes another program")
	}
	if sum("GOFLAGS=-tags=tagged") == plain {
		t.Error("GOFLAGS is not the build's")
	}
}

func TestInject(t *testing.T) {
	b := newBuilder(t)
	t.Run("plain", func(t *testing.T) {
		dir := tree(t, "go.mod", goMod, "main.go", helloMain)
		before := listing(t, dir)
		wantProbe(t, b, dyno.Subject{Package: dir})
		if after := listing(t, dir); after != before {
			t.Errorf("the tree changed from %s to %s", before, after)
		}
		if b := mustBuild(t, b, dyno.Subject{Package: dir, NoInject: true}); b.Injected || len(b.Warnings) > 0 {
			t.Errorf("with NoInject: %+v", b)
		}
	})
	t.Run("relative", func(t *testing.T) {
		dir := tree(t, "go.mod", goMod, "cmd/server/main.go", helloMain)
		wantProbe(t, b, dyno.Subject{Package: "./cmd/server", Dir: dir})
		wantProbe(t, b, dyno.Subject{Package: "cmd/server", Dir: dir})
		wantProbe(t, b, dyno.Subject{Package: "example.org/x/cmd/server", Dir: dir})
	})
	t.Run("symlink", func(t *testing.T) {
		dir := tree(t, "go.mod", goMod, "main.go", helloMain)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PWD", link) // which the go command prefers to the kernel's word
		wantProbe(t, b, dyno.Subject{Package: link})
	})
	t.Run("vendor", func(t *testing.T) {
		wantProbe(t, b, dyno.Subject{Package: tree(t,
			"go.mod", goMod+"\nrequire example.org/dep v1.0.0\n",
			"vendor/modules.txt", "# example.org/dep v1.0.0\n## explicit; go 1.22\nexample.org/dep\n",
			"vendor/example.org/dep/dep.go", "package dep\n\nfunc F() {}\n",
			"main.go", "package main\n\nimport \"example.org/dep\"\n\nfunc main() { dep.F() }\n",
		)})
	})
	t.Run("workspace", func(t *testing.T) {
		dir := tree(t,
			"go.work", "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n",
			"a/go.mod", "module example.org/a\n\ngo 1.22\n", "b/go.mod", "module example.org/b\n\ngo 1.22\n",
			"a/main.go", "package main\n\nimport \"example.org/b\"\n\nfunc main() { b.F() }\n",
			"b/b.go", "package b\n\nfunc F() {}\n")
		wantProbe(t, b, dyno.Subject{Package: filepath.Join(dir, "a")})
	})
	t.Run("names", func(t *testing.T) { // of packages that the probe imports, and its file's
		wantProbe(t, b, dyno.Subject{Package: tree(t, "go.mod", goMod, "zz_dyno_probe.go",
			"package main\n\nimport . \"strings\"\n\nvar os, runtime, net, bufio, strconv, min, max, copy, any int\n\nfunc main() { println(ToUpper(\"x\")) }\n")})
	})
	t.Run("collision", func(t *testing.T) {
		built := mustBuild(t, b, dyno.Subject{Package: tree(t, "go.mod", goMod,
			"main.go", helloMain+"\nvar dynoProbeServe int\n")})
		if built.Injected || len(built.Warnings) != 1 || !strings.Contains(built.Warnings[0].Text, "does not build with it: overlay") {
			t.Errorf("%+v; want it built without the probe, and a warning", built)
		}
	})
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	return run(t, dir, "ls", "-lR", "--full-time")
}

func TestBuildOnce(t *testing.T) {
	b := newBuilder(t)
	s := dyno.Subject{Package: tree(t, "go.mod", goMod, "main.go", helloMain)}
	first := mustBuild(t, b, s)
	if again := mustBuild(t, b, s); again != first {
		t.Error("built twice")
	}
	s.Build = []string{"-ldflags=-s"}
	if other := mustBuild(t, b, s); other.Path == first.Path {
		t.Error("flags make no difference")
	}
}

// Each layout is another executable of the same program, with the user's own flags of the linker.
func TestLayout(t *testing.T) {
	b := newBuilder(t)
	s := dyno.Subject{
		Package: tree(t, "go.mod", goMod, "main.go", "package main\n\nvar name = \"plain\"\n\nfunc main() { println(name) }\n"),
		Build:   []string{"-ldflags=-X main.name=flagged"},
	}
	plain := mustBuild(t, b, s)
	exes := map[string]bool{}
	for _, layout := range []uint32{0, 3, 5} {
		s.Layout = layout
		built := mustBuild(t, b, s)
		if built.Sum != plain.Sum || !built.Injected {
			t.Errorf("layout %d: sum %s of the program, want %s; injected %t", layout, built.Sum, plain.Sum, built.Injected)
		}
		sum, err := imprint.Of(built.Path, "")
		if err != nil {
			t.Fatal(err)
		}
		exes[sum] = true
		if said, err := exec.Command(built.Path).CombinedOutput(); err != nil || string(said) != "flagged\n" {
			t.Errorf("layout %d: it says %q, %v", layout, said, err)
		}
	}
	if len(exes) != 3 {
		t.Errorf("%d executables of three layouts", len(exes))
	}
	s.Layout = 7
	mustBuild(t, b, s)
	if kept, _ := filepath.Glob(filepath.Join(b.dir, "bin*")); len(kept) != 3 {
		t.Errorf("%d executables are kept, want that without a layout, and those of the last two", len(kept))
	}
	s.Layout = 3
	if again := mustBuild(t, b, s); !exists(again.Path) {
		t.Error("an executable that was removed is not built again")
	}
}

func TestBuildErrors(t *testing.T) {
	b := newBuilder(t)
	ctx := context.Background()
	_, err := b.Build(ctx, dyno.Subject{Package: tree(t, "go.mod", goMod, "main.go", "package main\n\nfunc main() { oops() }\n")})
	wantError(t, err, "go build", "exit status 1", "main.go:3:15: undefined: oops")

	dir := tree(t, "go.mod", goMod, "lib/x.go", "package lib\n", "empty/x.txt", "", "script", "#!/bin/sh\n")
	for _, test := range []struct {
		s    dyno.Subject
		want string
	}{
		{dyno.Subject{Package: "./nosuch", Dir: dir}, "nosuch"},
		{dyno.Subject{Package: "nosuch", Dir: dir}, "neither a directory"},
		{dyno.Subject{Package: "./lib", Dir: dir}, "package lib (want a main package)"},
		{dyno.Subject{Package: "./lib/x.go", Dir: dir}, "is a file"},
		{dyno.Subject{Package: "./empty", Dir: dir}, "no Go files"},
		{dyno.Subject{Package: "./lib", Dir: dir, Args: []string{"{{.Adr}}"}}, `no entry for key "Adr"`},
		{dyno.Subject{Package: "./lib", Dir: dir, Rev: "HEAD"}, "not in a git repository"},
		{dyno.Subject{Binary: "nosuch", Dir: dir}, "nosuch"},
		{dyno.Subject{Binary: "lib", Dir: dir}, "is a directory"},
		{dyno.Subject{Binary: "script", Dir: dir}, "chmod +x"},
	} {
		_, err := b.Build(ctx, test.s)
		wantError(t, err, test.want)
		if err := b.Check(ctx, test.s); test.s.Binary == "" {
			wantError(t, err, test.want)
		}
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) {
			t.Errorf("%v is not a PlanError", err)
		}
	}
}

// What only the compiler knows is not checked; flags and files are.
func TestCheck(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", goMod, "main.go", "package main\n\nfunc main() { oops() }\n", "cpu.pgo", "")
	for _, test := range []struct{ flag, want string }{
		{"-pgo=off", ""}, {"-pgo=cpu.pgo", ""}, {"-pgo=nosuch.pgo", "nosuch.pgo"}, {"-nosuch", "nosuch"}, {"-tags=x", ""},
	} {
		err := b.Check(t.Context(), dyno.Subject{Package: dir, Build: []string{test.flag}})
		if test.want != "" {
			wantError(t, err, test.want)
		} else if err != nil {
			t.Errorf("%s: %v", test.flag, err)
		}
	}
}

func TestGoTooOld(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", "module example.org/x\n\n// The language.\ngo 1.99 // soon\n", "main.go", helloMain)
	_, err := b.Build(context.Background(), dyno.Subject{Package: dir, Go: "1.25.5"})
	var mistake *dyno.PlanError
	if !errors.As(err, &mistake) {
		t.Fatalf("error %v is not a PlanError", err)
	}
	want := dyno.PlanError{
		File: filepath.Join(dir, "go.mod"), Line: 4, Column: 4, Source: "go 1.99 // soon",
		Msg: "Go 1.25.5 is too old: go.mod needs go 1.99",
	}
	if !reflect.DeepEqual(*mistake, want) {
		t.Errorf("%+v, want %+v", *mistake, want)
	}
}

func TestToolchain(t *testing.T) {
	for v, want := range map[string]string{
		"1.25.5": "go1.25.5", "go1.25.5": "go1.25.5", "1.26": "go1.26.0", "1.20": "go1.20",
		"1.20.14": "go1.20.14", "1.21": "go1.21.0", "1.27rc1": "go1.27rc1",
	} {
		if got := toolchain(v); got != want {
			t.Errorf("toolchain(%q) = %q, want %q", v, got, want)
		}
	}
}

func TestGivenBinary(t *testing.T) {
	b := newBuilder(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if built := mustBuild(t, b, dyno.Subject{Binary: exe}); built.Path != exe || !strings.HasPrefix(built.Go, "go1.") || built.Injected {
		t.Errorf("%+v", built)
	}
	if built := mustBuild(t, b, dyno.Subject{Binary: "/bin/sh"}); len(built.Warnings) != 1 {
		t.Errorf("no warning that the shell is no Go program: %+v", built)
	}
}

func TestRevision(t *testing.T) {
	dir := tree(t, "m/go.mod", goMod, "m/cmd/main.go", helloMain)
	git := func(args ...string) string {
		t.Helper()
		return run(t, dir, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	writeFiles(t, dir, "m/cmd/main.go", strings.Replace(helloMain, "v1", "v2", 1))
	git("commit", "-qam", "two")
	writeFiles(t, dir, "m/cmd/main.go", strings.Replace(helloMain, "v1", "v3", 1),
		".git/hooks/post-checkout", "#!/bin/sh\ntouch "+filepath.Join(dir, "hooked")+"\n")
	os.Chmod(filepath.Join(dir, ".git/hooks/post-checkout"), 0o755)

	b, err := NewBuilder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[string]string{"HEAD~1": "v1", "HEAD": "v2", "": "v3"} {
		s := dyno.Subject{Package: filepath.Join(dir, "m/cmd"), Rev: rev}
		wantProbe(t, b, s)
		built := mustBuild(t, b, s)
		if got := run(t, dir, built.Path); got != want {
			t.Errorf("rev %q is %s, want %s", rev, got, want)
		}
		commit := git("rev-parse", "HEAD")
		switch rev {
		case "":
			commit += "+dirty"
		case "HEAD~1":
			commit = git("rev-parse", "HEAD~1")
		}
		if built.Rev != commit {
			t.Errorf("rev %q is resolved to %s, want %s", rev, built.Rev, commit)
		}
	}
	var mistake *dyno.PlanError
	for rev, want := range map[string]string{"nosuch": "rev nosuch: no such revision", "--help": "no such revision"} {
		_, err := b.Build(context.Background(), dyno.Subject{Package: filepath.Join(dir, "m/cmd"), Rev: rev})
		wantError(t, err, want)
		if !errors.As(err, &mistake) {
			t.Errorf("%v is not a PlanError", err)
		}
	}
	writeFiles(t, dir, "m/later/main.go", helloMain)
	_, err = b.Build(context.Background(), dyno.Subject{Package: filepath.Join(dir, "m/later"), Rev: "HEAD"})
	wantError(t, err, "does not exist in it")

	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if list := git("worktree", "list"); strings.Contains(list, "\n") || exists(filepath.Join(dir, ".git/worktrees")) || exists(b.dir) {
		t.Errorf("left behind: %s", list)
	}
	if exists(filepath.Join(dir, "hooked")) {
		t.Error("a hook of the user's ran")
	}
}

// A revision is checked out at the same place in each run, as the go command caches
// by directory, unless another dyno is at work there.
func TestRevisionsPlace(t *testing.T) {
	dir := tree(t, "go.mod", goMod, "main.go", helloMain)
	git := func(args ...string) string {
		t.Helper()
		return run(t, dir, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	temp := t.TempDir()
	open := func() (b *Builder, at string) {
		t.Helper()
		b, err := NewBuilder(temp)
		if err != nil {
			t.Fatal(err)
		}
		at, _, err = b.revision(context.Background(), dyno.Subject{Package: dir, Rev: "HEAD"}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !exists(filepath.Join(at, "main.go")) {
			t.Errorf("nothing is in %s", at)
		}
		return b, at
	}
	shut := func(b *Builder) {
		t.Helper()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	first, at := open()
	second, beside := open()
	if beside == at {
		t.Errorf("two at a time are both in %s", at)
	}
	shut(first)
	if !exists(filepath.Join(beside, "main.go")) || exists(at) {
		t.Errorf("the end of one: its own %s is to be gone, %s to stay", at, beside)
	}
	shut(second)

	// A machine that went down leaves git's entry, but not the folder.
	git("worktree", "add", "-q", "--detach", at, "HEAD")
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	third, again := open()
	if again != at {
		t.Errorf("the next run is in %s, not in %s", again, at)
	}
	shut(third)
	if list := git("worktree", "list"); strings.Contains(list, "\n") || exists(filepath.Join(dir, ".git/worktrees")) || exists(at) {
		t.Errorf("left behind: %s", list)
	}

	// What somebody else has put there is neither followed nor removed.
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, at); err != nil {
		t.Fatal(err)
	}
	fourth, aside := open()
	if aside == at || exists(filepath.Join(elsewhere, "main.go")) {
		t.Errorf("a link was followed")
	}
	shut(fourth)
	if !exists(at) {
		t.Error("a link of somebody else's was removed")
	}
}

func TestUnknownBuildFlag(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", "module example.org/x\n", "main.go", helloMain, "main_test.go", "package main\n")
	s := dyno.Subject{Package: dir, Dir: dir, Build: []string{"-trimpath", "-nosuch"}}
	want := "build flags -trimpath -nosuch: flag provided but not defined: -nosuch"
	_, err := b.Build(context.Background(), s)
	_, err2 := b.Tests(context.Background(), s, []string{"."})
	for _, err := range []error{err, err2} {
		if mistake := (*dyno.PlanError)(nil); !errors.As(err, &mistake) || mistake.Msg != want {
			t.Errorf("%v (%T), want %s", err, err, want)
		}
	}
}
