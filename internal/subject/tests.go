package subject

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// A TestPackage is a package with tests to build. Settings with the same build share one.
type TestPackage struct {
	ImportPath string        // without the revision's worktree: the same in all settings
	Dir        string        // of its sources, where its tests run
	Go, Rev    string        // as Built's
	Warnings   dyno.Warnings // Link may add some

	src            *source           // where the go command is called, and how
	all            *compilation      // of it, and of all that were found with it
	goflags        []string          // from the variable GOFLAGS
	name           string            // of the package, without "_test"
	files, outside []string          // names of its test files, and of those of the package for external tests
	fixed          bool              // the linker cannot change the order of functions
	binaries       map[uint32]string // paths by seed
}

// Tests finds the packages with test files that patterns mean in s.Dir or, with s.Rev, in a worktree of
// that revision; no pattern means ".". s.Go, s.Build and the build variables of s.Env hold for it and
// for Link, which reports packages that do not compile.
//
// The error is a [*dyno.PlanError] if a pattern has no package with test files, or the module or
// revision is missing.
func (b *Builder) Tests(ctx context.Context, s dyno.Subject, patterns []string) ([]*TestPackage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	src, patterns, err := b.testSource(ctx, s, patterns)
	if err != nil {
		return nil, err
	}
	vars, err := b.goEnv(ctx, src, "GOVERSION", "GOFLAGS", "GOMOD", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	in := "in " + src.dir
	if s.Rev != "" {
		in = "in rev " + s.Rev
	}
	var tests []*TestPackage
	all := &compilation{}
	for _, pattern := range patterns {
		found, err := b.goList(ctx, src, "-find", pattern)
		if err == nil {
			err = checkPattern(pattern, in, found)
		}
		if err != nil && ctx.Err() == nil && (vars[2] == "" || vars[2] == os.DevNull) {
			err = planErrorf("packages %s: %s is not in a module (consider: the directory of a module, or go mod init)", pattern, src.dir)
		}
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			if within(l.Dir, vars[3]) {
				return nil, planErrorf("package %s is in the module cache, where the go command takes no other files (consider: dyno bench %[1]s@VERSION, with the module's version)", l.ImportPath)
			}
			if p := b.testPackage(l, src, vars[0], vars[1]); l.tests() && !slices.Contains(tests, p) {
				p.Warnings, p.all = b.differs(src, s), all
				all.paths = append(all.paths, p.ImportPath)
				tests = append(tests, p)
			}
		}
	}
	return tests, nil
}

func (b *Builder) testPackage(l *listed, src *source, version, goflags string) *TestPackage {
	key := fmt.Sprintf("%q %q %q %q", src.dir, l.ImportPath, version, append(pairs(src.env), src.flags...))
	if p := b.tests[key]; p != nil {
		return p
	}
	p := &TestPackage{
		ImportPath: l.ImportPath, Dir: l.Dir,
		Go: version, Rev: src.rev, src: src, name: l.Name, files: l.TestGoFiles, outside: l.XTestGoFiles,
		goflags: strings.Fields(goflags), binaries: map[uint32]string{},
	}
	b.tests[key] = p
	return p
}

// testSource returns where the patterns are looked up, and the patterns as they are there.
func (b *Builder) testSource(ctx context.Context, s dyno.Subject, patterns []string) (*source, []string, error) {
	user, err := filepath.Abs(s.Dir)
	if err == nil {
		user, err = filepath.EvalSymlinks(user)
	}
	if err != nil {
		return nil, nil, planErrorf("directory %s: %v", s.Dir, err)
	}
	src := &source{dir: user}
	switch {
	case s.Module != "":
		*src, err = b.module(ctx, s.Module)
	case s.Rev == "":
		src.rev = b.current(ctx, user)
	default:
		s.Package = user // for the message
		src.dir, src.rev, err = b.revision(ctx, s, user)
	}
	if err != nil {
		return nil, nil, err
	}
	src.env, src.flags = buildVariables(s.Env), slices.Concat(src.flags, s.Build)
	if s.Module != "" {
		src.env["GOWORK"] = "off"
	}
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	var there []string
	for _, p := range patterns {
		if rel, err := filepath.Rel(user, p); err == nil && filepath.IsAbs(p) && b.inTree(filepath.Join(src.dir, rel)) {
			p = "./" + filepath.ToSlash(rel) // in the worktree
		}
		there = append(there, p)
	}
	if err = src.choose(s.Go); err == nil {
		s.Build = nil // which are in src.flags
		err = b.takeDeps(ctx, src, &s, append([]string{"-test"}, there...)...)
	}
	return src, there, err
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath                string // with " [x.test]" where it is compiled for a test
	Dir, Name, Export         string
	Standard                  bool
	TestGoFiles, XTestGoFiles []string
	CompiledGoFiles           []string
	Deps                      []string
	DefaultGODEBUG            string
	ImportMap                 map[string]string
	Error                     *struct{ Err string }
}

func (l *listed) tests() bool { return len(l.TestGoFiles)+len(l.XTestGoFiles) > 0 }

// goList asks the go command what packages patterns mean.
func (b *Builder) goList(ctx context.Context, src *source, flags string, patterns ...string) (all []*listed, err error) {
	args := slices.Concat(strings.Fields("list -e -json "+flags), src.flags, []string{"--"}, patterns)
	out, err := b.command(ctx, src.dir, src.env, "go", args...)
	if err != nil {
		return nil, flagMistake(fmt.Errorf("list packages: %w", err), src.flags)
	}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		l := new(listed)
		if err := dec.Decode(l); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// checkPattern says why a pattern has no test package; in says where.
func checkPattern(pattern, in string, found []*listed) error {
	mistake := "" // the first
	for _, l := range found {
		switch {
		case l.ImportPath == "command-line-arguments":
			return planErrorf("package %s is a file (want the directory of a package)", pattern)
		case l.tests():
			return nil
		case l.Error != nil:
			message, _, _ := strings.Cut(l.Error.Err, "\n")
			mistake = cmp.Or(mistake, strings.TrimSuffix(message, "; to add it:"))
		}
	}
	switch {
	case mistake != "":
		return planErrorf("package %s: not found %s: %s (consider: go list ./...)", pattern, in, mistake)
	case len(found) > 0:
		return planErrorf("package %s %s has no test files (consider: another package, or -tags)", pattern, in)
	}
	return planErrorf("packages %s: nothing matches %s (consider: go list ./...)", pattern, in)
}

// buildVariables returns the variables that may change what the go command builds. The others are for the
// program: GOGC would only slow down the compiler.
func buildVariables(env map[string]string) map[string]string {
	vars := map[string]string{}
	maps.Copy(vars, env)
	maps.DeleteFunc(vars, func(name, _ string) bool { return !buildVariable(name) })
	return vars
}

// runVariables are the variables of the runtime (package runtime, "Environment Variables";
// https://go.dev/doc/build-cover#running).
var runVariables = []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS", "GOTRACEBACK", "GORACE", "GOCOVERDIR"}

// buildVariable reports whether a variable is of go help environment or of the C compiler. Names
// that begin with GO are too many to list; a wrong guess costs one build.
func buildVariable(name string) bool {
	switch {
	case slices.Contains(runVariables, name):
		return false
	case strings.HasPrefix(name, "GO"):
		return !strings.Contains(name, "_") || name == "GO_EXTLINK_ENABLED"
	}
	return strings.HasPrefix(name, "CGO_") || strings.HasPrefix(name, "GCCGO") || strings.HasPrefix(name, "PKG_CONFIG") ||
		slices.Contains([]string{"AR", "CC", "CXX", "FC", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH"}, name)
}

// A PackageSyntax is the type-checked source of a package with test files.
type PackageSyntax struct {
	Fset  *token.FileSet
	Files []*ast.File
	Info  *types.Info
}

// Syntax reads the source of p with its tests, and apart from it that of its external tests. If an
// import cannot be read, as from a much newer toolchain, types are missing and the error says why.
func (b *Builder) Syntax(ctx context.Context, p *TestPackage) (found []PackageSyntax, err error) {
	packages, err := b.compiled(ctx, p)
	if err != nil {
		return nil, err
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

// check parses a package and checks its types. The error is that of the first import that cannot be read.
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
