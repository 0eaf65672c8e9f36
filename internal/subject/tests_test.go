//go:build linux

package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// benchModule has packages with and without benchmarks.
func benchModule(t testing.TB) string {
	return tree(t, "go.mod", goMod,
		"x.go", "package x\n\nfunc F() int { return 1 }\n",
		"x_test.go", `package x

import (
	"testing"
	"time"
)

func BenchmarkLeaks(b *testing.B) {
	b.Run("sub", func(b *testing.B) {
		for i := 0; i < 5; i++ {
			go time.Sleep(time.Hour)
		}
	})
}
`,
		"dir/x_test.go", "package x_test\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"none/x.go", "package none\n",
		"tagged/x.go", "package tagged\n",
		"tagged/x_test.go", "//go:build tagged\n\npackage tagged\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"broken/x_test.go", "package broken\n\nfunc f() { oops() }\n",
	)
}

func mustTests(t testing.TB, b *Builder, s dyno.Subject, patterns ...string) []*TestPackage {
	t.Helper()
	ps, err := b.Tests(context.Background(), s, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func mustLink(t testing.TB, b *Builder, p *TestPackage, seed uint32) string {
	t.Helper()
	path, err := b.Link(context.Background(), p, seed)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func paths(ps []*TestPackage) string {
	var list []string
	for _, p := range ps {
		list = append(list, p.ImportPath)
	}
	return strings.Join(list, " ")
}

func TestTestsFinds(t *testing.T) {
	b := newBuilder(t)
	dir := benchModule(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		patterns []string
		s        dyno.Subject
		want     string
	}{
		{nil, dyno.Subject{Dir: dir}, "example.org/x"},
		{[]string{"./..."}, dyno.Subject{Dir: dir}, "example.org/x example.org/x/broken example.org/x/dir"},
		{[]string{"./..."}, dyno.Subject{Dir: link}, "example.org/x example.org/x/broken example.org/x/dir"},
		{[]string{"./dir/", "../..."}, dyno.Subject{Dir: dir + "/dir"}, "not found"},
		{[]string{"./dir/", "."}, dyno.Subject{Dir: dir}, "example.org/x/dir example.org/x"},
		{[]string{dir + "/dir", "encoding/json"}, dyno.Subject{Dir: dir}, "example.org/x/dir encoding/json"},
		{[]string{".."}, dyno.Subject{Dir: dir + "/dir"}, "example.org/x"},
		{[]string{"./tagged"}, dyno.Subject{Dir: dir, Build: []string{"-tags=tagged"}}, "example.org/x/tagged"},
		{[]string{"./tagged"}, dyno.Subject{Dir: dir, Env: map[string]string{"GOFLAGS": "-tags=tagged"}}, "example.org/x/tagged"},
		{[]string{"sort"}, dyno.Subject{Dir: t.TempDir()}, "sort"},

		{[]string{"./tagged"}, dyno.Subject{Dir: dir}, "no test files (consider: "},
		{[]string{".", "./none/..."}, dyno.Subject{Dir: dir}, "package ./none/... in " + dir + " has no test files"},
		{[]string{".", "./nosuch"}, dyno.Subject{Dir: dir}, "package ./nosuch: not found in " + dir},
		{[]string{"example.org/y/..."}, dyno.Subject{Dir: dir}, "nothing matches"},
		{[]string{"example.org/y"}, dyno.Subject{Dir: dir}, "no required module provides package example.org/y (consider"},
		{[]string{"x_test.go"}, dyno.Subject{Dir: dir}, "is a file"},
		{[]string{"."}, dyno.Subject{Dir: t.TempDir()}, "is not in a module (consider"},
		{[]string{"./..."}, dyno.Subject{Dir: t.TempDir()}, "is not in a module (consider"},
		{nil, dyno.Subject{Dir: dir + "/nosuch"}, "no such file"},
		{nil, dyno.Subject{Dir: dir, Go: "1.20"}, "Go 1.20 is too old"},
		{nil, dyno.Subject{Dir: dir, Rev: "main"}, "not in a git repository"},
	} {
		ps, err := b.Tests(context.Background(), test.s, test.patterns)
		if err == nil {
			if got := paths(ps); got != test.want {
				t.Errorf("%q in %+v: %s, want %s", test.patterns, test.s, got, test.want)
			}
			continue
		}
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q in %+v: error %v, want a PlanError with %q", test.patterns, test.s, err, test.want)
		}
	}
	p := mustTests(t, b, dyno.Subject{Dir: dir}, "./dir")[0]
	if p.Dir != dir+"/dir" || !strings.HasPrefix(p.Go, "go1.") || p.Rev != "" || len(p.Warnings) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestTestsRevision(t *testing.T) {
	dir := tree(t, "m/go.mod", goMod, "m/x_test.go", "package x\n")
	git := func(args ...string) string {
		t.Helper()
		return run(t, dir, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	writeFiles(t, dir, "m/later/x_test.go", "package x\n")
	b := newBuilder(t)
	for _, pattern := range []string{".", "./...", dir + "/m", "example.org/x"} {
		p := mustTests(t, b, dyno.Subject{Dir: dir + "/m", Rev: "HEAD"}, pattern)[0]
		if p.ImportPath != "example.org/x" || !b.inTree(p.Dir) || p.Rev != git("rev-parse", "HEAD") {
			t.Errorf("%s: %+v", pattern, p)
		}
	}
	for _, pattern := range []string{"./later", dir + "/m/later", "example.org/x/later"} {
		_, err := b.Tests(context.Background(), dyno.Subject{Dir: dir + "/m", Rev: "HEAD"}, []string{pattern})
		wantError(t, err, "later: not found in rev HEAD")
	}
	_, err := b.Tests(context.Background(), dyno.Subject{Dir: dir + "/m/later", Rev: "HEAD"}, nil)
	wantError(t, err, "does not exist in it")
	if p := mustTests(t, b, dyno.Subject{Dir: dir + "/m"}, ".")[0]; p.Dir != dir+"/m" || !strings.HasSuffix(p.Rev, "+dirty") {
		t.Errorf("%+v", p)
	}
}

func TestLink(t *testing.T) {
	b := newBuilder(t)
	dir := benchModule(t)
	s := dyno.Subject{Dir: dir}
	p := mustTests(t, b, s)[0]
	one := mustLink(t, b, p, 1)
	if mustLink(t, b, p, 1) != one {
		t.Error("linked twice")
	}
	plain := mustLink(t, b, p, 0)
	first, err := os.ReadFile(one)
	if err != nil {
		t.Error(err)
	}
	two := mustLink(t, b, p, 2)
	if second, err := os.ReadFile(two); err != nil || bytes.Equal(first, second) {
		t.Errorf("seeds 1 and 2 gave the same bytes, or %v", err)
	}
	if exists(one) || !exists(two) || !exists(plain) {
		t.Error("want the binary of the older seed removed, and no other")
	}

	s.Env = map[string]string{"GOGC": "50", "GODEBUG": "x=1", "GOMAXPROCS": "1", "HERE": "1"}
	if mustLink(t, b, mustTests(t, b, s)[0], 2) != two {
		t.Error("variables that the program alone reads made another binary")
	}
	s.Env["CGO_ENABLED"] = "0"
	s.Build = []string{"-ldflags", "-X example.org/x.v=1", "-gcflags=-N"}
	if mustLink(t, b, mustTests(t, b, s)[0], 2) == two {
		t.Error("variables and flags of the go command did not make another binary")
	}

	_, err = b.Link(context.Background(), mustTests(t, b, dyno.Subject{Dir: dir}, "./broken")[0], 1)
	wantError(t, err, "build the tests of example.org/x/broken", "broken/x_test.go:3:12: undefined: oops")
}

// A linker that does not know -randlayout.
func TestLinkFixed(t *testing.T) {
	b := newBuilder(t)
	p := mustTests(t, b, dyno.Subject{Dir: benchModule(t)}, "./dir")[0]
	bin := t.TempDir()
	writeFiles(t, bin, "go", `#!/bin/sh
case "$*" in *randlayout*) echo 'flag provided but not defined: -randlayout' >&2; exit 1; esac
shift 4 && echo "$*" > "$1"
`)
	os.Chmod(filepath.Join(bin, "go"), 0o755)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	one := mustLink(t, b, p, 1)
	if two := mustLink(t, b, p, 2); two != one || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "has no -randlayout") {
		t.Errorf("%s and %s, warnings %q; want one binary and one warning", one, two, p.Warnings)
	}
}

func TestJoinLdflags(t *testing.T) {
	for _, test := range []struct {
		goflags, flags []string
		want           []string
	}{
		{nil, []string{"-race"}, []string{"-ldflags=-s", "-race"}},
		{[]string{"-ldflags=-w", "-v"}, []string{"--ldflags=-X a=b", "-tags", "c"},
			[]string{"-ldflags=-s", "-ldflags=-s -w", "-ldflags=-s -X a=b", "-tags", "c"}},
		{nil, []string{"-ldflags", "all=-X 'a=b c'"}, []string{"-ldflags=-s", "-ldflags=all=-s -X 'a=b c'"}},
		{nil, []string{"-ldflags="}, []string{"-ldflags=-s", "-ldflags=-s"}},
	} {
		if got := joinLdflags("-s", test.goflags, test.flags); !slices.Equal(got, test.want) {
			t.Errorf("%q and %q: %q, want %q", test.goflags, test.flags, got, test.want)
		}
	}
}

// A build with an -overlay of its own keeps it.
func TestDriverBesideOverlay(t *testing.T) {
	b := newBuilder(t)
	dir := benchModule(t)
	writeFiles(t, dir, "other.txt", "package x\n\nimport \"testing\"\n\nfunc BenchmarkReplaced(b *testing.B) {}\n", "replaced_test.go", "package x\n",
		"overlay.json", `{"Replace": {"replaced_test.go": "other.txt"}}`)
	p := mustTests(t, b, dyno.Subject{Dir: dir, Build: []string{"-overlay=overlay.json"}})[0]
	out := run(t, p.Dir, mustLink(t, b, p, 0), "-test.run=^$", "-test.benchtime=1x", "-test.bench=Replaced")
	if !strings.Contains(out, "BenchmarkReplaced") {
		t.Errorf("%s", out)
	}
}

func TestBuildVariables(t *testing.T) {
	for _, name := range []string{"GOFLAGS", "GOEXPERIMENT", "GOAMD64", "CGO_CFLAGS", "CC", "GO_EXTLINK_ENABLED"} {
		if !buildVariable(name) {
			t.Error(name, "holds for the build")
		}
	}
	for _, name := range append(runVariables, "GOOGLE_APPLICATION", "PORT", "LOG_LEVEL", "CCC") {
		if buildVariable(name) {
			t.Error(name, "is for the program alone")
		}
	}
	if got := fmt.Sprint(buildVariables(nil)); got != "map[]" {
		t.Error(got)
	}
}
