// Package toolchain knows what a version of Go changes by default: experiments of the compiler and the runtime that are
// on, and GODEBUG settings. It reads that from the toolchain's own source, and asks the go command, by a function that
// its caller gives it, what a program is made of.
//
// It builds nothing and measures nothing. What to make of the differences is package upgrade's.
package toolchain

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Baseline returns the experiments that a toolchain turns on, by the names of GOEXPERIMENT, in the order of the source. src is
// internal/buildcfg/exp.go. What is on for some platforms only counts as on. Those of the register ABI are left out:
// they cannot be turned off where they matter.
func Baseline(src []byte) (names []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), "exp.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		set, ok := n.(*ast.AssignStmt)
		if !ok || found || len(set.Lhs) != 1 || !named(set.Lhs[0], "baseline") {
			return true
		}
		lit, ok := set.Rhs[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		found = true
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			name := ""
			if key, ok := kv.Key.(*ast.Ident); ok {
				name = strings.ToLower(key.Name)
			}
			if name != "" && !strings.HasPrefix(name, "regabi") && !named(kv.Value, "false") {
				names = append(names, name)
			}
		}
		return false
	})
	if !found {
		return nil, fmt.Errorf("exp.go has no baseline of experiments")
	}
	return names, nil
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// A Setting is one of GODEBUG.
type Setting struct {
	Name    string
	Package string // that reads it, an import path
	Changed int    // minor version of Go whose default is another; 0 if none is
	Old     string // the value that restores what was before Changed
}

// A Removed setting is one that a go command no longer knows.
type Removed struct {
	Name  string
	Minor int      // version of Go without it
	Old   []string // values that it refuses; none means all
}

// A Table is the GODEBUG settings of a toolchain.
type Table struct {
	Settings []Setting
	Removed  []Removed
}

// ReadTable reads internal/godebugs/table.go.
func ReadTable(src []byte) (*Table, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "table.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	t := &Table{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if len(v.Values) != 1 {
				continue
			}
			lit, ok := v.Values[0].(*ast.CompositeLit)
			if !ok {
				continue
			}
			for _, e := range lit.Elts {
				if row, ok := e.(*ast.CompositeLit); ok {
					t.add(v.Names[0].Name, fields(row), f)
				}
			}
		}
	}
	if len(t.Settings) == 0 {
		return nil, fmt.Errorf("table.go has no GODEBUG settings")
	}
	return t, nil
}

func fields(row *ast.CompositeLit) map[string]ast.Expr {
	m := map[string]ast.Expr{}
	for _, e := range row.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				m[key.Name] = kv.Value
			}
		}
	}
	return m
}

func (t *Table) add(list string, f map[string]ast.Expr, file *ast.File) {
	switch list {
	case "All":
		t.Settings = append(t.Settings, Setting{text(f["Name"]), text(f["Package"]), number(f["Changed"]), text(f["Old"])})
	case "Removed":
		t.Removed = append(t.Removed, Removed{text(f["Name"]), number(f["Removed"]), compared(f["Old"], file)})
	}
}

func text(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	return ""
}

func number(e ast.Expr) int {
	if lit, ok := e.(*ast.BasicLit); ok {
		n, _ := strconv.Atoi(lit.Value)
		return n
	}
	return 0
}

// compared are the texts that a function compares its argument with: one in place, or one of the file.
func compared(e ast.Expr, file *ast.File) (values []string) {
	var of ast.Node = e
	if id, ok := e.(*ast.Ident); ok {
		of = nil
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == id.Name {
				of = fn.Body
			}
		}
	}
	if of == nil || e == nil {
		return nil
	}
	ast.Inspect(of, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.EQL {
			if s := text(b.Y); s != "" {
				values = append(values, s)
			}
		}
		return true
	})
	return values
}

// Refuses says why the go command does not build with a setting; "" if it does (CheckGodebug in cmd/go/internal/modload).
func (t *Table) Refuses(name, value string) string {
	if name == "default" || slices.ContainsFunc(t.Settings, func(s Setting) bool { return s.Name == name }) {
		return ""
	}
	for _, r := range t.Removed {
		switch {
		case r.Name != name:
		case len(r.Old) > 0 && !slices.Contains(r.Old, value):
			return ""
		default:
			return fmt.Sprintf("removed in Go 1.%d", r.Minor)
		}
	}
	return "unknown to it"
}

// Defaults are what an executable has of GODEBUG settings.
type Defaults struct {
	Minor int               // version of its toolchain: 27 is Go 1.27
	Set   map[string]string // DefaultGODEBUG of its build: what is not the default of the toolchain
}

// ReadDefaults reads DefaultGODEBUG, such as "panicnil=1,tlsmlkem=0".
func ReadDefaults(minor int, list string) Defaults {
	d := Defaults{minor, map[string]string{}}
	for pair := range strings.SplitSeq(list, ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			d.Set[name] = value
		}
	}
	return d
}

// Changed lists the settings whose default is the old one in a program, and no longer in another. t is the table of the other's toolchain.
func (t *Table) Changed(old, new Defaults) (changed []Setting) {
	for _, s := range t.Settings {
		if s.Changed == 0 || s.Old == "" {
			continue
		}
		was, set := old.Set[s.Name]
		if !set && s.Changed > old.Minor {
			was = s.Old
		}
		if is := new.Set[s.Name]; was == s.Old && is != s.Old {
			changed = append(changed, s)
		}
	}
	return changed
}

// A Line is a GODEBUG setting in the user's source.
type Line struct {
	File  string
	N     int
	Text  string
	Name  string
	Value string
}

// ModLines reads what a go.mod says of Go: its go line, its toolchain line, and its godebug lines.
func ModLines(file string, src []byte) (goLine, toolchain string, godebug []Line) {
	n, block := 0, false
	for line := range strings.Lines(string(src)) {
		n++
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case block && words[0] == ")":
			block = false
		case block:
			godebug = append(godebug, lineOf(file, n, "godebug "+words[0], words[0]))
		case words[0] == "godebug" && len(words) > 1 && words[1] == "(":
			block = true
		case len(words) < 2:
		case words[0] == "godebug":
			godebug = append(godebug, lineOf(file, n, "godebug "+words[1], words[1]))
		case words[0] == "go":
			goLine = words[1]
		case words[0] == "toolchain":
			toolchain = words[1]
		}
	}
	return goLine, toolchain, godebug
}

// SourceLines reads the //go:debug lines of a Go file, which stand before its package clause.
func SourceLines(file string, src []byte) (lines []Line) {
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			break
		}
		if pair, ok := strings.CutPrefix(line, "//go:debug "); ok {
			lines = append(lines, lineOf(file, n, line, strings.TrimSpace(pair)))
		}
	}
	return lines
}

func lineOf(file string, n int, text, pair string) Line {
	name, value, _ := strings.Cut(pair, "=")
	return Line{file, n, text, name, value}
}
