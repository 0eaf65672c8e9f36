package analysis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dynolab/dyno"
)

// ReadBenchSource reads the files of a package, by name, and returns what tells of a
// benchmark by the name that go test prints ("BenchmarkX/size=10"). Its tests are
// enough; of functions in other files, if they are given too, it knows whether they
// have results.
//
// It is read as it is written, without types: a call through a helper is followed if
// the helper is given b and is in the files. Of what it does not understand it says
// nothing; files that do not parse are left out. What is returned must not be called
// by several goroutines at a time.
func ReadBenchSource(files map[string][]byte) func(printed string) dyno.BenchSource {
	p := &benchPackage{fset: token.NewFileSet(), funcs: map[string]*benchFunc{}, results: map[string]bool{}, known: map[*benchFunc][]subBench{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(p.fset, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		p.add(name, f)
	}
	return func(printed string) dyno.BenchSource {
		printed, rest, sub := strings.Cut(printed, "/")
		f := p.funcs[printed]
		if f == nil {
			f = p.funcs["Benchmark"+printed]
		}
		if f == nil || !isBenchmark(f.name) {
			return dyno.BenchSource{}
		}
		whole := p.at(f)
		if !sub {
			return p.facts(f, whole)
		}
		steps := mostSteps
		if leaf := p.sub(f, rest, &steps); leaf != nil {
			return p.facts(leaf, p.at(leaf))
		}
		return whole // which of its literals it is cannot be told
	}
}

const (
	mostSteps = 10_000 // of looking for a sub-benchmark: names may be matched in many ways
	mostText  = 60     // characters of a call that is quoted
)

// A benchPackage is what is known of a package.
type benchPackage struct {
	fset    *token.FileSet
	funcs   map[string]*benchFunc // top-level, that have a parameter *testing.B
	results map[string]bool       // all top-level functions: whether they have results
	known   map[*benchFunc][]subBench
}

// A benchFunc is a function with a *testing.B, or a literal given to b.Run.
type benchFunc struct {
	name string
	file *benchFile
	pos  token.Pos
	b    string // the name of its parameter; "" if it has none, or it is not used
	body *ast.BlockStmt
}

type benchFile struct {
	name    string
	imports map[string]string // path by the name in the file
}

func (p *benchPackage) add(name string, f *ast.File) {
	file := &benchFile{name, map[string]string{}}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		local := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		file.imports[local] = path
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		if _, known := p.results[fn.Name.Name]; !known {
			p.results[fn.Name.Name] = fn.Type.Results.NumFields() > 0
		}
		if b, ok := file.param(fn.Type); ok && fn.Body != nil && p.funcs[fn.Name.Name] == nil {
			p.funcs[fn.Name.Name] = &benchFunc{fn.Name.Name, file, fn.Pos(), b, fn.Body}
		}
	}
}

// param finds the parameter that is a *testing.B.
func (f *benchFile) param(t *ast.FuncType) (name string, ok bool) {
	for _, field := range t.Params.List {
		star, isPointer := field.Type.(*ast.StarExpr)
		if !isPointer {
			continue
		}
		switch x := star.X.(type) {
		case *ast.SelectorExpr:
			id, isName := x.X.(*ast.Ident)
			ok = isName && x.Sel.Name == "B" && f.imports[id.Name] == "testing"
		case *ast.Ident:
			ok = x.Name == "B" && f.imports["."] == "testing"
		}
		if ok {
			if len(field.Names) > 0 {
				name = field.Names[0].Name
			}
			return name, true
		}
	}
	return "", false
}

// isBenchmark reports whether go test takes a function of that name for a benchmark.
func isBenchmark(name string) bool {
	rest, ok := strings.CutPrefix(name, "Benchmark")
	r, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(r))
}

// at says where a function is.
func (p *benchPackage) at(f *benchFunc) dyno.BenchSource {
	return dyno.BenchSource{File: f.file.name, Line: p.fset.PositionFor(f.pos, false).Line}
}

// method returns the name of the method if a call is one of b.
func (f *benchFunc) method(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if ok && f.isB(sel.X) {
		return sel.Sel.Name
	}
	return ""
}

func (f *benchFunc) isB(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && f.b != "" && f.b != "_" && id.Name == f.b
}

// isN reports whether x is b.N, a conversion of it, or a variable that is only that.
func (f *benchFunc) isN(x ast.Expr, same map[string]bool) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return f.isB(x.X) && x.Sel.Name == "N"
	case *ast.Ident:
		return same[x.Name]
	case *ast.ParenExpr:
		return f.isN(x.X, same)
	case *ast.CallExpr:
		return len(x.Args) == 1 && isBasicType(x.Fun) && f.isN(x.Args[0], same)
	}
	return false
}

// isBasicType reports whether a call of x is a conversion to a type of the language.
func isBasicType(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return isBasicType(x.X)
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StarExpr:
		return true
	case *ast.Ident:
		obj := types.Universe.Lookup(x.Name)
		_, ok := obj.(*types.TypeName)
		return ok
	}
	return false
}

// helper is the function in the files that a call gives b to, if it is one.
func (p *benchPackage) helper(f *benchFunc, call *ast.CallExpr) *benchFunc {
	id, ok := call.Fun.(*ast.Ident)
	if !ok || !slices.ContainsFunc(call.Args, f.isB) {
		return nil
	}
	return p.funcs[id.Name]
}

// quote is an expression in one short line.
func quote(x ast.Expr) string {
	s := strings.Join(strings.Fields(types.ExprString(x)), " ")
	if utf8.RuneCountInString(s) > mostText {
		s = string([]rune(s)[:mostText-1]) + "…"
	}
	return s
}
