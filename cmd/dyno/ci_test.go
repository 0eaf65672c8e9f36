//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const searchService = `package main

import (
	"net/http"
	"os"
)

var kept []byte

func main() {
	http.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) { kept = make([]byte, 4096); w.Write(kept[:10]) })
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
`

const searchBenchmark = `package main

import (
	"strings"
	"testing"
)

func BenchmarkRepeat(b *testing.B) {
	for range b.N {
		kept = []byte(strings.Repeat("x", 1000))
	}
}
`

// stepKeys are those of a step of GitHub's workflows.
var stepKeys = []string{"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error", "timeout-minutes"}

// scripts are the shell scripts of a workflow of GitHub.
func scripts(t *testing.T, text string) (all []string) {
	t.Helper()
	var flow map[string]any
	if err := yaml.Unmarshal([]byte(text), &flow); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if flow["on"] == nil || flow["name"] == nil {
		t.Errorf("no trigger, or no name:\n%s", text)
	}
	for name, job := range flow["jobs"].(map[string]any) {
		keys := job.(map[string]any)
		if keys["runs-on"] == nil || keys["timeout-minutes"] == nil {
			t.Errorf("job %s: no machine, or no limit of time", name)
		}
		for _, s := range keys["steps"].([]any) {
			step := s.(map[string]any)
			for key := range step {
				if !slices.Contains(stepKeys, key) {
					t.Errorf("job %s: unknown key %s of a step", name, key)
				}
			}
			uses, isUse := step["uses"].(string)
			run, isRun := step["run"].(string)
			if isUse == isRun || isUse && !regexp.MustCompile(`^[\w-]+/[\w-]+@v\d+$`).MatchString(uses) {
				t.Errorf("job %s: bad step %v", name, step)
			}
			// What a pull request names may not become a part of a script.
			if strings.Contains(run, "${{") {
				t.Errorf("job %s: an expression in a script: %s", name, run)
			}
			if isRun {
				all = append(all, run)
			}
		}
	}
	return all
}

// shorter are the commands of the page in a time that a test has.
var shorter = []struct {
	long *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`(?m)^(go install|gh) .*$`), "true"},
	{regexp.MustCompile(` -d \d+s`), " -d 100ms"},
	{regexp.MustCompile(` -d \d+m\b`), " -d 60s --blocks 2"},
	{regexp.MustCompile(` -w \d+s`), " -w 20ms"},
	{regexp.MustCompile(` --repeat \d+`), " --repeat 6"},
}

// TestCIDoc parses the workflows of doc/ci.md, and runs their commands on a tiny
// service of two revisions.
func TestCIDoc(t *testing.T) {
	page, err := os.ReadFile("../../doc/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	flows := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(flows) != 4 {
		t.Fatalf("%d workflows", len(flows))
	}
	for n, flow := range flows {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			dir := revisions(t)
			ran := 0
			for _, script := range scripts(t, flow[1]) {
				for _, s := range shorter {
					script = s.long.ReplaceAllString(script, s.text)
				}
				ran += strings.Count(script, "dyno ")
				sh := exec.Command("bash", "-eo", "pipefail", "-c", script)
				sh.Dir = dir
				sh.Env = append(os.Environ(), append(goEnviron(t), "BASE=main", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "step.md"))...)
				out, err := sh.CombinedOutput()
				// The machine of a test is no machine to measure on: 99 is as good.
				if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitThreshold) {
					t.Errorf("%v of\n%s\n%s", err, script, out)
				}
				if strings.Contains(script, "dyno run") && !strings.Contains(string(out), "\nThresholds: ") {
					t.Errorf("no threshold was judged:\n%s\n%s", script, out)
				}
			}
			if ran < 2 {
				t.Errorf("%d commands were run", ran)
			}
			words := "**Thresholds: "
			if strings.Contains(flow[1], "dyno bench") {
				words = "Repeat"
			}
			for name, want := range map[string]string{"junit.xml": "<testsuites ", "comment.md": words, "dyno.prom": "# EOF\n", "step.md": words} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if strings.Contains(flow[1], name) || name == "step.md" {
					if err != nil || !strings.Contains(string(data), want) {
						t.Errorf("%s: %v\n%s", name, err, data)
					}
				}
			}
		})
	}
}

// revisions makes a repository with a service, of which origin/main is a week old.
func revisions(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	server := filepath.Join(dir, "cmd", "server")
	if err := os.MkdirAll(server, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "go.mod"), "module example.org/x\n\ngo 1.22\n")
	size := ""
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if size == "4096" {
			c.Env = append(c.Env, "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	for _, size = range []string{"4096", "262144"} {
		write(filepath.Join(server, "main.go"), strings.Replace(searchService, "4096", size, 1))
		write(filepath.Join(server, "main_test.go"), strings.Replace(searchBenchmark, "1000", fmt.Sprint(1000+len(size)), 1)) // or it would not be run
		git("add", ".")
		git("commit", "-q", "-m", size)
		if size == "4096" {
			git("update-ref", "refs/remotes/origin/main", "HEAD")
		}
	}
	return dir
}
