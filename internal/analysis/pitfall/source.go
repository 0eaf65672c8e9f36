package pitfall

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno"
)

// A Syntax is a type-checked package. What depends on a type that Info lacks is not told.
type Syntax struct {
	Fset  *token.FileSet
	Files []*ast.File
	Info  *types.Info
}

// ReadSource returns a function that tells what the source of a benchmark says, by the
// name that go test prints, without "Benchmark" and GOMAXPROCS ("X/size=10"). The zero
// BenchSource means that the benchmark was not found. The packages are those of one test
// binary.
//
// The reader follows b into functions and closures of the same package, and takes
// statements in their order, whatever branches are around them.
func ReadSource(packages ...Syntax) func(printed string) dyno.BenchSource {
	benchmarks := map[string]*function{}
	for _, s := range packages {
		p := &pkg{s.Info, map[types.Object]*function{}}
		for _, f := range s.Files {
			p.collect(s.Fset, f, benchmarks)
		}
	}
	return func(printed string) dyno.BenchSource {
		name, sub, isSub := strings.Cut(printed, "/")
		f := benchmarks["Benchmark"+name]
		if f == nil {
			return dyno.BenchSource{}
		}
		if !isSub {
			return f.source()
		}
		if leaf := f.find(sub); leaf != nil {
			return leaf.source()
		}
		return f.where() // one of its closures, but nothing tells which
	}
}

// mostText is the length of a call that is quoted, in characters.
const mostText = 60

type pkg struct {
	info  *types.Info
	funcs map[types.Object]*function // declared ones, and variables that are only ever one closure
}

type function struct {
	*pkg
	fset *token.FileSet
	at   token.Pos
	body *ast.BlockStmt // nil if it is not known
}

func (p *pkg) collect(fset *token.FileSet, file *ast.File, benchmarks map[string]*function) {
	again := map[types.Object]bool{}
	assigned := func(name, value ast.Expr) {
		id, ok := name.(*ast.Ident)
		if !ok {
			return
		}
		lit, isFunc := value.(*ast.FuncLit)
		if obj := p.info.Defs[id]; obj != nil && isFunc {
			p.funcs[obj] = &function{p, fset, lit.Pos(), lit.Body}
		} else if obj := p.info.Uses[id]; obj != nil {
			again[obj] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			obj := p.info.Defs[n.Name]
			if obj == nil || n.Body == nil {
				break
			}
			f := &function{p, fset, n.Pos(), n.Body}
			p.funcs[obj] = f
			params := n.Type.Params.List
			if n.Recv == nil && len(params) == 1 && isB(p.info.TypeOf(params[0].Type)) {
				benchmarks[n.Name.Name] = f
			}
		case *ast.AssignStmt:
			for i := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					assigned(n.Lhs[i], n.Rhs[i])
				} else {
					assigned(n.Lhs[i], nil)
				}
			}
		case *ast.ValueSpec:
			for i := range n.Values {
				assigned(n.Names[min(i, len(n.Names)-1)], n.Values[i])
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				assigned(n.X, nil)
			}
		}
		return true
	})
	for obj := range again {
		delete(p.funcs, obj)
	}
}

func isB(t types.Type) bool {
	return t != nil && types.TypeString(t, nil) == "*testing.B"
}

// object is what an expression names; nil if it names nothing.
func (p *pkg) object(x ast.Expr) types.Object {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return p.object(x.X)
	case *ast.IndexExpr:
		return p.object(x.X)
	case *ast.IndexListExpr:
		return p.object(x.X)
	case *ast.SelectorExpr:
		return p.object(x.Sel)
	case *ast.Ident:
		if f, ok := p.info.Uses[x].(*types.Func); ok {
			return f.Origin()
		}
		return p.info.Uses[x]
	}
	return nil
}

// testing is the name of a method or field if x names one of package testing.
func (p *pkg) testing(x ast.Expr) string {
	if obj := p.object(x); obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "testing" {
		return obj.Name()
	}
	return ""
}

// helper is the function of this package that a call leads into, if it gets b or uses testing.
func (p *pkg) helper(call *ast.CallExpr) *function {
	f := p.funcs[p.object(call.Fun)]
	if f == nil {
		return nil
	}
	uses := slices.ContainsFunc(call.Args, func(x ast.Expr) bool { return isB(p.info.TypeOf(x)) })
	ast.Inspect(f.body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		uses = uses || ok && p.testing(id) != ""
		return !uses
	})
	if !uses {
		return nil
	}
	return f
}

func (f *function) where() dyno.BenchSource {
	at := f.fset.PositionFor(f.at, false)
	return dyno.BenchSource{File: filepath.Base(at.Filename), Line: at.Line}
}

// source reads a benchmark up to its loop.
func (f *function) source() dyno.BenchSource {
	r := &reader{pkg: f.pkg, n: map[types.Object]bool{}, seen: map[*function]bool{}}
	r.read(f)
	src := f.where()
	if r.loop != "" {
		src.Loop, src.Timed = r.loop, r.timed
	} else if f.body != nil && !r.mayLoop() {
		src.Loop = dyno.NoLoop
	}
	return src
}

// A reader reads a benchmark up to its loop, in the order of the source.
type reader struct {
	*pkg
	loop, timed string                // as of dyno.BenchSource
	off         bool                  // the timer is stopped
	n           map[types.Object]bool // variables that are b.N
	seen        map[*function]bool
}

func (r *reader) read(f *function) {
	if f.body == nil || r.seen[f] {
		return
	}
	r.seen[f] = true
	reset := r.lastReset(f.body)
	ast.Inspect(f.body, func(n ast.Node) bool {
		if r.loop != "" {
			return false
		}
		timed := n != nil && n.End() > reset && !r.off
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			return false // run later, or beside it
		case *ast.AssignStmt:
			for i := range n.Lhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && r.info.Defs[id] != nil && len(n.Lhs) == len(n.Rhs) && r.isN(n.Rhs[i]) {
					r.n[r.info.Defs[id]] = true
				}
			}
		case *ast.ForStmt:
			if call, ok := n.Cond.(*ast.CallExpr); ok && r.testing(call.Fun) == "Loop" {
				r.loop, r.timed = "b.Loop", "" // it resets the timer
			} else if timed && (r.hasN(n.Cond) || r.hasN(n.Init)) {
				r.loop = "b.N"
			}
		case *ast.RangeStmt:
			if timed && r.isN(n.X) {
				r.loop = "b.N"
			}
		case *ast.CallExpr:
			return r.call(n)
		}
		return r.loop == ""
	})
}

// call reads a call before the loop, and reports whether to read its arguments.
func (r *reader) call(n *ast.CallExpr) bool {
	switch r.testing(n.Fun) {
	case "ResetTimer":
		r.timed = ""
		return true
	case "StopTimer", "StartTimer":
		r.off = r.testing(n.Fun) == "StopTimer"
		return true
	case "RunParallel":
		r.loop = "RunParallel"
		return false
	case "Run":
		return false
	case "":
	default:
		return true
	}
	if h := r.helper(n); h != nil {
		r.read(h)
		return false
	}
	if v := r.info.Types[n.Fun]; r.timed == "" && !r.off && !v.IsType() && !v.IsBuiltin() {
		r.timed = strings.Join(strings.Fields(types.ExprString(n)), " ")
		if utf8.RuneCountInString(r.timed) > mostText {
			r.timed = string([]rune(r.timed)[:mostText-1]) + "…"
		}
	}
	return true
}

// mayLoop reports whether the functions that were read could run b.N times: they use b.N, or
// b other than by a method that does not loop.
func (r *reader) mayLoop() (may bool) {
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isB(r.info.TypeOf(n.X)) {
				may = may || slices.Contains([]string{"N", "Loop", "Run", "RunParallel"}, n.Sel.Name)
				return false
			}
		case *ast.CallExpr:
			h := r.helper(n)
			if h == nil || !r.seen[h] {
				break
			}
			sig, _ := r.object(n.Fun).Type().Underlying().(*types.Signature)
			for i, x := range n.Args { // a b that is given as another type may be used as that
				if sig == nil || i >= sig.Params().Len() || !isB(sig.Params().At(i).Type()) {
					ast.Inspect(x, look)
				}
			}
			return false
		case *ast.Ident:
			may = may || isB(r.info.TypeOf(n)) && r.info.Uses[n] != nil
		}
		return !may
	}
	for f := range r.seen {
		ast.Inspect(f.body, look)
	}
	return may
}

// lastReset is the last b.ResetTimer, 0 without one: a loop before it only makes the input.
func (r *reader) lastReset(body ast.Node) (last token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && r.testing(call.Fun) == "ResetTimer" {
			last = call.Pos()
		}
		_, closure := n.(*ast.FuncLit)
		return !closure
	})
	return last
}

// isN reports whether x is b.N, a conversion of it, or a variable that is.
func (r *reader) isN(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		return r.info.Types[x.Fun].IsType() && len(x.Args) == 1 && r.isN(x.Args[0])
	case *ast.Ident, *ast.SelectorExpr:
		return r.testing(x) == "N" || r.n[r.object(x)]
	}
	return false
}

// hasN reports whether b.N is in n, which may be nil.
func (r *reader) hasN(n ast.Node) (has bool) {
	if n == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		x, ok := n.(ast.Expr)
		has = has || ok && r.isN(x)
		return !has
	})
	return has
}
