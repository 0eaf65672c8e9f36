package dyno_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dynolab/dyno"

// layers is the house: what each package may import of the others. A new arrow
// is a decision; it is made here, in the same change. The table leaves out
// internal/, below which all packages are that are not in public.
var layers = map[string][]string{
	"hist":                {},
	"stats":               {},
	"gctrace":             {},
	"cgroup":              {},
	"unwrap":              {},
	".":                   {"hist"}, // package dyno, the vocabulary
	"plan":                {".", "plan/check"},
	"plan/check":          {"."},
	"answer":              {"."},
	"plan/how":            {"."},
	"plan/flags":          {".", "load/traffic", "plan", "safe"}, // a plan means what its recording has
	"subject":             {".", "cgroup", "subject/driver", "subject/freeport", "subject/gomod", "subject/guard", "subject/imprint", "subject/lastlines", "subject/samecode", "subject/worktree"},
	"subject/imprint":     {},
	"subject/gomod":       {"."},
	"subject/commits":     {"."},
	"subject/toolchain":   {"."},
	"subject/awake":       {".", "cgroup", "subject/guard"},
	"subject/driver":      {},
	"subject/freeport":    {},
	"subject/samecode":    {},
	"subject/guard":       {"cgroup"},
	"subject/image":       {},
	"subject/lastlines":   {"gctrace"},
	"needs":               {".", "needs/relay", "probe", "subject", "subject/freeport", "subject/guard", "subject/lastlines"},
	"needs/relay":         {".", "load/pace"},
	"subject/worktree":    {"."},
	"load":                {".", "cgroup", "hist", "turns", "load/engine", "load/http1", "load/cause", "load/frames", "load/pace", "load/program", "load/requestlog", "load/scenario", "load/schedule", "load/traffic", "load/turn"},
	"load/turn":           {"turns", "load/cpu", "load/pace", "load/schedule"},
	"load/cpu":            {},
	"load/cause":          {},
	"load/frames":         {},
	"load/pace":           {},
	"load/rpc":            {},
	"load/texts":          {},
	"load/grpc":           {".", "load", "load/rpc", "load/texts", "safe"},
	"load/client":         {"load/cause", "load/cpu", "load/frames", "load/pace"},
	"load/program":        {"load/frames", "subject/guard", "subject/lastlines"},
	"load/engine":         {".", "load/http1"},
	"load/foreign":        {".", "hist", "load", "load/http1", "load/scenario"},
	"load/http1":          {},
	"load/pool":           {".", "hist", "load"},
	"load/requestlog":     {"."},
	"load/schedule":       {"."},
	"load/scenario":       {".", "load/http1", "load/texts", "load/traffic", "safe"},
	"load/traffic":        {".", "safe", "unwrap"},
	"probe":               {".", "gctrace"},
	"probe/goruntime":     {".", "gctrace", "probe", "probe/kernel"},
	"probe/kernel":        {".", "cgroup", "probe"},
	"probe/needed":        {".", "probe", "probe/kernel"},
	"probe/profiles":      {".", "probe", "probe/goruntime"},
	"probe/published":     {".", "gctrace", "probe", "probe/kernel"},
	"git":                 {},
	"ledger":              {"git", "safe"},
	"pattern":             {},
	"safe":                {"."},
	"store":               {".", "hist", "plan", "plan/check", "safe"},
	"lab":                 {".", "cgroup", "gctrace", "hist", "lab/logs", "lab/pages", "lab/rests", "turns", "load", "load/foreign", "load/grpc", "load/turn", "needs", "plan/check", "plan/how", "probe", "probe/goruntime", "probe/kernel", "probe/needed", "probe/profiles", "probe/published", "subject", "subject/awake"},
	"lab/logs":            {"gctrace"},
	"lab/cluster":         {".", "hist", "lab", "lab/cluster/wire", "turns", "load", "load/pool", "load/requestlog", "probe"},
	"lab/cluster/agent":   {".", "cgroup", "hist", "lab", "lab/cluster/wire", "turns", "load", "load/turn", "probe", "probe/goruntime", "probe/kernel"},
	"lab/cluster/conform": {".", "lab", "load/traffic"},
	"lab/cluster/kube":    {".", "lab", "lab/logs", "lab/cluster", "lab/cluster/agent", "lab/cluster/wire", "load", "needs", "probe", "subject", "subject/lastlines"},
	"lab/cluster/wire":    {".", "hist", "turns", "load", "load/traffic", "plan", "probe"},
	"lab/pages":           {"probe/profiles"},
	"lab/planted":         {".", "analysis/certify", "subject"}, // the only hand that knows the head's terms: what a change is, and what was judged
	"lab/look":            {".", "lab", "stats"},
	"lab/rests":           {".", "probe"},
	"turns":               {},
	"lab/gobench":         {".", "needs", "pattern", "subject", "subject/driver", "subject/guard", "subject/lastlines"},
	"lab/otlp":            {".", "hist", "lab", "load", "probe"},
	"lab/watched":         {".", "lab", "probe/kernel", "probe/published", "subject/guard"},
	"analysis/advice":     {".", "analysis/compare", "analysis/leak", "stats"},
	"analysis/benchstat":  {"."},
	"analysis/certify":    {".", "analysis/compare", "answer", "hist", "stats"},
	"analysis/compare":    {".", "analysis/exectrace", "analysis/leak", "analysis/pitfall", "analysis/placement", "analysis/profiles", "analysis/slow", "analysis/tail", "analysis/timeline", "analysis/units", "answer", "hist", "stats"},
	"analysis/exectrace":  {"."},
	"analysis/gcmodel":    {},
	"analysis/leak":       {".", "analysis/profiles", "stats"},
	"analysis/pitfall":    {"."},
	"analysis/placement":  {".", "hist", "stats"},
	"analysis/own":        {},
	"analysis/profiles":   {".", "analysis/own", "stats"},
	"analysis/slow":       {".", "analysis/exectrace", "analysis/own", "stats"},
	"analysis/units":      {"."},
	"analysis/suite":      {".", "analysis/compare", "stats"},
	"analysis/tail":       {".", "hist", "stats"},
	"analysis/timeline":   {".", "analysis/tail", "hist", "stats"},
	"analysis/trend":      {"stats"},
	"findings":            {".", "analysis/benchstat", "analysis/certify", "analysis/compare", "analysis/exectrace", "analysis/leak", "analysis/profiles", "analysis/slow", "analysis/tail", "analysis/timeline", "answer", "hist", "plan/how", "safe", "stats", "store"},
	"findings/tracks":     {".", "git", "ledger", "plan", "plan/flags", "report/layout", "report/tracked", "track"},
	"findings/predict":    {".", "analysis/gcmodel", "analysis/tail", "findings", "gctrace", "hist", "store"},
	"findings/receipts":   {".", "analysis/compare", "analysis/gcmodel", "answer", "findings/predict", "receipt", "safe", "stats", "store"},
	"capacity":            {".", "hist", "stats"},
	"report":              {".", "analysis/advice", "analysis/compare", "answer", "findings", "report/benchtable", "report/chart", "report/export", "report/html", "report/layout", "report/plot", "report/profile", "report/screen", "report/slowest", "report/tables", "report/tuned", "report/words", "stats"},
	"report/benchtable":   {".", "analysis/benchstat", "report/export", "report/layout"},
	"report/bisected":     {".", "analysis/compare", "analysis/profiles", "answer", "bisect", "report/chart", "report/layout", "report/screen", "report/words", "stats"},
	"report/tracked":      {".", "answer", "report/chart", "report/html", "report/layout", "report/screen", "report/words", "track"},
	"report/upgraded":     {".", "analysis/compare", "analysis/gcmodel", "answer", "findings/predict", "receipt", "report/layout", "report/screen", "report/words", "stats", "upgrade"},
	"report/certified":    {".", "analysis/certify", "findings", "report/chart", "report/layout", "report/screen", "report/words"},
	"report/chart":        {},
	"report/export":       {".", "analysis/compare", "hist", "report/layout"},
	"report/gclog":        {"gctrace", "report/layout"},
	"report/layout":       {"hist", "stats"},
	"report/places":       {".", "analysis/placement", "report/layout"},
	"report/asked":        {"analysis/compare", "report/layout"},
	"report/plot":         {".", "analysis/compare", "report/chart", "report/layout", "stats"},
	"report/screen":       {"report/chart", "report/html", "report/layout", "report/words"},
	"report/html":         {".", "analysis/compare", "analysis/leak", "analysis/profiles", "analysis/timeline", "findings", "hist", "report/chart", "report/layout", "report/places", "report/pprofpage", "report/profile", "report/tables", "report/words"},
	"report/tables":       {".", "analysis/advice", "analysis/benchstat", "analysis/compare", "analysis/exectrace", "analysis/leak", "analysis/pitfall", "analysis/profiles", "analysis/suite", "analysis/tail", "analysis/timeline", "answer", "findings", "report/benchtable", "report/asked", "report/chart", "report/layout", "report/places", "report/plot", "report/profile", "report/slowest", "report/suites", "report/words", "stats"},
	"report/suites":       {"analysis/compare", "analysis/suite", "report/layout"},
	"report/slowest":      {"analysis/compare", "analysis/exectrace", "analysis/slow", "report/chart", "report/layout", "report/words"},
	"report/tuned":        {".", "analysis/compare", "analysis/gcmodel", "answer", "findings/predict", "receipt", "report/chart", "report/layout", "report/screen", "report/words", "stats", "tune"},
	"report/words":        {".", "analysis/advice", "analysis/certify", "analysis/compare", "analysis/exectrace", "analysis/gcmodel", "analysis/leak", "analysis/pitfall", "analysis/slow", "analysis/timeline", "report/layout", "stats"},
	"report/pprofpage":    {"analysis/profiles"},
	"report/knee":         {".", "answer", "capacity", "receipt", "report/chart", "report/layout", "report/plot", "report/screen", "report/words", "stats"},
	"report/prediction":   {".", "analysis/gcmodel", "answer", "findings/predict", "receipt", "report/chart", "report/layout", "report/plot", "report/screen", "report/words"},
	"report/promises":     {".", "answer", "findings/receipts", "receipt", "report/layout", "report/screen", "report/words"},
	"report/profile":      {"analysis/profiles", "report/layout", "stats"},
	"bisect":              {".", "analysis/compare", "pattern", "stats"},
	"track":               {"stats"},
	"receipt":             {".", "analysis/compare", "analysis/gcmodel", "answer", "findings/predict", "stats"}, // predicts again, for another load
	"tune":                {".", "analysis/compare", "analysis/gcmodel", "stats"},
	"upgrade":             {".", "analysis/compare", "stats"},
	"web":                 {".", "analysis/compare", "analysis/profiles", "analysis/timeline", "analysis/trend", "findings", "findings/predict", "findings/tracks", "hist", "report/chart", "report/html", "report/layout", "report/pprofpage", "report/prediction", "report/words", "safe", "stats", "store"},
	"web/child":           {"web"},
	"dynotest":            {"."},
	"examples":            {},
	"cmd/dyno/github":     {".", "analysis/compare", "findings", "report", "report/layout", "report/words", "stats"},
	"cmd/dyno/help":       {"."},
	"cmd/dyno/interrupt":  {},
	"campaign/versions":   {".", "lab/gobench", "pattern", "plan/flags", "report/layout", "subject", "subject/commits", "subject/guard"},
	"cmd/dyno/plans":      {"campaign", "plan", "plan/flags"},
	"cmd/dyno/sheet":      {".", "report/export", "store"},
	"cmd/dyno/remote":     {".", "campaign/progress", "lab/cluster/agent", "lab/cluster/wire", "plan/flags", "subject", "subject/image"},
	"campaign":            {".", "analysis/certify", "analysis/compare", "analysis/gcmodel", "analysis/pitfall", "answer", "campaign/progress", "capacity", "findings", "findings/predict", "findings/receipts", "lab", "lab/cluster", "lab/cluster/kube", "lab/cluster/wire", "lab/gobench", "lab/look", "lab/otlp", "lab/planted", "plan/check", "plan/flags", "plan/how", "report", "report/certified", "report/export", "report/knee", "report/layout", "report/tuned", "report/upgraded", "report/words", "safe", "store", "subject", "subject/awake", "subject/guard", "subject/samecode", "subject/toolchain", "tune", "upgrade"},
	"campaign/bisecting":  {".", "bisect", "campaign", "campaign/versions", "findings", "plan/flags", "report/bisected", "report/layout", "store"},
	"campaign/tracking":   {".", "analysis/compare", "bisect", "campaign", "campaign/bisecting", "findings/tracks", "git", "plan/flags", "report/bisected", "report/tracked", "stats", "store", "track"},
	"campaign/progress":   {".", "analysis/compare", "lab/gobench", "load", "report/layout"},
	"cmd/dyno":            {".", "analysis/benchstat", "analysis/certify", "analysis/compare", "analysis/gcmodel", "analysis/profiles", "answer", "campaign", "campaign/bisecting", "campaign/progress", "campaign/tracking", "cmd/dyno/github", "cmd/dyno/help", "cmd/dyno/interrupt", "cmd/dyno/plans", "cmd/dyno/remote", "cmd/dyno/sheet", "examples", "findings", "findings/predict", "findings/receipts", "findings/tracks", "gctrace", "lab", "lab/otlp", "lab/watched", "load", "plan", "plan/check", "plan/flags", "receipt", "report", "report/benchtable", "report/certified", "report/gclog", "report/layout", "report/pprofpage", "report/prediction", "report/profile", "report/promises", "report/tables", "report/tracked", "report/tuned", "report/words", "store", "subject/awake", "subject/guard", "track", "unwrap", "web", "web/child"},
}

// acting are the rooms whose packages may start goroutines.
var acting = []string{"lab", "load", "needs", "subject", "campaign", "findings", "web", "cmd"}

// program reports whether a package is a program of its own, which belongs to
// no layer: an example subject, the source that is injected into subjects, or a
// load. Package load only embeds the source of load/client.
func program(pkg string) bool {
	return pkg == "load" || strings.HasPrefix(pkg, "examples/") || strings.HasPrefix(pkg, "internal/subject/inject") || pkg == "internal/load/grpc/_program"
}

// public are the packages for other modules; load has the source of load/client,
// which no package below internal could embed.
var public = []string{".", "dynotest", "findings", "gctrace", "hist", "load", "load/client"}

// room is a package's name in the tables.
func room(pkg string) string { return strings.TrimPrefix(pkg, "internal/") }

func TestPublic(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if slices.Contains([]string{"internal", "cmd", "eval", "examples"}, path) || d.Name() == "testdata" || path != "." && d.Name()[0] == '.' {
			return fs.SkipDir
		}
		files, _ := filepath.Glob(filepath.Join(path, "*.go"))
		if len(files) > 0 && !slices.Contains(public, filepath.ToSlash(path)) {
			t.Errorf("package %s is public (want it below internal, or in the list of what dyno promises)", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLayers reads the files itself, rather than ask go list, so that the test
// cache notices when an import changes.
func TestLayers(t *testing.T) {
	walk(t, ".", func(pkg, path string, f *ast.File) {
		may, ok := layers[pkg]
		if !ok {
			t.Errorf("package %s is not in the table", pkg)
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			rest, ours := strings.CutPrefix(imp, module)
			if !ours || (rest != "" && rest[0] != '/') {
				continue
			}
			dep := room(strings.TrimPrefix(rest, "/"))
			if dep == "" {
				dep = "."
			}
			if !slices.Contains(may, dep) {
				t.Errorf("%s: package %s may not import %s", path, pkg, dep)
			}
		}
	})
}

func TestGoroutinesOnlyInHands(t *testing.T) {
	walk(t, ".", func(pkg, path string, f *ast.File) {
		if house, _, _ := strings.Cut(pkg, "/"); slices.Contains(acting, house) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			_, started := n.(*ast.GoStmt)
			if call, ok := n.(*ast.CallExpr); ok {
				method, ok := call.Fun.(*ast.SelectorExpr)
				started = started || ok && method.Sel.Name == "Go" // of sync.WaitGroup
			}
			if started {
				t.Errorf("%s: package %s may not start goroutines", path, pkg)
			}
			return true
		})
	})
}

// The programs of eval run dyno from outside, so as not to repeat its mistakes. Only
// page imports it, to write run directories.
func TestEvalFromOutside(t *testing.T) {
	walk(t, "eval", func(pkg, path string, f *ast.File) {
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if strings.HasPrefix(imp, module) && !strings.HasPrefix(imp, module+"/eval/") && pkg != "eval/page" {
				t.Errorf("%s: package %s may not import %s", path, pkg, imp)
			}
		}
	})
}

// A room has at most so many files and lines that are no tests.
const (
	maxFiles = 20
	maxLines = 3000
)

// larger are the rooms that may be larger, each with its reason.
var larger = map[string]struct {
	files, lines int
	why          string
}{
	".":        {23, 3500, "the vocabulary of plans and results, which all others share"},
	"cmd/dyno": {33, 4600, "one file for each subcommand"},
	"lab":      {20, 3200, "a trial from launch to result, alone and beside others"},
}

func TestSizes(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	walk(t, ".", func(pkg, path string, f *ast.File) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[pkg]++
		lines[pkg] += strings.Count(string(src), "\n")
	})
	for pkg := range files {
		mostFiles, mostLines := maxFiles, maxLines
		if x, ok := larger[pkg]; ok {
			mostFiles, mostLines = x.files, x.lines
		}
		if files[pkg] > mostFiles || lines[pkg] > mostLines {
			t.Errorf("package %s has %d files and %d lines (want at most %d and %d)", pkg, files[pkg], lines[pkg], mostFiles, mostLines)
		}
	}
}

// barred are the modules that a room does without, as others do its work with them.
var barred = map[string][]string{
	"campaign": {"github.com/spf13/cobra"},
	"cmd/dyno": {"github.com/google/pprof", "github.com/parquet-go", "golang.org/x/exp/trace", module + "/internal/stats"},
	"findings": {"github.com/spf13/cobra"},
	"web":      {"github.com/spf13/cobra"},
}

func TestBarredImports(t *testing.T) {
	walk(t, ".", func(pkg, path string, f *ast.File) {
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			for _, prefix := range barred[pkg] {
				if strings.HasPrefix(imp, prefix) {
					t.Errorf("%s: package %s may not import %s", path, pkg, imp)
				}
			}
		}
	})
}

func walk(t *testing.T, root string, each func(pkg, path string, f *ast.File)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir // a module of its own, such as the source of a demo's run
			}
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if program(dir) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			files++
			each(room(dir), path, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no files were read")
	}
}
