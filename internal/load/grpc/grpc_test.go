package grpc

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/rpc"
)

// written is a load's program in a directory.
func written(t *testing.T, l *dyno.Load) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files, err := Source()
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
	for _, name := range []string{"go.mod", "go.sum", "dyno/go.mod"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a load is to send is told the program, with the contents of its files.
func TestConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"m.jsonl": "\ufeff{\"a\": 1}\n\n  {\"b\": \"{{.n}}\"}\n", "s.binpb": "set"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := &dyno.Load{Insecure: true, GRPC: &dyno.GRPC{
		Method: "a.b.C.D", DataFile: "m.jsonl", Descriptors: "s.binpb", Metadata: map[string]string{"token": "{{.arg.token}}"}, Connections: 2, Messages: 3, Authority: "x",
	}}
	got, err := config(l, map[string]string{"token": "t", "size": "1"})
	want := &rpc.Config{
		Method: "a.b.C/D", Lines: []string{`{"a": 1}`, `{"b": "{{.n}}"}`}, Descriptors: []byte("set"), Metadata: l.GRPC.Metadata, Arg: map[string]string{"token": "t", "size": "1"},
		Insecure: true, Connections: 2, Messages: 3, Authority: "x",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"bad.jsonl": "{}\n{\"a\":\n", "none.jsonl": "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		g         dyno.GRPC
		key, want string
	}{
		{dyno.GRPC{Data: []string{"{}", "{{.m}}"}}, "data", `data "{{.m}}": unknown variable m (known: client, n)`},
		{dyno.GRPC{Metadata: map[string]string{"a": "{{.arg.b}}"}}, "metadata", "unknown variable arg.b"},
		{dyno.GRPC{DataFile: "bad.jsonl"}, "data_file", "line 2 is not JSON (want a message on each line)"},
		{dyno.GRPC{DataFile: "none.jsonl"}, "data_file", "it has no messages"},
		{dyno.GRPC{DataFile: "no"}, "data_file", "open no: no such file"},
		{dyno.GRPC{Descriptors: "no"}, "descriptors", "open no: no such file"},
	} {
		err := Check(dyno.Load{GRPC: &c.g}, nil)
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.want) || !slices.Equal(mistake.Key, []string{"load", "grpc", c.key}) {
			t.Errorf("%+v: got %v, want %s at %s", c.g, err, c.want, c.key)
		}
	}
}

// An error of the compiler is not one of the network.
func TestExplain(t *testing.T) {
	for text, want := range map[string]bool{
		"google.golang.org/grpc@v1.85.0: Get \"https://proxy.golang.org/google.golang.org/grpc/@v/v1.85.0.zip\": dial tcp: lookup proxy.golang.org: no such host": true,
		"module lookup disabled by GOPROXY=off": true,
		"./main.go:1:1: syntax error":           false,
		"no space left on device":               false,
	} {
		if got := Explain(errors.New(text)); strings.Contains(got.Error(), "GOPROXY, a proxy that has") != want {
			t.Errorf("%v", got)
		}
	}
	if Explain(nil) != nil {
		t.Error("an error of nothing")
	}
}
