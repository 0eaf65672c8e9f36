package gomod

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// proxy writes modules as GOPROXY has them (https://go.dev/ref/mod#goproxy-protocol) and returns a Maker that has no
// other source. modules are by PATH@VERSION: names of files and their texts in turn.
func proxy(t *testing.T, modules map[string][]string) *Maker {
	t.Helper()
	root := t.TempDir()
	versions := map[string]string{}
	for name, files := range modules {
		path, version, _ := strings.Cut(name, "@")
		versions[path] += version + "\n"
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		mod := "module " + path + "\n"
		for pair := range slices.Chunk(files, 2) {
			w, err := z.Create(name + "/" + pair[0])
			if err == nil {
				_, err = w.Write([]byte(pair[1]))
			}
			if err != nil {
				t.Fatal(err)
			}
			if pair[0] == "go.mod" {
				mod = pair[1]
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(root, path, "@v", version)
		write(t, at+".mod", mod)
		write(t, at+".info", fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version))
		write(t, at+".zip", b.String())
	}
	for path, list := range versions {
		write(t, filepath.Join(root, path, "@v", "list"), list)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	return &Maker{
		First: func(err error) string {
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err.Error()
			}
			first, _, _ := strings.Cut(string(exit.Stderr), "\n")
			return first
		},
		Go: func(ctx context.Context, dir string, env map[string]string, args ...string) (string, error) {
			cmd := exec.CommandContext(ctx, "go", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOPROXY=file://"+root, "GONOSUMDB=*", "GONOSUMCHECK=1", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOMODCACHE="+cache, "GOWORK=")
			for k, v := range env {
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			if slices.Contains(cmd.Env, "GOFLAGS=-mod=mod") {
				cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod -modcacherw")
			}
			out, err := cmd.Output()
			return string(out), err
		},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// library is a module with one function, whose result tells its version; it may use another.
func library(path, version string, requires ...string) []string {
	mod, imports, sum := "module "+path+"\n\ngo 1.22\n", "", ""
	for _, r := range requires {
		path, v, _ := strings.Cut(r, "@")
		mod += "\nrequire " + path + " " + v + "\n"
		imports += fmt.Sprintf("import other %q\n", path)
		sum = " + other.F()"
	}
	return []string{"go.mod", mod, "x.go", "package " + filepath.Base(path) + "\n\n" + imports + "\nfunc F() string { return \"" + version + "\"" + sum + " }\n"}
}

// example has a program that uses a, whose later version needs a later b.
func example(t *testing.T) (m *Maker, dir string) {
	t.Helper()
	m = proxy(t, map[string][]string{
		"example.org/a@v1.0.0": library("example.org/a", "a1", "example.org/b@v1.0.0"),
		"example.org/a@v1.1.0": library("example.org/a", "a2", "example.org/b@v1.2.0"),
		"example.org/b@v1.0.0": library("example.org/b", "b1"),
		"example.org/b@v1.2.0": library("example.org/b", "b2"),
	})
	dir = t.TempDir()
	write(t, dir+"/go.mod", "module example.org/main\n\ngo 1.22\n\nrequire example.org/a v1.0.0\n\nrequire example.org/b v1.0.0 // indirect\n")
	write(t, dir+"/main.go", "package main\n\nimport \"example.org/a\"\n\nfunc main() { print(a.F()) }\n")
	if _, err := m.Go(t.Context(), dir, nil, "mod", "tidy"); err != nil {
		t.Fatal(m.First(err))
	}
	return m, dir
}

// A program is built with another version of a dependency, without a change of the user's files, and what changes
// along is told.
func TestTake(t *testing.T) {
	m, dir := example(t)
	before := texts(t, dir)
	for _, test := range []struct{ version, printed, told string }{
		{".", "a1b1", ""},
		{"v1.0.0", "a1b1", ""},
		{"v1.1.0", "a2b2", "with dep:example.org/a=v1.1.0, this changes along: example.org/b v1.0.0 → v1.2.0"},
		{"latest", "a2b2", "dep:example.org/a=latest is v1.1.0; with dep:example.org/a=latest, this changes along: example.org/b v1.0.0 → v1.2.0"},
	} {
		taken, err := m.Take(t.Context(), dir, nil, nil, map[string]string{"example.org/a": test.version}, filepath.Join(t.TempDir(), "deps"), ".")
		if err != nil {
			t.Errorf("%s: %v", test.version, err)
			continue
		}
		var told []string
		for _, w := range taken.Warnings {
			told = append(told, w.Text)
		}
		if got := strings.Join(told, "; "); got != test.told {
			t.Errorf("%s: told %q, want %q", test.version, got, test.told)
		}
		exe := filepath.Join(t.TempDir(), "main")
		if _, err := m.Go(t.Context(), dir, nil, slices.Concat([]string{"build"}, taken.Flags, []string{"-o", exe, "."})...); err != nil {
			t.Errorf("%s: %s", test.version, m.First(err))
			continue
		}
		if out, err := exec.Command(exe).CombinedOutput(); err != nil || string(out) != test.printed {
			t.Errorf("%s: the program printed %q, %v; want %q", test.version, out, err, test.printed)
		}
	}
	if after := texts(t, dir); after != before {
		t.Errorf("the module changed from\n%s\nto\n%s", before, after)
	}
}

// The go line is a dependency, too.
func TestTakeGo(t *testing.T) {
	m, dir := example(t)
	before := texts(t, dir)
	local := strings.TrimPrefix(runtime.Version(), "go")
	if !dyno.IsGoVersion(local) {
		t.Skip("a development version is no go line")
	}
	into := filepath.Join(t.TempDir(), "deps")
	taken, err := m.Take(t.Context(), dir, nil, nil, map[string]string{"go": local}, into, ".")
	if err != nil || len(taken.Warnings) > 0 {
		t.Fatalf("got %v, %v", taken.Warnings, err)
	}
	if text := texts(t, into); !strings.Contains(text, "\ngo "+local+"\n") {
		t.Errorf("the go line is not %s:\n%s", local, text)
	}
	if _, err := m.Go(t.Context(), dir, nil, slices.Concat([]string{"build"}, taken.Flags, []string{"-o", os.DevNull, "."})...); err != nil {
		t.Error(m.First(err))
	}
	if after := texts(t, dir); after != before {
		t.Errorf("the module changed from\n%s\nto\n%s", before, after)
	}
	if taken, err := m.Take(t.Context(), dir, nil, nil, map[string]string{"go": "."}, into, "."); err != nil || len(taken.Flags) > 0 {
		t.Errorf("the go line as it is: got %v, %v", taken.Flags, err)
	}
}

func texts(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all += e.Name() + "\n" + string(text)
	}
	return all
}

func TestTakeMistakes(t *testing.T) {
	m, dir := example(t)
	take := func(name, version string, env map[string]string, flags ...string) error {
		_, err := m.Take(t.Context(), dir, env, flags, map[string]string{name: version}, filepath.Join(t.TempDir(), "deps"), ".")
		return err
	}
	work := t.TempDir()
	write(t, work+"/go.work", "go 1.22\n\nuse "+dir+"\n")
	for _, test := range []struct {
		err  error
		want string
	}{
		{take("example.org/a", "v9.9.9", nil), "dep:example.org/a=v9.9.9: "},
		{take("example.org/none", "v1.0.0", nil), "dep:example.org/none: it is no dependency of the module in " + dir},
		{take("example.org/main", "v1.0.0", nil), "it is the module in " + dir + " itself"},
		{take("example.org/a", "v1.1.0", nil, "-modfile=x.mod"), "the build has its own -modfile"},
		{take("example.org/a", "v1.1.0", map[string]string{"GOWORK": work + "/go.work"}), "go.work is in force"},
	} {
		var mistake *dyno.PlanError
		if !errors.As(test.err, &mistake) || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, want a mistake of the plan with %q", test.err, test.want)
		}
	}
	mod, err := os.ReadFile(dir + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/go.mod", string(mod)+"\nreplace example.org/a => example.org/a v1.0.0\n")
	if err := take("example.org/a", "v1.1.0", nil); err == nil || !strings.Contains(err.Error(), "go.mod replaces it by example.org/a v1.0.0") {
		t.Errorf("of a module that is replaced: %v", err)
	}
}

// The module of a package is the one with the longest path that has it; what it has beside go.mod counts for nothing.
func TestCopy(t *testing.T) {
	m := proxy(t, map[string][]string{
		"example.org/x@v1.0.0":     {"go.mod", "module example.org/x\n", "cmd/y/main.go", "package main\n\nfunc main() {}\n"},
		"example.org/x@v1.1.0":     {"go.mod", "module example.org/x\n", "cmd/z/main.go", "package main\n\nfunc main() {}\n"},
		"example.org/x/sub@v1.0.0": {"main.go", "package main\n\nfunc main() {}\n"},
		"example.org/r@v1.0.0":     {"go.mod", "module example.org/r\n\nreplace example.org/b => ../b\n", "main.go", "package main\n"},
	})
	for _, test := range []struct{ spec, dir, version, err string }{
		{"example.org/x/cmd/y@v1.0.0", "src/cmd/y", "v1.0.0", ""},
		{"example.org/x/cmd/z@latest", "src/cmd/z", "v1.1.0", ""},
		{"example.org/x/sub@v1.0.0", "src", "v1.0.0", ""},
		{"example.org/x/cmd/y@v1.1.0", "", "", "no module has the package example.org/x/cmd/y at v1.1.0"},
		{"example.org/x/cmd/y", "", "", "has no version"},
		{"example.org/r@v1.0.0", "", "", "replaces example.org/b by its directory ../b"},
	} {
		scratch := filepath.Join(t.TempDir(), "copy")
		c, err := m.Copy(t.Context(), test.spec, scratch)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got error %v, want %q", test.spec, err, test.err)
			}
			continue
		}
		if err != nil || c.Dir != filepath.Join(scratch, test.dir) || c.Version != test.version {
			t.Errorf("%s: got %+v, %v; want %s, %s", test.spec, c, err, test.dir, test.version)
		}
		if out, err := m.Go(t.Context(), c.Dir, alone, "build", "-o", os.DevNull, "."); err != nil {
			t.Errorf("%s does not build: %s%s", test.spec, out, m.First(err))
		}
	}
}
