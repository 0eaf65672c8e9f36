package subject

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// setters are the functions by which a program gives a setting of the Go runtime another value than its
// environment has, by package and name; tuners are modules that do it when they are imported or called.
var setters, tuners = map[string][]string{
	"GOGC":       {"runtime/debug.SetGCPercent"},
	"GOMEMLIMIT": {"runtime/debug.SetMemoryLimit"},
	"GOMAXPROCS": {"runtime.GOMAXPROCS", "runtime.SetDefaultGOMAXPROCS"},
}, map[string][]string{
	"GOMEMLIMIT": {"github.com/KimMachine/automemlimit"},
	"GOMAXPROCS": {"go.uber.org/automaxprocs"},
}

const mostSetters = 2 // that are named

// Setters finds where the source of s sets a variable of the Go runtime, two places at most. Places that set
// the value in force come first, then those of the program's own module, then others. Finding none is not an
// error.
func (b *Builder) Setters(ctx context.Context, s dyno.Subject, name, value string) (found []dyno.Setter) {
	if !s.Source() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprintf("%q", []string{s.Dir, s.Package, s.Module, s.Rev, s.Go, strings.Join(s.Build, " "), fmt.Sprint(s.Deps), name, value})
	if found, ok := b.setters[key]; ok {
		return found
	}
	search := &setterSearch{name: name, value: value}
	if src, err := b.find(ctx, s); err == nil {
		const format = `{{if not .Standard}}{{.Dir}}	{{with .Module}}{{.Path}}	{{.Version}}	{{.Dir}}	{{.Main}}{{else}}			{{end}}	{{join .GoFiles ","}},{{join .CgoFiles ","}}{{end}}`
		args := slices.Concat([]string{"list", "-e", "-deps"}, src.flags, s.Build, []string{"-f", format, "."})
		list, _ := b.command(ctx, src.dir, src.env, cmp.Or(src.tool, "go"), args...)
		for line := range strings.Lines(list) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 6 {
				search.pkg(f[0], f[1], f[2], f[3], f[4] == "true" || f[1] == s.Module, strings.Split(f[5], ","))
			}
		}
	}
	slices.SortStableFunc(search.found, func(a, b rankedSetter) int { return cmp.Compare(a.rank, b.rank) })
	for _, f := range search.found[:min(len(search.found), mostSetters)] {
		found = append(found, f.Setter)
	}
	if b.setters == nil {
		b.setters = map[string][]dyno.Setter{}
	}
	b.setters[key] = found
	return found
}

type rankedSetter struct {
	dyno.Setter
	rank int // lower comes first
}

type setterSearch struct {
	name, value string
	found       []rankedSetter
}

// Ranks of what is found.
const (
	rankValue = iota // the value in force is written there
	rankOwn
	rankImport
	rankOther
	rankElse = 100 // another value is written there
)

// pkg searches a package of a module.
func (s *setterSearch) pkg(dir, module, version, root string, own bool, files []string) {
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !s.mentions(text) { // most files do not, and are not parsed
			continue
		}
		name := filepath.Join(dir, file)
		if rel, err := filepath.Rel(root, name); err == nil && root != "" {
			name = filepath.ToSlash(rel)
		}
		if !own {
			name = path.Join(strings.TrimSuffix(module+"@"+version, "@"), name)
		}
		s.file(name, text, own)
	}
}

func (s *setterSearch) mentions(text []byte) bool {
	words := []string{`"` + s.name}
	for _, f := range setters[s.name] {
		words = append(words, f[strings.LastIndexByte(f, '.')+1:])
	}
	return slices.ContainsFunc(append(words, tuners[s.name]...), func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// file searches a Go file. Text that does not parse is left out.
func (s *setterSearch) file(name string, text []byte, own bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	add := func(what string, at ast.Node, rank int) {
		if !own && rank != rankValue {
			rank += rankOther
		}
		s.found = append(s.found, rankedSetter{dyno.Setter{What: what, File: name, Line: fset.Position(at.Pos()).Line}, rank})
	}
	imported := map[string]string{} // path, by its name in this file
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = p
		if own && slices.ContainsFunc(tuners[s.name], func(module string) bool { return p == module || strings.HasPrefix(p, module+"/") }) {
			add(p, spec, rankImport)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called := s.call(n, imported); called != "" && len(n.Args) > 0 {
				add(called, n, s.rank(n.Args[len(n.Args)-1]))
			}
		case *ast.BasicLit: // an environment for another process
			if v, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && strings.HasPrefix(v, s.name+"=") {
				add(v, n, map[bool]int{true: rankValue, false: rankElse}[v == s.name+"="+s.value])
			}
		}
		return true
	})
}

// call is the function that a call calls if it sets the variable, such as debug.SetGCPercent; else "".
func (s *setterSearch) call(c *ast.CallExpr, imported map[string]string) string {
	fun, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return ""
	}
	full := imported[pkg.Name] + "." + fun.Sel.Name
	called := path.Base(imported[pkg.Name]) + "." + fun.Sel.Name
	switch {
	case full == "os.Setenv" || full == "syscall.Setenv" || full == "os.Unsetenv":
		if v, ok := literal(firstArg(c.Args)); ok && v == s.name {
			return called
		}
	case slices.Contains(setters[s.name], full) && !s.reads(c):
		return called
	}
	return ""
}

func firstArg(args []ast.Expr) ast.Expr {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

// reads reports whether a call only asks for the value.
func (s *setterSearch) reads(c *ast.CallExpr) bool {
	v, ok := literal(firstArg(c.Args))
	return ok && (s.name == "GOMAXPROCS" && (v == "0" || strings.HasPrefix(v, "-")) || s.name == "GOMEMLIMIT" && strings.HasPrefix(v, "-"))
}

func (s *setterSearch) rank(arg ast.Expr) int {
	switch v, ok := literal(arg); {
	case !ok:
		return rankOwn
	case v == s.value || s.name == "GOGC" && s.value == "off" && strings.HasPrefix(v, "-"):
		return rankValue
	}
	return rankElse
}

// literal is a number or text as it is written.
func literal(e ast.Expr) (string, bool) {
	sign := ""
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		sign, e = "-", u.X
	}
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	if v, err := strconv.Unquote(l.Value); err == nil && l.Kind == token.STRING {
		return v, true
	}
	return sign + l.Value, true
}

// ofLibraries begin the names of variables that a C library reads, which may lie in another file than the program.
var ofLibraries = []string{"LD_", "MALLOC_", "GLIBC_", "LC_", "RES_"}

// Names reports whether the executable of a Go program holds a variable's name: without, the program can read the
// variable only if it puts the name together. It is true where that is not known.
func (b *Builder) Names(ctx context.Context, s dyno.Subject, variable string) bool {
	built, err := b.Build(ctx, s) // which keeps it
	if err != nil || built.Go == "" || slices.ContainsFunc(ofLibraries, func(p string) bool { return strings.HasPrefix(variable, p) }) {
		return true
	}
	text, err := os.ReadFile(built.Path)
	return err != nil || bytes.Contains(text, []byte(variable))
}
