package pitfall

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// benchSource is a file of benchmarks.
const benchSource = `package p

import (
	"fmt"
	"strings"
	t "testing"
)

var sink int

func fib(n int) int { return n }
func do(n int)      {}
func input(n int) []byte { return make([]byte, n) }

func BenchmarkClean(b *t.B) {
	b.ReportAllocs()
	x := make([]byte, 100)
	for i := 0; i < b.N; i++ {
		sink = len(x)
	}
}

func BenchmarkTimed(b *t.B) {
	x := input(1000)
	for range b.N {
		sink += len(x)
	}
}

func BenchmarkReset(b *t.B) {
	x := input(1000)
	b.ResetTimer()
	for range b.N {
		sink += len(x)
	}
}

func BenchmarkStopped(b *t.B) {
	b.StopTimer()
	x := input(1000)
	b.StartTimer()
	for range b.N {
		b.StopTimer()
		x = input(2)
		b.StartTimer()
		sink += len(x)
	}
}

func BenchmarkLoop(b *t.B) {
	x := input(1000)
	for b.Loop() {
		fib(len(x))
	}
}

func BenchmarkUnused(b *t.B) {
	for i := 0; i < b.N; i++ {
		fib(20)
	}
}

func BenchmarkBlank(b *t.B) {
	for n := b.N; n > 0; n-- {
		x := strings.ToUpper("a")
		_ = x
	}
}

func BenchmarkBuiltin(b *t.B) {
	x := make([]int, int64(1000))
	b.SetBytes(int64(len(x)))
	for range b.N {
		sink += len(x)
	}
}

func BenchmarkWithoutResult(b *t.B) {
	for i := 0; i < b.N; i++ {
		do(20)
		elsewhere(1)
	}
}

func BenchmarkSize(b *t.B) {
	fib(b.N)
}

func BenchmarkPrepared(b *t.B) {
	xs := make([]int, b.N)
	for i := 0; i < b.N; i++ {
		xs[i] = fib(i)
	}
	b.ResetTimer()
	for i := range b.N {
		sink += xs[i]
	}
	b.ReportMetric(float64(sink)/float64(b.N), "x/op")
}

func BenchmarkParallel(b *t.B) {
	b.RunParallel(func(pb *t.PB) {
		for pb.Next() {
			fmt.Sprint(1)
		}
	})
}

func helper(b *t.B, n int) {
	for range b.N {
		_ = fib(n)
	}
}

func BenchmarkHelped(b *t.B) { helper(b, 10) }

func BenchmarkSub(b *t.B) {
	x := input(10)
	b.Run("one two", func(b *t.B) {
		for b.Loop() {
			do(len(x))
		}
	})
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("size=%d", n), func(bb *t.B) {
			y := input(n)
			for i := 0; i < bb.N; i++ {
				sink = len(y)
			}
		})
		b.Run("deep/"+fmt.Sprint(n), func(b *t.B) {
			b.Run("in", func(b *t.B) { helper(b, n) })
		})
	}
	b.Run("named", BenchmarkLoop)
	b.Run("made", made())
}

func BenchmarkTable(b *t.B) {
	for _, c := range []struct{ name string }{{"a"}} {
		b.Run(c.name, func(b *t.B) {
			for b.Loop() {
			}
		})
	}
}

func BenchmarkTwo(b *t.B) {
	for _, name := range []string{"a"} {
		b.Run(name, func(b *t.B) {
			for b.Loop() {
			}
		})
		b.Run(name+"", func(b *t.B) {
			for range b.N {
			}
		})
	}
}

type B struct{ N int }

func (B) Loop() bool { return false }

// BenchmarkShadow has a b that is none, a testing.B within a struct, and no loop.
func BenchmarkShadow(b *t.B) {
	x := input(10)
	{
		b := B{}
		for b.Loop() {
		}
		for range b.N {
		}
	}
	sink = len(x)
}

type suite struct {
	*t.B
	size int
}

func (s suite) run() {
	x := input(s.size)
	for range s.N {
		sink += len(x)
	}
}

func BenchmarkMethod(b *t.B) { suite{b, 10}.run() }

func generic[T any](b *t.B, make func(int) T) {
	x := make(10)
	for b.Loop() {
		_ = x
	}
}

func BenchmarkGeneric(b *t.B) { generic[[]byte](b, input) }

func BenchmarkInferred(b *t.B) {
	run := func(n int) {
		x := input(n)
		for i := 0; i < b.N; i++ {
			sink += len(x)
		}
	}
	run(10)
}

func BenchmarkReassigned(b *t.B) {
	run := func() { for b.Loop() {} }
	run = func() {}
	run()
}

func BenchmarkCopied(b *t.B) {
	n := uint64(b.N)
	for i := uint64(0); i < n; i++ {
		sink++
	}
}

func sized(n int) func(b *t.B) {
	return func(b *t.B) {
		x := input(n)
		for range b.N {
			sink += len(x)
		}
	}
}

func BenchmarkMaker(b *t.B) {
	const prefix = "size"
	for _, n := range []int{1, 2} {
		b.Run(prefix+"/"+fmt.Sprint(n), sized(n))
	}
	b.Run("100%", sized(100))
}

func BenchmarkFuncs(b *t.B) {
	for _, c := range []struct {
		name string
		f    func(*t.B)
	}{{"loop", BenchmarkLoop}} {
		b.Run(c.name, c.f)
	}
}

func report(b *t.B, n int) { b.ReportMetric(float64(n), "x") }

func BenchmarkNothing(b *t.B) {
	sink = fib(10)
	b.Helper()
	report(b, sink)
}

type runner[T any] interface {
	t.TB
	Run(string, func(T)) bool
}

func wrap[T runner[T]](b T, f func(T)) { b.Run("x", f) }

func BenchmarkWrapped(b *t.B) { wrap(b, func(b *t.B) { for b.Loop() {} }) }

func asTB(tb t.TB) {
	if b, ok := tb.(interface{ Loop() bool }); ok {
		for b.Loop() {
		}
	}
}

func BenchmarkTB(b *t.B) { b.Helper(); asTB(b) }

func with(b *t.B, f func()) { b.Helper(); f() }

func BenchmarkClosure(b *t.B) { with(b, func() { sink = b.N }) }

func BenchmarkElsewhere(b *t.B) { t.AllocsPerRun(1, func() { go func(b any) {}(b) }) }

func BenchmarkSelf(b *t.B) { b.Run("x", BenchmarkSelf) }

func BenchmarkTwoParams(b *t.B, n int) {}
func (B) BenchmarkOfType(b *t.B)       {}
func NoBenchmark(b *t.B)               {}
`

// syntax checks a file as far as it can be.
func syntax(src string, imp types.Importer) Syntax {
	s := Syntax{token.NewFileSet(), nil, &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	f, _ := parser.ParseFile(s.Fset, "dir/p_test.go", src, parser.SkipObjectResolution)
	if f == nil {
		return s
	}
	s.Files = []*ast.File{f}
	conf := types.Config{Importer: imp, Error: func(error) {}}
	conf.Check("p", s.Fset, s.Files, s.Info)
	return s
}

func TestReadSource(t *testing.T) {
	s := syntax(benchSource, importer.Default())
	of := ReadSource(s)
	for _, c := range []struct{ name, loop, timed string }{
		{"Clean", "b.N", ""},
		{"Timed", "b.N", "input(1000)"},
		{"Reset", "b.N", ""},
		{"Stopped", "b.N", ""},
		{"Loop", "b.Loop", ""},
		{"Blank", "b.N", ""},
		{"Builtin", "b.N", ""},
		{"WithoutResult", "b.N", ""},
		{"Size", "", ""},
		{"Prepared", "b.N", ""},
		{"Copied", "b.N", ""},
		{"Parallel", "RunParallel", ""},
		{"Helped", "b.N", ""},
		{"Shadow", dyno.NoLoop, ""},
		{"Method", "b.N", "input(s.size)"},
		{"Generic", "b.Loop", ""},
		{"Inferred", "b.N", "input(n)"},
		{"Reassigned", "", ""},
		{"Nothing", dyno.NoLoop, ""},
		{"Elsewhere", "", ""},
		{"Wrapped", "", ""},
		{"TB", "", ""},
		{"Closure", "", ""},
		{"Sub/one_two", "b.Loop", ""},
		{"Sub/size=2", "b.N", "input(n)"},
		{"Sub/size=2#01", "b.N", "input(n)"},
		{"Sub/deep/2/in", "b.N", ""},
		{"Sub/named", "b.Loop", ""},
		{"Sub/made", "", ""},
		{"Sub/unknown", "", ""},
		{"Table/a", "b.Loop", ""},
		{"Two/a", "", ""}, // it may be either
		{"Maker/size/2", "b.N", "input(n)"},
		{"Maker/100%", "b.N", "input(n)"},
		{"Funcs/loop", "", ""},
		{"Self/x", "", ""},
	} {
		got := of(c.name)
		line := strings.Split(benchSource, "\n")[max(0, got.Line-1)]
		if got.File != "p_test.go" || !strings.Contains(line, "*t.B)") && !strings.Contains(line, "made()") && !strings.Contains(line, "c.f") {
			t.Errorf("%s is at %s:%d, which is %q", c.name, got.File, got.Line, line)
		}
		if want := (dyno.BenchSource{File: got.File, Line: got.Line, Loop: c.loop, Timed: c.timed}); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
	}
	for _, name := range []string{"None", "TwoParams", "OfType", "helper", "", "/", "None/x"} {
		if got := of(name); got != (dyno.BenchSource{}) {
			t.Errorf("%q is %+v, want nothing", name, got)
		}
	}
}

// TestReadSourceUntyped: without the types of package testing nothing is said.
func TestReadSourceUntyped(t *testing.T) {
	s := syntax(benchSource, nil)
	if got := ReadSource(s)("Timed"); got != (dyno.BenchSource{}) {
		t.Errorf("%+v", got)
	}
	if got := ReadSource()("Timed"); got != (dyno.BenchSource{}) {
		t.Errorf("%+v", got)
	}
}

// few imports what the seeds import: for another package the go command would be asked.
type few func(path string) (*types.Package, error)

func (f few) Import(path string) (*types.Package, error) {
	if path != "testing" && path != "fmt" && path != "strings" {
		return nil, errors.New("not here")
	}
	return f(path)
}

func FuzzReadSource(f *testing.F) {
	f.Add(benchSource, "Sub/deep/2/in")
	f.Add("package p\nimport . \"testing\"\nfunc BenchmarkX(b *B) { b.Run(\"\"+``, BenchmarkX); f(b) }\nfunc f(b *B) { f(b); b.Run(\"%%\", nil) }", "X///#01/")
	f.Add("package p\nimport \"testing\"\nfunc BenchmarkX(b *testing.B) { for f := range b.N {}; var n, m = b.N; b.Run(fmt.Sprintf()) }", "X")
	f.Add("package p\nimport \"testing\"\nfunc BenchmarkX(b *testing.B) { var f T = func(b *testing.B) {}; f(b) }", "X")
	imp := few(importer.Default().Import)
	f.Fuzz(func(t *testing.T, src, name string) {
		if s := syntax(src, imp); s.Files != nil {
			ReadSource(s)(name)
		}
	})
}
