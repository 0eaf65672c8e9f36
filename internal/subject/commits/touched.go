package commits

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// A Func is a function whose source a change touches.
type Func struct {
	File string // from the top of the repository, with slashes
	Name string // as a profile has it after the package: F, T.M or (*T).M
	Line int    // where it begins
}

// Touched returns the functions of files, but for tests, with lines that differ between two commits. What was removed is not in it.
func Touched(ctx context.Context, git Git, dir, from, to string, files []string) (all []Func, err error) {
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		diff, err := git(ctx, dir, "", "diff", "--no-ext-diff", "--no-color", "--no-renames", "-U0", from, to, "--", file)
		if err != nil {
			return nil, err
		}
		text, err := git(ctx, dir, "", "show", to+":"+file)
		if err != nil {
			continue // the commit removed it
		}
		all = append(all, touched(file, text, hunks(diff))...)
	}
	return all, nil
}

// hunk is the head of what differs: the lines in the new file (git-diff(1), "combined diff format").
var hunk = regexp.MustCompile(`(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// hunks are the first and last lines of each; of lines that were removed, those around them.
func hunks(diff string) (spans [][2]int) {
	for _, m := range hunk.FindAllStringSubmatch(diff, -1) {
		first, _ := strconv.Atoi(m[1])
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		last := first + n - 1
		if n == 0 {
			last = first + 1
		}
		spans = append(spans, [2]int{first, last})
	}
	return spans
}

// touched are the functions of a file that have a line of a span. A file that does not parse has none.
func touched(file, text string, spans [][2]int) (all []Func) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin, end := set.Position(f.Pos()).Line, set.Position(f.End()).Line
		for _, span := range spans {
			if span[0] <= end && span[1] >= begin {
				all = append(all, Func{file, methodName(f), begin})
				break
			}
		}
	}
	return all
}

// methodName is as the runtime has it, without type arguments.
func methodName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of, pointer := f.Recv.List[0].Type, false
	if star, ok := of.(*ast.StarExpr); ok {
		of, pointer = star.X, true
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	name, ok := of.(*ast.Ident)
	switch {
	case !ok:
		return f.Name.Name
	case pointer:
		return "(*" + name.Name + ")." + f.Name.Name
	}
	return name.Name + "." + f.Name.Name
}
