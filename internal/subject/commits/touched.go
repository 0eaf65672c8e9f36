package commits

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Func is a function whose source a change touches.
type Func struct {
	File string // from the top of the repository, with slashes
	Name string // as a profile has it after the package: F, T.M or (*T).M
	Line int    // where it begins
}

// Touched returns the functions with lines that differ between two commits; with tests, those of test files, too. A function that was removed is
// not in it, nor one whose file was renamed alone.
func Touched(ctx context.Context, git Git, dir, from, to string, tests bool) (all []Func, err error) {
	diff, err := git(ctx, dir, "", "diff", "--no-ext-diff", "--no-color", "--find-renames", "-U0", "--src-prefix=a/", "--dst-prefix=b/", from, to, "--", "*.go")
	if err != nil {
		return nil, err
	}
	for file, spans := range spansOf(diff) {
		if strings.HasSuffix(file, "_test.go") && !tests {
			continue
		}
		text, err := git(ctx, dir, "", "show", to+":"+file)
		if err != nil {
			return nil, err
		}
		all = append(all, touched(file, text, spans)...)
	}
	slices.SortFunc(all, func(a, b Func) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	return all, nil
}

// A span is lines of the new file. One without lines is where some were removed, after its first.
type span struct{ first, lines int }

// hunk is the head of what differs: how many lines of the old file, and which of the new one (the unified format, git-diff(1)).
var hunk = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// spansOf reads a diff without context. Files with names that git quotes are left out.
func spansOf(diff string) map[string][]span {
	all := map[string][]span{}
	file, skip := "", 0
	number := func(text string) int {
		if text == "" {
			return 1
		}
		n, _ := strconv.Atoi(text)
		return n
	}
	for line := range strings.SplitSeq(diff, "\n") {
		m := hunk.FindStringSubmatch(line)
		switch {
		case skip > 0: // a line of a hunk
			if !strings.HasPrefix(line, "\\") { // "\ No newline at end of file"
				skip--
			}
		case m != nil:
			s := span{number(m[2]), number(m[3])}
			if skip = number(m[1]) + s.lines; file != "" {
				all[file] = append(all[file], s)
			}
		case strings.HasPrefix(line, "+++ "):
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\t"), "+++ b/")
			if file = name; !ok { // /dev/null, or quoted
				file = ""
			}
		}
	}
	return all
}

// touched are the functions of a file that have a line of a span. A file that does not parse has none.
func touched(file, text string, spans []span) (all []Func) {
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
		within := func(s span) bool {
			if s.lines == 0 {
				return begin <= s.first && s.first < end
			}
			return s.first <= end && s.first+s.lines > begin
		}
		if slices.ContainsFunc(spans, within) {
			all = append(all, Func{file, methodName(f), begin})
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
