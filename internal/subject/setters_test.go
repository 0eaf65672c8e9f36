//go:build linux

package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
)

// The places that set a variable are found in the program and what it depends on, the likeliest first; those that
// only read, and those of tests, are not.
func TestSetters(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/svc\n\ngo 1.24\n\nrequire example.com/dep v1.2.0\n\nreplace example.com/dep v1.2.0 => ./dep\n",
		"dep/go.mod": "module example.com/dep\n\ngo 1.24\n",
		"dep/dep.go": "package dep\n\nimport \"runtime/debug\"\n\nfunc F() { debug.SetMemoryLimit(1 << 30); debug.SetGCPercent(60) }\n",
		"cmd/x/main.go": `//go:debug madvdontneed=1
package main

import (
	"os"
	"runtime"
	gc "runtime/debug"

	"example.com/dep"
	"example.com/svc/tuning"
)

func main() {
	println(runtime.GOMAXPROCS(0), gc.SetMemoryLimit(-1))
	gc.SetGCPercent(75)
	os.Setenv("GOMAXPROCS", "2")
	os.Setenv("OTHER", "2")
	dep.F()
	tuning.F(3)
}
`,
		"tuning/tuning.go": "package tuning\n\nimport \"runtime/debug\"\n\nfunc F(n int) []string {\n\tdebug.SetGCPercent(n)\n\treturn []string{\"GOMEMLIMIT=1GiB\"}\n}\n",
		"cmd/x/x_test.go":  "package main\n\nimport \"runtime/debug\"\n\nfunc init() { debug.SetGCPercent(1) }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[dyno.Level]string{
		{Factor: "GOGC", Value: "75"}:         "[{debug.SetGCPercent cmd/x/main.go 15} {debug.SetGCPercent tuning/tuning.go 6}]",
		{Factor: "GOGC", Value: "50"}:         "[{debug.SetGCPercent tuning/tuning.go 6} {debug.SetGCPercent cmd/x/main.go 15}]",
		{Factor: "GOGC", Value: "60"}:         "[{debug.SetGCPercent example.com/dep@v1.2.0/dep.go 5} {debug.SetGCPercent tuning/tuning.go 6}]",
		{Factor: "GOMEMLIMIT", Value: "1GiB"}: "[{GOMEMLIMIT=1GiB tuning/tuning.go 7} {debug.SetMemoryLimit example.com/dep@v1.2.0/dep.go 5}]",
		{Factor: "GOMAXPROCS", Value: "2"}:    "[{os.Setenv cmd/x/main.go 16}]",
	} {
		got := b.Setters(t.Context(), dyno.Subject{Package: "./cmd/x", Dir: dir}, asked.Factor, asked.Value)
		if fmt.Sprint(got) != want {
			t.Errorf("%s=%s: got %v, want %s", asked.Factor, asked.Value, got, want)
		}
	}
	if got := b.Setters(t.Context(), dyno.Subject{Binary: "x"}, "GOGC", "1"); got != nil {
		t.Errorf("an executable has %v", got)
	}
}

// The name of a variable that a Go program reads is in its executable.
func TestNames(t *testing.T) {
	b, s := service(t, "")
	s.Binary = b.Path
	builder, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"PORT": true, "GOGC": true, "NOBODY_READS_THIS": false, "MALLOC_ARENA_MAX": true} {
		if got := builder.Names(t.Context(), dyno.Subject{Binary: b.Path}, name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
