package pitfall

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A leaf is a sub-benchmark without others in it.
type leaf struct {
	pattern string // a regular expression of its name
	literal int    // characters of the name that are constant
	f       *function
}

// find returns the sub-benchmark of a name, behind the first slash; nil if none or several
// match. Computed parts may be anything: a leaf with more constant characters matches better.
func (f *function) find(name string) (best *function) {
	most := -1
	left := mostSteps
	for _, l := range f.leaves(nil, &left) {
		if l.literal < most || !regexp.MustCompile("^(?s:"+l.pattern+")$").MatchString(name) {
			continue
		}
		if l.literal > most {
			best = l.f
		} else if l.f.at != best.at {
			best = &function{} // they match as well
		}
		most = l.literal
	}
	if best == nil || best.pkg == nil {
		return nil
	}
	return best
}

// mostSteps bounds how many functions are read for one name: they may call each other.
const mostSteps = 10_000

// leaves are what f and its helpers give to b.Run, and these in turn, in the order of the
// source. around are the functions that f is in, left how many more are read.
func (f *function) leaves(around []token.Pos, left *int) (all []leaf) {
	if *left--; f.body == nil || slices.Contains(around, f.at) || *left < 0 {
		return nil
	}
	around = append(slices.Clone(around), f.at)
	ast.Inspect(f.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f.testing(call.Fun) != "Run" || len(call.Args) != 2 {
			if h := f.helper(call); h != nil {
				all = append(all, h.leaves(around, left)...)
			}
			return true
		}
		of := f.given(call)
		pattern, literal := f.name(call.Args[0])
		pattern += "(#[0-9]+)?" // what testing adds to the second of a name
		inner := of.leaves(around, left)
		for _, l := range inner {
			all = append(all, leaf{pattern + "/" + l.pattern, literal + l.literal, l.f})
		}
		if inner == nil {
			all = append(all, leaf{pattern, literal, of})
		}
		return false
	})
	return all
}

// given is the function that b.Run is given: a closure, a named one, or the closure that a
// function of this package returns; else only the place of the call is known.
func (f *function) given(call *ast.CallExpr) *function {
	closure := func(x ast.Expr) *function {
		if lit, ok := x.(*ast.FuncLit); ok {
			return &function{f.pkg, f.fset, lit.Pos(), lit.Body}
		}
		return f.funcs[f.object(x)]
	}
	x := ast.Unparen(call.Args[1])
	if g := closure(x); g != nil {
		return g
	}
	if made, ok := x.(*ast.CallExpr); ok {
		if maker := f.funcs[f.object(made.Fun)]; maker != nil && len(maker.body.List) > 0 {
			last, ok := maker.body.List[len(maker.body.List)-1].(*ast.ReturnStmt)
			if ok && len(last.Results) == 1 {
				if g := closure(last.Results[0]); g != nil {
					return g
				}
			}
		}
	}
	return &function{pkg: f.pkg, fset: f.fset, at: call.Pos()}
}

var verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z%]`)

// name is a pattern of a sub-benchmark's printed name, and its number of constant characters.
func (f *function) name(x ast.Expr) (pattern string, literal int) {
	if s, ok := f.constant(x); ok {
		return regexp.QuoteMeta(s), len(s)
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return f.name(x.X)
	case *ast.BinaryExpr:
		a, n := f.name(x.X)
		b, m := f.name(x.Y)
		return a + b, n + m
	case *ast.CallExpr:
		obj, ok := f.object(x.Fun).(*types.Func)
		if !ok || obj.FullName() != "fmt.Sprintf" || len(x.Args) == 0 {
			break
		}
		if format, ok := f.constant(x.Args[0]); ok {
			parts := verb.Split(format, -1)
			for i := range parts {
				literal += len(parts[i])
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			return strings.Join(parts, ".*"), literal
		}
	}
	return ".*", 0
}

// constant is the value of a string that is constant, with spaces as testing prints them.
func (f *function) constant(x ast.Expr) (s string, ok bool) {
	v := f.info.Types[x].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, constant.StringVal(v)), true
}
