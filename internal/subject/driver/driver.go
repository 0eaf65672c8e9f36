// Package driver is the test that dyno adds to a test binary: it runs the benchmarks that it is told to, one at a time.
//
// It owns its source and what it says. Package subject builds it in, lab/gobench gives the orders.
package driver

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	Test     = "TestDynoBench" // the test's name
	Variable = "DYNO_BENCH"    // names the FIFO that it reads
	End      = "dyno-end"      // begins the line that it prints when it waits
)

// A Package is the package of tests that the driver is built into.
type Package struct {
	ImportPath     string
	Inner          string   // its name, without "_test"
	Files, Outside []string // paths of its test files, and of those of the package for external tests
}

// Name is the name of the package that the driver is in.
func (p *Package) Name() string {
	if len(p.Outside) > 0 {
		return p.Inner + "_test"
	}
	return p.Inner
}

// Source returns the text of the driver's file. It does not matter that a file has mistakes: the compiler tells them.
func (p *Package) Source() (string, error) {
	inside, err := benchmarks(p.Files)
	if err != nil {
		return "", err
	}
	imports, list := "", driven("", inside)
	if len(p.Outside) > 0 {
		outside, err := benchmarks(p.Outside)
		if err != nil {
			return "", err
		}
		if len(inside) > 0 {
			imports = fmt.Sprintf("\tdynoInner %q\n", p.ImportPath)
		}
		list = driven("dynoInner.", inside) + driven("", outside)
	}
	return strings.NewReplacer("PACKAGE", p.Name(), "IMPORTS", imports, "BENCHMARKS", list).Replace(source), nil
}

func driven(from string, names []string) (list string) {
	for _, name := range names {
		list += fmt.Sprintf("{%q, %s%s}, ", name, from, name)
	}
	return list
}

// benchmarks returns the benchmark functions of files in the order of their source, as go test does: package load in cmd/go/internal/load/test.go.
func benchmarks(files []string) (names []string, err error) {
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if f == nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isBenchmark(fn) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names, nil
}

func isBenchmark(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Benchmark")
	first, _ := utf8.DecodeRuneInString(rest)
	if !ok || rest != "" && unicode.IsLower(first) || fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results != nil {
		return false
	}
	params := fn.Type.Params.List
	if len(params) != 1 || len(params[0].Names) > 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := star.X.(type) {
	case *ast.Ident:
		return x.Name == "B"
	case *ast.SelectorExpr:
		return x.Sel.Name == "B"
	}
	return false
}

// source reads orders: a line "benchtime count pattern" begins a benchmark. The line "next" ends it after its sample, and "end" ends
// those after it, too: package testing reads -test.count anew before each sample. Whenever it waits it tells totals of the process:
// goroutines, collections that were not forced, and the CPU time of collecting without idle marking (from Go 1.20).
//
// The driver is a test, as testing holds a lock while a benchmark runs, and as the user's TestMain comes before it. It is written for
// Go 1.18, with names that collide with nothing.
const source = `package PACKAGE

import (
	dynoBufio "bufio"
	dynoFlag "flag"
	dynoFmt "fmt"
	dynoOS "os"
	dynoRegexp "regexp"
	dynoRuntime "runtime"
	dynoMetrics "runtime/metrics"
	dynoStrings "strings"
	dynoAtomic "sync/atomic"
	dynoTesting "testing"
	dynoTime "time"
IMPORTS)

func TestDynoBench(t *dynoTesting.T) {
	out := dynoOS.Stdout
	in, err := dynoOS.Open(dynoOS.Getenv("DYNO_BENCH"))
	if err != nil {
		dynoFmt.Fprintln(dynoOS.Stderr, err)
		dynoOS.Exit(3)
	}
	commands := make(chan string)
	ending := int32(0)
	go func() {
		defer close(commands)
		for lines := dynoBufio.NewScanner(in); lines.Scan(); {
			switch lines.Text() {
			case "end":
				dynoAtomic.StoreInt32(&ending, 1)
				dynoFlag.Set("test.count", "0")
			case "next":
				dynoFlag.Set("test.count", "0")
			default:
				commands <- lines.Text()
			}
		}
	}()
	metrics := []dynoMetrics.Sample{
		{Name: "/gc/cycles/automatic:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	benchmarks := []dynoTesting.InternalBenchmark{BENCHMARKS}
	var compiled *dynoRegexp.Regexp
	pattern, count := "", ""
	match := func(p, s string) (bool, error) {
		if dynoAtomic.LoadInt32(&ending) != 0 {
			return false, nil
		}
		dynoFlag.Set("test.count", count) // it is asked before each benchmark
		if compiled == nil || p != pattern {
			var err error
			if compiled, err = dynoRegexp.Compile(p); err != nil {
				return false, err
			}
			pattern = p
		}
		return compiled.MatchString(s), nil
	}
	for before := dynoRuntime.NumGoroutine(); ; {
		for i := 0; i < 10 && dynoRuntime.NumGoroutine() > before; i++ {
			dynoTime.Sleep(dynoTime.Millisecond) // some are about to end
		}
		dynoMetrics.Read(metrics)
		cycles, seconds := uint64(0), 0.0
		if metrics[0].Value.Kind() == dynoMetrics.KindUint64 {
			cycles = metrics[0].Value.Uint64()
		}
		if metrics[1].Value.Kind() == dynoMetrics.KindFloat64 && metrics[2].Value.Kind() == dynoMetrics.KindFloat64 {
			seconds = metrics[1].Value.Float64() - metrics[2].Value.Float64()
		}
		dynoFmt.Fprintf(out, "\ndyno-end %d %d %g\n", dynoRuntime.NumGoroutine(), cycles, seconds)
		command, ok := <-commands
		if !ok {
			dynoOS.Exit(0) // or else testing would run the last pattern
		}
		words := dynoStrings.SplitN(command, " ", 3)
		dynoAtomic.StoreInt32(&ending, 0)
		dynoFlag.Set("test.benchtime", words[0])
		count = words[1]
		dynoFlag.Set("test.bench", words[2])
		dynoOS.Stdout = out // a benchmark may have replaced it
		before = dynoRuntime.NumGoroutine()
		dynoTesting.RunBenchmarks(match, benchmarks)
	}
}
`
