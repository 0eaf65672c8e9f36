//go:build linux

package subject

import (
	"context"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// typeOf is the type of the first identifier of a name, and the files that were read.
func typeOf(found []PackageSyntax, name string) (typ string, files []string) {
	for _, s := range found {
		for _, f := range s.Files {
			files = append(files, filepath.Base(s.Fset.Position(f.Pos()).Filename))
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == name && s.Info.Defs[id] != nil && typ == "" {
					typ = s.Info.Defs[id].Type().String()
				}
				return true
			})
		}
	}
	return typ, files
}

// TestSyntax has tests of both kinds, with tags, generics, another package of the module
// that is compiled for the test, and what does not compile.
func TestSyntax(t *testing.T) {
	b := newBuilder(t)
	dir := tree(t, "go.mod", strings.Replace(goMod, "go 1.21", "go 1.22", 1),
		"x.go", "package x\n\nfunc F[T any](x T) T { return x }\n",
		"tagged_test.go", "//go:build tagged\n\npackage x\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { inner := F(b); _ = inner }\n",
		"y_test.go", "package x_test\n\nimport (\n\t\"example.org/x\"\n\t\"example.org/x/sub\"\n\t\"testing\"\n)\n\nfunc BenchmarkY(b *testing.B) { outer := x.F(b.N); mid := sub.G(); _, _ = outer, mid }\n",
		"sub/sub.go", "package sub\n\nimport \"example.org/x\"\n\nfunc G() string { return x.F(\"\") }\n",
		"broken/x_test.go", "package broken\n\nimport (\n\t\"example.org/nosuch\"\n\t\"testing\"\n)\n\nfunc BenchmarkX(b *testing.B) { nosuch.F(b) }\n",
	)
	p := mustTests(t, b, dyno.Subject{Dir: dir, Build: []string{"-tags=tagged"}}, ".")[0]
	found, err := b.Syntax(context.Background(), p)
	if err != nil || len(found) != 2 {
		t.Fatalf("%d packages, %v", len(found), err)
	}
	for name, want := range map[string]string{"inner": "*testing.B", "outer": "int", "mid": "string"} {
		got, files := typeOf(found, name)
		if got != want {
			t.Errorf("%s is of type %q, want %q", name, got, want)
		}
		slices.Sort(files)
		if !slices.Equal(files, []string{"tagged_test.go", "x.go", "y_test.go"}) {
			t.Errorf("files %q", files)
		}
	}
	p = mustTests(t, b, dyno.Subject{Dir: dir}, "./broken")[0]
	if _, err = b.Syntax(context.Background(), p); err == nil || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("what does not compile: %v", err)
	}
}
