package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
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
	all, err := b.goList(ctx, p.src, "-test -export -compiled -deps", p.ImportPath)
	if err != nil {
		return nil, err
	}
	packages := map[string]*listed{}
	for _, c := range all {
		packages[c.ImportPath] = c
	}
	for _, path := range []string{p.ImportPath, p.ImportPath + "_test"} {
		c := packages[path+" ["+p.ImportPath+".test]"]
		if c == nil {
			continue
		}
		s, serr := c.check(path, packages)
		found = append(found, s)
		err = errors.Join(err, serr)
	}
	return found, err
}

// check parses a package and checks its types. The error is that of the first unreadable import.
func (c *listed) check(path string, packages map[string]*listed) (s PackageSyntax, err error) {
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
	from := importer.ForCompiler(s.Fset, "gc", func(name string) (io.ReadCloser, error) {
		imported := packages[cmp.Or(c.ImportMap[name], name)]
		if imported == nil {
			return nil, errors.New("go list does not know it")
		}
		return os.Open(imported.Export)
	})
	conf := types.Config{
		Error: func(error) {}, // what is wrong has no type
		Importer: importing(func(name string) (*types.Package, error) {
			pkg, ierr := from.Import(name)
			if ierr != nil && err == nil {
				err = fmt.Errorf("import %s: %w", name, ierr)
			}
			return pkg, ierr
		}),
	}
	conf.Check(path, s.Fset, s.Files, s.Info)
	return s, err
}

type importing func(path string) (*types.Package, error)

func (f importing) Import(path string) (*types.Package, error) { return f(path) }
