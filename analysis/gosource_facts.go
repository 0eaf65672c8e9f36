package analysis

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/dynolab/dyno"
)

// A sourceReader reads a benchmark from its beginning to the end of its loop, in the
// order of the source, which is nearly that of execution.
type sourceReader struct {
	p      *benchPackage
	src    dyno.BenchSource
	off    bool                // the timer is stopped
	same   map[string]bool     // variables that are b.N
	seen   map[*benchFunc]bool // helpers
	sizes  string              // a use of b.N as a size
	looped bool
}

// facts reads what a benchmark does; where says where it is.
func (p *benchPackage) facts(f *benchFunc, where dyno.BenchSource) dyno.BenchSource {
	r := &sourceReader{p: p, src: where, same: map[string]bool{}, seen: map[*benchFunc]bool{f: true}}
	r.read(f)
	r.src.NAsSize = r.sizes
	if !r.looped { // what comes before a loop that is not seen may be the loop
		r.src.Timed = ""
	}
	return r.src
}

func (r *sourceReader) read(f *benchFunc) {
	if f.body == nil {
		return
	}
	reset := f.lastReset()
	ast.Inspect(f.body, func(n ast.Node) bool {
		if r.looped {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			return false // run later, or beside it
		case *ast.AssignStmt:
			r.assigned(f, n)
		case *ast.ForStmt:
			if kind := r.loopKind(f, n); kind != "" && n.End() > reset && !r.off {
				r.found(f, kind, n.Body)
				return false
			}
		case *ast.RangeStmt:
			if f.isN(n.X, r.same) && n.End() > reset && !r.off {
				r.found(f, "b.N", n.Body)
				return false
			}
		case *ast.CallExpr:
			return r.call(f, n)
		}
		return true
	})
}

// lastReset is the place of the last b.ResetTimer: a loop to b.N before it only makes
// the input.
func (f *benchFunc) lastReset() (pos token.Pos) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && f.method(call) == "ResetTimer" {
			pos = max(pos, call.Pos())
		}
		_, lit := n.(*ast.FuncLit)
		return !lit
	})
	return pos
}

// assigned notes variables that are b.N.
func (r *sourceReader) assigned(f *benchFunc, n *ast.AssignStmt) {
	for i, x := range n.Rhs {
		if len(n.Lhs) != len(n.Rhs) {
			return
		}
		if id, ok := n.Lhs[i].(*ast.Ident); ok && n.Tok != token.ADD_ASSIGN && f.isN(x, r.same) {
			r.same[id.Name] = true
		}
	}
}

// loopKind is that of a for statement: its condition is b.Loop(), or it or its
// beginning has b.N in it.
func (r *sourceReader) loopKind(f *benchFunc, n *ast.ForStmt) string {
	if call, ok := n.Cond.(*ast.CallExpr); ok && f.method(call) == "Loop" {
		return "b.Loop"
	}
	has := false
	look := func(n ast.Node) bool {
		x, ok := n.(ast.Expr)
		has = has || ok && f.isN(x, r.same)
		return !has
	}
	if n.Cond != nil {
		ast.Inspect(n.Cond, look)
	}
	if n.Init != nil {
		ast.Inspect(n.Init, look)
	}
	if has {
		return "b.N"
	}
	return ""
}

// found reads the loop, and is the end of reading.
func (r *sourceReader) found(f *benchFunc, kind string, body *ast.BlockStmt) {
	r.looped = true
	r.src.Loop = kind
	if kind == "b.Loop" {
		r.src.Timed = "" // it resets the timer
	}
	r.loop(f, body, kind)
}

// call reads a call before the loop.
func (r *sourceReader) call(f *benchFunc, n *ast.CallExpr) (deeper bool) {
	switch m := f.method(n); m {
	case "":
	case "ResetTimer":
		r.src.Timed = ""
		return true
	case "StopTimer", "StartTimer":
		r.off = m == "StopTimer"
		return true
	case "RunParallel":
		if len(n.Args) == 1 {
			if lit, ok := n.Args[0].(*ast.FuncLit); ok {
				r.found(f, "RunParallel", lit.Body)
				return false
			}
		}
		r.looped, r.src.Loop = true, "RunParallel"
		return false
	case "Run":
		return false
	default:
		return true
	}
	if h := r.p.helper(f, n); h != nil && !r.seen[h] {
		r.seen[h] = true
		for _, x := range n.Args {
			r.size(f, x)
		}
		r.read(h)
		return false
	}
	for _, x := range n.Args {
		if f.isN(x, r.same) {
			r.asSize(f, n)
		}
	}
	if r.src.Timed == "" && !r.off && !r.cheap(f, n) {
		r.src.Timed = quote(n)
	}
	return true
}

// cheapPackages have functions that take no time to speak of.
var cheapPackages = map[string]bool{"context": true, "errors": true, "flag": true, "runtime": true, "testing": true, "time": true, "sync": true, "atomic": true}

// cheap reports whether a call takes no time to speak of: builtins and conversions,
// methods of b, wrappers around what is there.
func (r *sourceReader) cheap(f *benchFunc, n *ast.CallExpr) bool {
	if isBasicType(n.Fun) {
		return true
	}
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		_, builtin := types.Universe.Lookup(fun.Name).(*types.Builtin)
		return builtin
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			path := f.file.imports[id.Name]
			return cheapPackages[path] || (path == "strings" || path == "bytes") && strings.HasPrefix(fun.Sel.Name, "New")
		}
	}
	return false
}

// size looks for b.N as a size in an argument.
func (r *sourceReader) size(f *benchFunc, x ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, arg := range call.Args {
				if f.isN(arg, r.same) {
					r.asSize(f, call)
				}
			}
		}
		return true
	})
}

// asSize notes a call that b.N is given to, unless it only counts or prints.
func (r *sourceReader) asSize(f *benchFunc, n *ast.CallExpr) {
	if r.sizes != "" || isBasicType(n.Fun) || f.method(n) != "" {
		return
	}
	if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
		id, isName := sel.X.(*ast.Ident)
		if sel.Sel.Name == "Add" || isName && (f.file.imports[id.Name] == "fmt" || f.file.imports[id.Name] == "log") {
			return // of a sync.WaitGroup
		}
	}
	r.sizes = quote(n)
}

// loop reads what is done in each iteration.
func (r *sourceReader) loop(f *benchFunc, body *ast.BlockStmt, kind string) {
	if body == nil {
		return
	}
	calls := map[string]*ast.CallExpr{} // whose result a variable is
	drop := func(call *ast.CallExpr) {
		if kind != "b.Loop" && r.src.Dropped == "" && f.method(call) == "" {
			r.src.Dropped = quote(call)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			return false
		case *ast.CallExpr:
			for _, x := range n.Args {
				if f.isN(x, r.same) {
					r.asSize(f, n) // which leaves out the methods of b
				}
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && r.pure(f, call) {
				drop(call)
			}
		case *ast.AssignStmt:
			if call := dropped(n, calls); call != nil {
				drop(call)
			}
		}
		return true
	})
}

// dropped is the call whose result an assignment throws away: _ = f(), or _ = x where
// x is what a call before gave.
func dropped(n *ast.AssignStmt, calls map[string]*ast.CallExpr) *ast.CallExpr {
	call, isCall := n.Rhs[0].(*ast.CallExpr)
	isCall = isCall && !isBasicType(call.Fun)
	blank := true
	for _, x := range n.Lhs {
		id, ok := x.(*ast.Ident)
		blank = blank && ok && id.Name == "_"
		if ok && isCall && len(n.Lhs) == 1 && n.Tok == token.DEFINE {
			calls[id.Name] = call
		}
	}
	switch {
	case !blank || len(n.Rhs) != 1:
		return nil
	case isCall:
		return call
	}
	if id, ok := n.Rhs[0].(*ast.Ident); ok {
		return calls[id.Name]
	}
	return nil
}

// purePackages are those whose functions do nothing but return something; where a
// prefix is named, only functions that begin with it.
var purePackages = map[string]string{
	"strings": "", "strconv": "", "math": "", "math/bits": "", "bytes": "", "unicode": "", "unicode/utf8": "",
	"sort": "Search", "path": "", "html": "", "fmt": "Sprint", "slices": "Contains",
}

// pure reports whether a call that stands alone has a result: of a function in the
// files, or of one that is known.
func (r *sourceReader) pure(f *benchFunc, n *ast.CallExpr) bool {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		return r.p.results[fun.Name]
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			prefix, known := purePackages[f.file.imports[id.Name]]
			return known && strings.HasPrefix(fun.Sel.Name, prefix)
		}
	}
	return false
}
