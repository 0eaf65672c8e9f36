package analysis

import (
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// benchSource is a file of benchmarks, each with what is to be found in it.
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

func BenchmarkDropped(b *t.B) {
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

func Benchmarkish(b *t.B) {}
func TestX(t *t.T)        {}
`

func TestReadBenchSource(t *testing.T) {
	of := ReadBenchSource(map[string][]byte{"p_test.go": []byte(benchSource), "broken_test.go": []byte("package p\nfunc BenchmarkClean(")})
	for _, c := range []struct {
		name string
		want dyno.BenchSource
	}{
		{"BenchmarkClean", dyno.BenchSource{Loop: "b.N"}},
		{"Clean", dyno.BenchSource{Loop: "b.N"}},
		{"BenchmarkTimed", dyno.BenchSource{Loop: "b.N", Timed: "input(1000)"}},
		{"BenchmarkReset", dyno.BenchSource{Loop: "b.N"}},
		{"BenchmarkStopped", dyno.BenchSource{Loop: "b.N"}},
		{"BenchmarkLoop", dyno.BenchSource{Loop: "b.Loop"}},
		{"BenchmarkDropped", dyno.BenchSource{Loop: "b.N", Dropped: "fib(20)"}},
		{"BenchmarkBlank", dyno.BenchSource{Loop: "b.N", Dropped: `strings.ToUpper("a")`}},
		{"BenchmarkWithoutResult", dyno.BenchSource{Loop: "b.N"}},
		{"BenchmarkSize", dyno.BenchSource{NAsSize: "fib(b.N)"}},
		{"BenchmarkPrepared", dyno.BenchSource{Loop: "b.N", NAsSize: "make([]int, b.N)"}},
		{"BenchmarkParallel", dyno.BenchSource{Loop: "RunParallel", Dropped: "fmt.Sprint(1)"}},
		{"BenchmarkHelped", dyno.BenchSource{Loop: "b.N", Dropped: "fib(n)"}},
		{"BenchmarkSub/one_two", dyno.BenchSource{Loop: "b.Loop"}},
		{"BenchmarkSub/size=2", dyno.BenchSource{Loop: "b.N", Timed: "input(n)"}},
		{"BenchmarkSub/size=2#01", dyno.BenchSource{Loop: "b.N", Timed: "input(n)"}},
		{"BenchmarkSub/deep/2/in", dyno.BenchSource{Loop: "b.N", Dropped: "fib(n)"}},
		{"BenchmarkSub/named", dyno.BenchSource{Loop: "b.Loop"}},
		{"BenchmarkSub/made", dyno.BenchSource{}},
		{"BenchmarkSub/unknown", dyno.BenchSource{}},
		{"BenchmarkTable/a", dyno.BenchSource{Loop: "b.Loop"}},
		{"BenchmarkTwo/a", dyno.BenchSource{}}, // it may be either
	} {
		got := of(c.name)
		line := strings.Split(benchSource, "\n")[max(0, got.Line-1)]
		if got.File != "p_test.go" || !strings.Contains(line, "*t.B)") && !strings.Contains(line, "made()") {
			t.Errorf("%s is at %s:%d, which is %q", c.name, got.File, got.Line, line)
		}
		got.File, got.Line = "", 0
		if got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
	for _, name := range []string{"Benchmarkish", "BenchmarkNone", "helper", "TestX", "", "/", "BenchmarkNone/x"} {
		if got := of(name); got != (dyno.BenchSource{}) {
			t.Errorf("%q is %+v, want nothing", name, got)
		}
	}
}

func FuzzReadBenchSource(f *testing.F) {
	f.Add([]byte(benchSource), "BenchmarkSub/deep/2/in")
	f.Add([]byte("package p\nimport . \"testing\"\nfunc BenchmarkX(b *B) { b.Run(\"\"+``, BenchmarkX); f(b) }\nfunc f(b *B) { f(b); b.Run(\"%%\", nil) }"), "BenchmarkX///#01/")
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		ReadBenchSource(map[string][]byte{"a_test.go": src})(name)
	})
}
