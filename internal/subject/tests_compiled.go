package subject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/dynolab/dyno/internal/subject/samecode"
)

// A compilation is what packages are with their tests, and all that they import. It is made when it is needed.
type compilation struct {
	sync.Mutex
	paths    []string
	packages map[string]*listed // by import path, with " [x.test]" where one is compiled for a test
}

func (b *Builder) compiled(ctx context.Context, p *TestPackage) (map[string]*listed, error) {
	c := p.all
	c.Lock()
	defer c.Unlock()
	if c.packages != nil {
		return c.packages, nil
	}
	all, err := b.goList(ctx, p.src, "-test -export -compiled -deps", c.paths...)
	if err != nil {
		return nil, err
	}
	c.packages = map[string]*listed{}
	for _, l := range all {
		c.packages[l.ImportPath] = l
	}
	return c.packages, nil
}

// Compiled compiles packages of one setting with their tests, and returns what their binaries are linked from by import path.
func (b *Builder) Compiled(ctx context.Context, tests []*TestPackage) (map[string]samecode.Binary, error) {
	listed, err := b.compiled(ctx, tests[0])
	if err != nil {
		return nil, err
	}
	found := map[string]samecode.Binary{}
	for _, t := range tests {
		main := listed[t.ImportPath+".test"]
		if main == nil {
			return nil, fmt.Errorf("go list does not know the tests of %s", t.ImportPath)
		}
		binary := samecode.Binary{Packages: map[string]samecode.Package{}, GoDebug: main.DefaultGODEBUG}
		for _, name := range main.Deps {
			l := listed[name]
			if l == nil || l.Export == "" && name != "unsafe" {
				return nil, errors.New(name + " does not compile")
			}
			p := samecode.Package{File: l.Export, Standard: l.Standard}
			for _, dep := range l.Deps {
				p.Deps = append(p.Deps, untested(dep))
			}
			binary.Packages[untested(name)] = p
		}
		found[t.ImportPath] = binary
	}
	return found, nil
}

// untested is the import path of a package without that of the test that it is compiled for.
func untested(path string) string {
	path, _, _ = strings.Cut(path, " [")
	return path
}

// Tree returns the files of the published module or of the repository that p is in, but for those that git ignores.
func (b *Builder) Tree(ctx context.Context, p *TestPackage) (t samecode.Tree, err error) {
	if t.Root = p.src.root; t.Root != "" {
		err = fs.WalkDir(os.DirFS(t.Root), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Files = append(t.Files, name)
			}
			return err
		})
		return t, err
	}
	if t.Root, err = b.git(ctx, p.src.dir, "rev-parse", "--show-toplevel"); err != nil {
		return t, err
	}
	names, err := b.git(ctx, t.Root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	t.Files = strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
	return t, err
}
