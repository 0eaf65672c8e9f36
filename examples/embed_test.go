package examples

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	if got, want := Names(), []string{"hash", "pipeline", "search", "sessions", "sort"}; !slices.Equal(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
}

// TestExtract does what "dyno demo" needs of an installed binary: every
// example becomes a module that builds without a network. go vet holds the
// code against go 1.22, its language and its standard library (stdversion).
func TestExtract(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", name)
			if err := Extract(dir, name); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"go.mod", "main.go", "dyno.yaml"} {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
			tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			if err != nil || len(tests) > 1 || len(tests) == 1 && filepath.Base(tests[0]) != "bench_test.go" {
				t.Errorf("tests were extracted: %v (%v)", tests, err)
			}
			for _, file := range beside(t, name) {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Errorf("not extracted, or not embedded: %v", err)
				}
			}
			goCommand(t, dir, "build", "-o", os.DevNull, ".")
			goCommand(t, dir, "vet", ".")
		})
	}
}

// beside lists the files of an example that are not Go, and its benchmarks.
func beside(t *testing.T, name string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(name), ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (!strings.HasSuffix(file, ".go") || file == "bench_test.go") {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestExtractOldGo shows that the vet of TestExtract would find an API that
// is newer than the generated go.mod.
func TestExtractOldGo(t *testing.T) {
	dir := t.TempDir()
	if err := Extract(dir, "sessions"); err != nil {
		t.Fatal(err)
	}
	const newer = "package main\n\nimport \"strings\"\n\nvar _ = strings.Lines // Go 1.24\n"
	if err := os.WriteFile(filepath.Join(dir, "newer.go"), []byte(newer), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := command(dir, "vet", ".").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "strings.Lines requires go1.24") {
		t.Errorf("go vet = %v, want a complaint about strings.Lines: %s", err, out)
	}
}

func TestExtractRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := Extract(dir, "../sessions"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "(have: "+strings.Join(Names(), ", ")+")") {
		t.Errorf("Extract of an unknown example = %v", err)
	}
	mine := filepath.Join(dir, "main.go")
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Extract(dir, "sessions"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Extract over a file = %v", err)
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "mine" {
		t.Errorf("the file in the way is now %q (%v)", data, err)
	}
}

func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := command(dir, args...).CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// command is the go command with what the machine's settings could change
// switched off: the network, toolchain downloads, workspaces, flags.
func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	return cmd
}
