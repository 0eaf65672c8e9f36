package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

// A PackageSyntax is the type-checked source of a package with test files.
type PackageSyntax struct {
	Fset  *token.FileSet
	Files []*ast.File
	Info  *types.Info
}

// Syntax reads the source of p with its tests, and apart from it that of its external tests. The go
// command compiles them, as Link needs too. If an import cannot be read, as from a much newer
// toolchain, types are missing and the error says why.
func (b *Builder) Syntax(ctx context.Context, p *TestPackage) (found []PackageSyntax, err error) {
	all, err := goList[compiled](ctx, b, p.src, "-test -export -compiled -deps", p.ImportPath)
	if err != nil {
		return nil, fmt.Errorf("list %s and what it imports: %w", p.ImportPath, err)
	}
	listed := map[string]*compiled{}
	for _, c := range all {
		listed[c.ImportPath] = c
	}
	for _, path := range []string{p.ImportPath, p.ImportPath + "_test"} {
		c := listed[path+" ["+p.ImportPath+".test]"]
		if c == nil {
			continue
		}
		s, serr := c.check(path, listed)
		found = append(found, s)
		err = errors.Join(err, serr)
	}
	return found, err
}

// compiled is what go list -test -export -compiled says of a package.
type compiled struct {
	ImportPath      string // with " [x.test]" where it is compiled for a test
	Dir, Export     string
	CompiledGoFiles []string
	ImportMap       map[string]string
}

// check parses a package and checks its types. The error is that of the first unreadable import.
func (c *compiled) check(path string, listed map[string]*compiled) (s PackageSyntax, err error) {
	s = PackageSyntax{Fset: token.NewFileSet(), Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	if len(c.CompiledGoFiles) == 0 {
		return s, fmt.Errorf("%s does not compile", path)
	}
	for _, name := range c.CompiledGoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		f, err := parser.ParseFile(s.Fset, name, nil, parser.SkipObjectResolution)
		if f == nil {
			return s, err
		}
		s.Files = append(s.Files, f)
	}
	imported := map[string]*types.Package{"unsafe": types.Unsafe}
	conf := types.Config{
		Error: func(error) {}, // what is wrong has no type
		Importer: importer(func(name string) (*types.Package, error) {
			real := name
			if mapped, ok := c.ImportMap[name]; ok {
				real = mapped
			}
			pkg, ierr := listed[real].read(s.Fset, imported)
			if ierr != nil && err == nil {
				err = fmt.Errorf("import %s: %w", name, ierr)
			}
			return pkg, ierr
		}),
	}
	conf.Check(path, s.Fset, s.Files, s.Info)
	return s, err
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

func (c *compiled) read(fset *token.FileSet, imported map[string]*types.Package) (*types.Package, error) {
	if c == nil {
		return nil, errors.New("go list does not know it")
	}
	path, _, _ := strings.Cut(c.ImportPath, " ")
	if p := imported[path]; p != nil && p.Complete() {
		return p, nil
	}
	data, err := os.ReadFile(c.Export)
	if err != nil {
		return nil, err
	}
	r, err := gcexportdata.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(r, fset, imported, path)
}
