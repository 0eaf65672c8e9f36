package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno/findings"
)

var updateFormer = flag.Bool("update-former", false, "rewrite what is reported of the runs of former versions")

// formerRuns is the folder of run directories that former versions wrote: a
// folder for each version, in it the directories, and beside each what that
// version reported of it.
const formerRuns = "../../findings/testdata/runs"

// inFormer makes the folder of a former version the working directory, so that
// reports call its runs by the same paths. It returns the names of the runs.
func inFormer(t *testing.T, version string) (names []string) {
	t.Helper()
	program := os.Args[0]
	os.Args[0] = "dyno" // as reports call it
	t.Cleanup(func() { os.Args[0] = program })
	t.Chdir(filepath.Join(formerRuns, version))
	names, err := filepath.Glob("*/run.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no runs: %v", err)
	}
	for i := range names {
		names[i] = filepath.Dir(names[i])
	}
	return names
}

// dynoSays runs dyno in this process and returns what it prints.
func dynoSays(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if status := run(t.Context(), args, &stdout, &stderr); status != exitDone {
		t.Errorf("dyno %s: exit status %d\n%s", strings.Join(args, " "), status, &stderr)
	}
	return stdout.String()
}

// The report of a run that a former version wrote says the same as it said then.
func TestFormerReport(t *testing.T) {
	for _, name := range inFormer(t, "2bb5b5f") {
		for format, file := range map[string]string{"text": name + ".txt", "markdown": name + ".md", "json": name + ".json"} {
			got := dynoSays(t, "report", name, "--full", "--format", format)
			if *updateFormer {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if format == "json" {
				for _, difference := range missing(t, want, []byte(got)) {
					t.Errorf("%s: %s", file, difference)
				}
			} else if got != string(want) {
				t.Errorf("%s: %s", file, firstDifference(string(want), got))
			}
		}
		if got := dynoSays(t, "report", name, "--format", "html"); !strings.Contains(got, "<html") || !strings.Contains(got, "</html>") {
			t.Errorf("%s: the HTML report is no page: %.300s", name, got)
		}
	}
}

// missing says what of a JSON text is not in another one that may have more keys.
// Sums of floating-point numbers may differ in their last digits.
func missing(t *testing.T, want, got []byte) (differences []string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, w, g any)
	compare = func(path string, w, g any) {
		switch w := w.(type) {
		case map[string]any:
			if g, ok := g.(map[string]any); ok {
				for key := range w {
					compare(path+"."+key, w[key], g[key])
				}
				return
			}
		case []any:
			if g, ok := g.([]any); ok && len(g) == len(w) {
				for i := range w {
					compare(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
				}
				return
			}
		case float64:
			if g, ok := g.(float64); ok && math.Abs(w-g) <= 1e-9*math.Abs(w) {
				return
			}
		default:
			if w == g {
				return
			}
		}
		differences = append(differences, fmt.Sprintf("%s: %v, want %v", path, g, w))
	}
	compare("", w, g)
	slices.Sort(differences)
	return differences
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, strings.Join(g[min(i, len(g)):min(i+1, len(g))], ""), w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// Two runs of a former version are compared, and so are the settings of one.
func TestFormerCompare(t *testing.T) {
	for _, name := range inFormer(t, "2bb5b5f") {
		if got := dynoSays(t, "compare", name); got == "" {
			t.Errorf("compare %s says nothing", name)
		}
	}
	if got := dynoSays(t, "compare", "vary", "killed"); !strings.Contains(got, "GOGC=50") || !strings.Contains(got, "the runs differ in load.rate: nothing and 400") {
		t.Errorf("compare says\n%s", got)
	}
}

// Profiles that a former version took are shown, of a service and of a benchmark.
func TestFormerProfile(t *testing.T) {
	inFormer(t, "2bb5b5f")
	for _, c := range []struct{ args, want string }{
		{"profile", "cpu: GOGC=100 (2), GOGC=50 (2)\nallocs: GOGC=100 (2), GOGC=50 (2)\n"},
		{"profile --type allocs --base 100", "main.Prices"},
		{"profile flame --type allocs", "main.Prices"},
		{"bench", "cpu: bench=Prices (3), bench=Lines (3)\n"},
		{"bench --base bench=Prices", "example.org/shop.Lines"},
		{"bench list shop.Prices --type allocs", "strconv.Itoa(i)"}, // the source is kept in the run
	} {
		if got := dynoSays(t, append([]string{"profile"}, strings.Fields(c.args)...)...); !strings.Contains(got, c.want) {
			t.Errorf("dyno profile %s has no %s:\n%s", c.args, c.want, got)
		}
	}
}

// A view lists the runs of a former version, and shows each.
func TestFormerView(t *testing.T) {
	names := inFormer(t, "2bb5b5f")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	// Of benchmarks the saved page is shown; it is not kept here, for its size.
	if err := os.WriteFile("bench/report.html", []byte(dynoSays(t, "report", "bench", "--format", "html")), 0o666); err != nil {
		t.Fatal(err)
	}
	v := startView(t, ".")
	defer v.end()
	client := browser(t)
	_, list := fetch(t, client, v.visit)
	paths := []string{"trend?name=vary&metric=p99-sec", "compare?a=vary&b=killed"}
	for _, name := range names {
		if !strings.Contains(list, `href="/runs/`+name+`/"`) {
			t.Errorf("%s is not in the list", name)
		}
		paths = append(paths, "runs/"+name+"/")
	}
	for _, path := range paths {
		if status, body := fetch(t, client, v.address+path); status != 200 || !strings.Contains(body, "</html>") || strings.Contains(body, "broken") {
			t.Errorf("/%s: status %d\n%.2000s", path, status, body)
		}
	}
}

// A tuning, a search and a certificate of the version before answers had one envelope open as they did then, and lose no key.
func TestFormerAnswers(t *testing.T) {
	inFormer(t, "baa4f2c6")
	for path, want := range map[string]string{
		"capacity": "capacity: 5 trials in 1 block of 5 settings", "certified": "certificate of 2026-11-28, of runs of about 6s: false alarms 0 of 2;",
		"tune/1-today": "tune today: 2 trials", "tune/2-candidates": "tune candidates: 21 trials",
	} {
		if got := dynoSays(t, "report", path); !strings.Contains(got, want) {
			t.Errorf("the report of %s has no %q:\n%s", path, want, got)
		}
	}
	for _, path := range []string{"capacity", "certified"} {
		summary, err := os.ReadFile(filepath.Join(path, "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, difference := range missing(t, summary, []byte(dynoSays(t, "report", path, "--json"))) {
			t.Errorf("%s: %s", path, difference)
		}
	}
	former, err := os.ReadFile("certified/certificate.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := findings.ReadCertificate("certified/certificate.json")
	if err != nil {
		t.Fatal(err)
	}
	now, err := json.Marshal(c)
	if differences := missing(t, former, now); err != nil || differences != nil {
		t.Errorf("the certificate: %v, %v", err, differences)
	}

	v := startView(t, ".")
	defer v.end()
	client := browser(t)
	_, list := fetch(t, client, v.visit)
	for _, row := range []string{"capacity", "certified", "tune", "tune/1-today", "tune/2-candidates"} {
		if !strings.Contains(list, `href="/runs/`+row+`/"`) {
			t.Errorf("%s is not in the list", row)
		}
	}
	for page, want := range map[string]string{
		"runs/capacity/": "load.rate=100", "runs/capacity/answer.html": "capacity: unclear at p99", "runs/tune/": "keep today&#39;s setting",
		"runs/tune/2-candidates/": "GOGC=15", "runs/certified/": "certificate of 2026-11-28", "runs/certified/files/certificate.json": "outcomes",
	} {
		if status, body := fetch(t, client, v.address+page); status != 200 || !strings.Contains(body, want) {
			t.Errorf("/%s: status %d, no %q in\n%.2000s", page, status, want, body)
		}
	}
}

// A run that a former version began is gone on with in its own order, whether it was interrupted or
// killed. The service is built anew, from a copy elsewhere.
func TestFormerResume(t *testing.T) {
	for _, variable := range goEnviron(t) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	for to, from := range map[string]string{"shop": "shop", "interrupted": "2bb5b5f/interrupted", "killed": "2bb5b5f/killed"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(formerRuns, from))); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, name := range []string{"interrupted", "killed"} {
		movePlan(t, name, "/src/shop", filepath.Join(dir, "shop"))
		if got := dynoSays(t, "run", "--resume", name); !strings.Contains(got, name+": 6 trials in 3 blocks of 2 settings") {
			t.Errorf("the report of %s:\n%s", name, got)
		}
		results, err := os.ReadFile(filepath.Join(name, "results.jsonl"))
		if n := bytes.Count(results, []byte("\n")); err != nil || n != 6 {
			t.Errorf("%s has %d results, %v", name, n, err)
		}
		for i, gogc := range []string{"50", "100", "100", "50", "100", "50"} { // as that version shuffled them
			if want := fmt.Appendf(nil, `"trial":%d,"block":%d,"setting":"GOGC=%s"`, i+1, i/2+1, gogc); !bytes.Contains(results, want) {
				t.Errorf("%s has no %s:\n%.200s", name, want, results)
			}
		}
		// What the trial that was broken off has left behind is measured anew.
		for _, file := range []string{"series.parquet", "requests.parquet"} {
			if _, err := fs.Stat(os.DirFS(name), "trials/0004/"+file); err != nil {
				t.Error(err)
			}
		}
	}
}

// movePlan says in a run's plan that the subject is elsewhere.
func movePlan(t *testing.T, run, from, to string) {
	t.Helper()
	file := filepath.Join(run, "run.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	quote := func(path string) []byte { text, _ := json.Marshal(path); return text }
	if !bytes.Contains(text, quote(from)) {
		t.Fatalf("%s does not name %s", file, from)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, quote(from), quote(to)), 0o666); err != nil {
		t.Fatal(err)
	}
}
