package dyno_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sentenceRoots are the packages that decide. What they find are values with a
// kind; package report has the words.
var sentenceRoots = []string{"internal/analysis", "findings", "internal/stats"}

// sentences are the texts that packages that decide may have all the same, by
// "file: beginning of the text", with the reason.
var sentences = map[string]string{
	"analysis/benchstat/against.go: %s is %s in %s":             "notes of benchstat stand beside those that golang.org/x/perf makes, which are texts",
	"analysis/benchstat/benchstat.go: %s:%d: %v %s is left out": "the same",
	"analysis/benchstat/benchstat.go: samples that differ in ":  "the same",
	"analysis/benchstat/benchstat.go: benchmark set differs":    "the same",
	"analysis/benchstat/benchstat.go: no geometric mean":        "the same",
	"analysis/compare/why.go: waiting for a CPU":                "a Class, which is its own name in summary.json",
	"analysis/compare/why.go: goroutines and threads":           "the same",
	"analysis/compare/why.go: the CPU limit":                    "the same",
	"analysis/exectrace/exectrace.go: wait until GC ends":       "what the Go runtime writes into a trace",
	"analysis/exectrace/exectrace.go: GC ":                      "the same",
	"analysis/pitfall/pitfall.go: b.":                           "a Kind, which is its own name in summary.json",
	"analysis/pitfall/pitfall.go: work depends on b.N":          "the same",
	"analysis/pitfall/pitfall.go: goroutines left running":      "the same",
	"analysis/pitfall/pitfall.go: set-up inside the timer":      "the same",
	"analysis/pitfall/pitfall.go: parallel on one CPU":          "the same",
	"analysis/pitfall/pitfall.go: GC left out":                  "the same",
	"analysis/own/own.go: archive arena":                        "the packages of the standard library",
	"analysis/slow/trace.go: GC mark assist":                    "the runtime's name",
	"analysis/slow/trace.go: GC incremental sweep":              "the runtime's name",
	"analysis/profiles/run.go: trial %d: its ":                  "text of the error Loss, which has the kind",
	"analysis/profiles/run.go: no source of %s":                 "the same",
	"analysis/profiles/run.go: %s was changed after":            "the same",
	"stats/compare.go: paired t on ":                            "the name of a Method in results of studies",
}

// threeWords are three words in a row, of letters.
var threeWords = regexp.MustCompile(`\pL{2,}[,:;]? (?:%[sdvq]|\pL+)[,:;]? \pL{2,}`)

// speaks are the calls whose texts are not the report's to say: errors and panics.
var speaks = map[string]bool{"fmt.Errorf": true, "errors.New": true, "panic": true}

func TestNoSentencesWhereThingsAreDecided(t *testing.T) {
	used := map[string]bool{}
	for _, root := range sentenceRoots {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.Field: // with a struct tag
					return n.Tag == nil
				case *ast.CallExpr:
					return !speaks[callee(n.Fun)]
				case *ast.BasicLit:
					text, err := strconv.Unquote(n.Value)
					if err != nil || n.Kind != token.STRING || !threeWords.MatchString(text) {
						break
					}
					for known := range sentences {
						file, begin, _ := strings.Cut(known, ": ")
						if file == room(filepath.ToSlash(path)) && strings.HasPrefix(text, begin) {
							used[known] = true
							return false
						}
					}
					t.Errorf("%s: a sentence is for package report to say: %q", fset.Position(n.Pos()), text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for known := range sentences {
		if !used[known] {
			t.Errorf("no longer there: %s", known)
		}
	}
}

// callee is the name of a called function, such as fmt.Errorf.
func callee(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}
