package grpc

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// written is a load's program in a directory.
func written(t *testing.T, l *dyno.Load) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files, err := Source(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The program needs modules of gRPC only: all else that it imports is the standard library, or written with it.
func TestWrittenIsWhole(t *testing.T) {
	dir := written(t, &dyno.Load{GRPC: &dyno.GRPC{Method: "a.B/C"}})
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		files++
		if strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s is a test", name)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		inside := strings.HasPrefix(name, filepath.Join(dir, "dyno"))
		for _, spec := range f.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			rest, ours := strings.CutPrefix(path, "github.com/dynolab/dyno/")
			first, _, _ := strings.Cut(path, "/")
			switch {
			case ours:
				if _, err := os.Stat(filepath.Join(dir, "dyno", filepath.FromSlash(rest))); err != nil {
					t.Errorf("%s imports %s, which is not written", name, path)
				}
			case !strings.Contains(first, "."):
			case inside || first != "google.golang.org":
				t.Errorf("%s imports %s", name, path)
			}
		}
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("%d files, %v", files, err)
	}
	for _, name := range []string{"go.mod", "go.sum", "config.json", "dyno/go.mod"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
