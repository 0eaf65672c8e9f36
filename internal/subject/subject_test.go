//go:build linux

package subject

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	if os.Getenv("DYNO_TEST_VICTIM") != "" {
		victim()
	}
	os.Setenv("GOPROXY", "off") // no test needs the network
	code := m.Run()
	if b, err := shared(); err == nil {
		if err := b.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is a Builder that lives as long as the tests.
var shared = sync.OnceValues(func() (*Builder, error) { return NewBuilder("") })

func newBuilder(t testing.TB) *Builder {
	t.Helper()
	b, err := NewBuilder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if exists(b.dir) {
			t.Errorf("Close left %s", b.dir)
		}
	})
	return b
}

// service is a Subject of testdata/service, built.
func service(t testing.TB, mode string) (*Built, dyno.Subject) {
	t.Helper()
	s := dyno.Subject{Package: "testdata/service", Args: []string{"-addr", "{{.Addr}}", "-mode", mode}}
	return mustBuild(t, must(t, shared), s), s
}

func must[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustBuild(t testing.TB, b *Builder, s dyno.Subject) *Built {
	t.Helper()
	built, err := b.Build(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// tree writes files, given as name and text in turn, into a new directory.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, files...)
	return dir
}

func writeFiles(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func wantError(t testing.TB, err error, wants ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q; want it to have %q", err, want)
		}
	}
}
