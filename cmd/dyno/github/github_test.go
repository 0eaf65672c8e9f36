package github

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A line that made something worse gets a warning, by the name that the repository has for a file that was
// built elsewhere; a line of another module, and one that got better, get none.
func TestAnnotate(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cmd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "cmd", "main.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GITHUB_WORKSPACE", root)
	place := func(file string, line int, change float64) compare.Place {
		return compare.Place{Func: "main.hash", File: file, Line: line, Change: dyno.Number(change)}
	}
	worse := compare.Versus{}
	worse.Verdict = stats.Worse
	setting := compare.Setting{
		Setting: dyno.Setting{{Factor: "rev", Value: "HEAD"}},
		Versus:  map[string]compare.Versus{"cpu-sec/req": worse},
		Why: []compare.Why{{Metric: "cpu-sec/req", Causes: []compare.Cause{{Class: compare.ClassCPU, Metric: "cpu-sec/req", Places: []compare.Place{
			place("/tmp/dyno-x/tree/cmd/main.go", 31, 1e-5), place("/go/pkg/mod/other.go", 7, 1e-5), place("cmd/main.go", 12, -1e-5),
		}}}}},
	}
	tb := &compare.Table{Settings: []compare.Setting{{}, setting}}
	var b strings.Builder
	if err := Annotate(&b, tb); err != nil || b.Len() > 0 {
		t.Errorf("outside of a job: %q, %v", b.String(), err)
	}
	t.Setenv("GITHUB_ACTIONS", "true")
	if err := Annotate(&b, tb); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.HasPrefix(got, "::warning file=cmd/main.go,line=31,title=dyno::rev=HEAD: CPU time per request is worse; ") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}
