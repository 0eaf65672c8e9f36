package analysis

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// A subBench is a call of b.Run.
type subBench struct {
	name []string // literal parts of the name, between which may stand anything
	f    *benchFunc
}

// sub finds what b.Run was given for the rest of a printed name; nil if there is none
// or several that match as well. Elements of a name may have a slash in them, and what
// is computed may be anything: a name with more literal characters matches better.
func (p *benchPackage) sub(f *benchFunc, rest string, steps *int) *benchFunc {
	var best *benchFunc
	most, several := -1, false
	take := func(s *benchFunc, literal int) {
		switch {
		case literal > most:
			best, most, several = s, literal, false
		case literal == most && s != best:
			several = true
		}
	}
	for _, s := range p.subs(f) {
		if *steps--; *steps < 0 {
			return nil
		}
		if (matchesName(s.name, rest) || matchesName(s.name, unnumbered(rest))) && len(p.subs(s.f)) == 0 {
			take(s.f, s.literal())
		}
		for i := 0; i < len(rest); i++ {
			if rest[i] != '/' {
				continue
			}
			if *steps--; *steps < 0 {
				return nil
			}
			if !matchesName(s.name, rest[:i]) && !matchesName(s.name, unnumbered(rest[:i])) {
				continue
			}
			if leaf := p.sub(s.f, rest[i+1:], steps); leaf != nil {
				take(leaf, s.literal())
			}
		}
	}
	if several {
		return nil
	}
	return best
}

func (s *subBench) literal() (n int) {
	for _, part := range s.name {
		n += len(part)
	}
	return n
}

// subs are the calls of b.Run in a function and in the helpers that it gives b to, in
// the order of the source.
func (p *benchPackage) subs(f *benchFunc) []subBench {
	list, known := p.known[f]
	if !known {
		list = p.readSubs(f, map[*benchFunc]bool{f: true})
		p.known[f] = list
	}
	return list
}

// readSubs leaves out the helpers that it has seen.
func (p *benchPackage) readSubs(f *benchFunc, seen map[*benchFunc]bool) (list []subBench) {
	if f.body == nil {
		return nil
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f.method(call) == "Run" && len(call.Args) == 2 {
			list = append(list, subBench{nameParts(call.Args[0], f.file), p.given(f, call)})
			return false
		}
		if h := p.helper(f, call); h != nil && !seen[h] {
			seen[h] = true
			list = append(list, p.readSubs(h, seen)...)
		}
		return true
	})
	return list
}

// given is the function that b.Run is given: a literal, or one in the files. Of another
// only the place of the call is known.
func (p *benchPackage) given(f *benchFunc, call *ast.CallExpr) *benchFunc {
	switch x := call.Args[1].(type) {
	case *ast.FuncLit:
		b, _ := f.file.param(x.Type)
		return &benchFunc{f.name, f.file, x.Pos(), b, x.Body}
	case *ast.Ident:
		if h := p.funcs[x.Name]; h != nil {
			return h
		}
	}
	return &benchFunc{name: f.name, file: f.file, pos: call.Pos()}
}

// nameParts are the literal parts of the name of a sub-benchmark: of a literal the
// whole, and of what is computed what can be told.
func nameParts(x ast.Expr, file *benchFile) []string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return nameParts(x.X, file)
	case *ast.BasicLit:
		if s, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
			return []string{rewritten(s)}
		}
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			a, b := nameParts(x.X, file), nameParts(x.Y, file)
			parts := append([]string{}, a[:len(a)-1]...)
			return append(append(parts, a[len(a)-1]+b[0]), b[1:]...)
		}
	case *ast.CallExpr:
		sel, ok := x.Fun.(*ast.SelectorExpr)
		if !ok || len(x.Args) == 0 {
			break
		}
		id, ok := sel.X.(*ast.Ident)
		lit, isLit := x.Args[0].(*ast.BasicLit)
		if !ok || !isLit || file.imports[id.Name] != "fmt" || sel.Sel.Name != "Sprintf" {
			break
		}
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return formatParts(s)
		}
	}
	return []string{"", ""}
}

// formatParts are the parts of a format of fmt between its verbs.
func formatParts(s string) []string {
	parts := []string{""}
	for s != "" {
		before, after, found := strings.Cut(s, "%")
		parts[len(parts)-1] += rewritten(before)
		if !found {
			break
		}
		after = strings.TrimLeft(after, "+-# 0123456789.*[]")
		if strings.HasPrefix(after, "%") {
			parts[len(parts)-1] += "%"
		} else {
			parts = append(parts, "")
		}
		s = ""
		for i := range after {
			if i > 0 {
				s = after[i:]
				break
			}
		}
	}
	return parts
}

// rewritten is a part of a name as package testing prints it.
func rewritten(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, s)
}

// unnumbered is a name without the "#01" that package testing gives to the second of
// that name.
func unnumbered(name string) string {
	i := strings.LastIndexByte(name, '#')
	if i < 0 || len(name)-i < 3 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// matchesName reports whether a name has the parts in order, the first at its beginning
// and the last at its end.
func matchesName(parts []string, name string) bool {
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && name == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[last])
}
