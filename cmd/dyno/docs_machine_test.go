//go:build linux && machine

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// documented is the service of the page's commands: it listens where it is told, answers every path,
// and has profiles. In its second revision it allocates more.
const documented = `package main

import (
	"flag"
	"net/http"
	_ "net/http/pprof"
	"os"
)

var kept []byte

func search(n int) []byte { return make([]byte, n) }

func main() {
	listen := flag.String("listen", "127.0.0.1:"+os.Getenv("PORT"), "")
	flag.Parse()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { kept = search(4096); w.Write(kept[:10]) })
	http.ListenAndServe(*listen, nil)
}
`

const documentedBenchmarks = `package x

import (
	"strings"
	"testing"
)

var kept string

func BenchmarkPipeline1(b *testing.B) {
	for b.Loop() {
		kept = strings.Repeat("x", 1000)
	}
}

func BenchmarkPipeline2(b *testing.B) {
	for b.Loop() {
		kept = strings.Repeat("x", 2000)
	}
}
`

// A collection is one line of a GC trace, as Go 1.26 writes it.
const collection = "gc 1 @0.010s 1%: 0.01+0.5+0.01 ms clock, 0.02+0.1/0.4/0+0.02 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"

// Commands that this test leaves out, and what runs them.
var otherwiseRun = map[string]string{
	"go install":      "the release",
	"dyno demo":       "the evaluation; it takes three minutes",
	"dyno certify":    "TestCertify; it takes ten minutes",
	"--on kubernetes": "eval/kubelab/test, in a cluster",
	"image --agent":   "the tests of cmd/dyno/remote; this test's dyno is not static",
	"dyno view":       "TestView and TestMachineViewLive; it does not end",
	"github.com/":     "TestMachineModules, of other modules",
	"--grpc-":         "TestLoad of examples/protocols; they need a service with gRPC",
	"--load-program":  "examples/protocols; they need a program",
	"--replay":        "TestReplay* of load and the conformance tests; they need a recording",
	"-f examples/":    "the tests of examples",
	"go=1.25.5":       "TestLongToolchains, of other versions",
	"$ dyno run":      "output, not a command",
	"go run ./cmd/":   "the evaluation",
	"-tune-2026":      "the script tune, with a directory of a tuning",
}

// Every command of the README and of the recipes does what it says on a repository such as theirs, with shorter
// loads. TestCommandsOfDocuments, of all tests, sees whether their flags are there.
func TestLongCommandsOfDocuments(t *testing.T) {
	lines := documentedCommands(t)
	temp := t.TempDir()
	module := filepath.Join(temp, "module")
	documentedModule(t, module)
	environ := append(os.Environ(), append(goEnviron(t), "DYNO_WITHIN=3s", "DYNO_DURATION=300ms", "DYNO_WARMUP=20ms", "DYNO_BLOCKS=2")...)
	address, name := documentedService(t, module)
	sh := func(dir, script string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "bash", "-eo", "pipefail", "-c", script)
		c.Dir, c.Env = dir, environ
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		c.WaitDelay = 10 * time.Second
		out, err := c.CombinedOutput()
		return string(out), err
	}
	shorter := []struct {
		long *regexp.Regexp
		text string
	}{
		{regexp.MustCompile(`(watch .*) -d \d+[mh]`), "$1 -d 1s"},
		{regexp.MustCompile(`(watch .*--profile-heap)`), "$1 -d 1s"},
		{regexp.MustCompile(`^(dyno (?:run|load) .*) -d \d+[smh]`), "$1 -d 300ms"},
		{regexp.MustCompile(` -w \d+s`), " -w 20ms"},
		{regexp.MustCompile(`'100->2000 over 60s then 2000 over 30s'`), "'100->200 over 300ms then 200 over 200ms'"},
		{regexp.MustCompile(`--trace 3s`), "--trace 200ms"},
		{regexp.MustCompile(`npm run build`), "true"},
		{regexp.MustCompile(`127\.0\.0\.1:(8080|6060)`), address},
		{regexp.MustCompile(`\bargus\b`), name},
		{regexp.MustCompile(`^(dyno bench .*)`), "$1 -d 20s"},
		{regexp.MustCompile(` --total \d+m`), ""},
		{regexp.MustCompile(`^(dyno tune)`), "$1 --total 20s"},
		{regexp.MustCompile(`^(dyno capacity .*) --within 90s`), "$1"},
		{regexp.MustCompile(`^(dyno capacity)`), "$1 --from 200/s --most 200/s --within 40s"},
		{regexp.MustCompile(`,pgo,GOEXPERIMENT=nogreenteagc`), ""}, // each compiles the standard library anew, for minutes
		{regexp.MustCompile(`^(dyno tune .*-f dyno.yaml)`), "dyno init && $1"},
	}
	run := filepath.Join(temp, "run")
	slices.SortStableFunc(lines, func(a, b string) int { // the run that others read comes first
		return cmp.Compare(strings.Index(b, "--profile cpu"), strings.Index(a, "--profile cpu"))
	})
	for n, line := range lines {
		script := line
		for _, s := range shorter {
			script = s.long.ReplaceAllString(script, s.text)
		}
		script = strings.ReplaceAll(script, "DIR", run)
		if n == 0 {
			script += " --out " + run
		}
		t.Run(strings.Fields(line)[1], func(t *testing.T) {
			dir := filepath.Join(temp, strconv.Itoa(n))
			if out, err := exec.Command("git", "clone", "-q", module, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if out, err := exec.Command("git", "-C", dir, "branch", "main", "HEAD~1").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for name, text := range map[string]string{"targets.txt": "GET http://" + address + "/\n", "web/dist/page.html": "a page"} {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			if n > 0 {
				t.Parallel()
			}
			out, err := sh(dir, script)
			var exit *exec.ExitError
			// The machine of a test is no machine to measure on: 99 is as good.
			if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitThreshold) {
				t.Errorf("%s\n%v\n%s", script, err, out)
			}
		})
	}
}

// documentedCommands are those that this test runs.
func documentedCommands(t *testing.T) []string {
	var lines []string
	for _, file := range []string{"README.md", "doc/recipes.md"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(string(text)) {
			for line := range strings.Lines(b.text) {
				line = strings.TrimSpace(ends.ReplaceAllString(strings.TrimSpace(line), ""))
				if b.kind == "" && strings.Contains(line, "dyno ") && regexp.MustCompile(`^(dyno|GODEBUG)`).MatchString(line) && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	if len(lines) < 25 {
		t.Fatalf("the documents have %d commands: %q", len(lines), lines)
	}
	return slices.DeleteFunc(lines, func(line string) bool {
		for part := range otherwiseRun {
			if strings.Contains(line, part) {
				return true
			}
		}
		return false
	})
}

// documentedModule makes a repository of two revisions in which the page's commands find what they name.
func documentedModule(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("go.mod", "module example.org/x\n\ngo 1.24\n")
	write("x.go", "package x\n")
	write("x_test.go", documentedBenchmarks)
	write("pipeline/x.go", "package x\n")
	write("pipeline/x_test.go", documentedBenchmarks)
	write("service", "#!/bin/sh\ncat before.log >&2\n")
	log := ""
	for n := range 20 {
		log += strings.Replace(collection, "gc 1 @0.010s", fmt.Sprintf("gc %d @%d.010s", n+1, n), 1)
	}
	write("gc.log", log)
	write("before.log", strings.Repeat(collection, 20))
	write("after.log", strings.Repeat(collection, 20))
	write("old.txt", strings.Repeat("BenchmarkX-2 100 1000 ns/op\n", 6))
	write("new.txt", strings.Repeat("BenchmarkX-2 100 900 ns/op\n", 6))
	write("cmd/server/main.go", documented)
	if err := os.Chmod(filepath.Join(dir, "service"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "work")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	write("cmd/server/main.go", strings.Replace(documented, "search(4096)", "search(8192)", 1))
	git("commit", "-q", "-a", "-m", "two")
}

// documentedService runs the service, as a program whose name nothing else has, until the test is over.
func documentedService(t *testing.T, module string) (address, name string) {
	t.Helper()
	name = "argus" + strconv.Itoa(os.Getpid())
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, "./cmd/server")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	service := exec.Command(program, "-listen", address)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Process.Kill(); service.Wait() })
	return address, name
}
