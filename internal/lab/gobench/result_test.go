package gobench

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// printedOutput is what testing printed of benchmarks that print themselves.
const printedOutput = `goos: linux
goarch: amd64
pkg: example.org/x
cpu: Some CPU
BenchmarkSort/n-8-8         	 1000000	      1234 ns/op	  12.50 MB/s	       8 B/op	       1 allocs/op
BenchmarkOwn-8              	     100	      2500 ns/op	      99.0 p99-ns	       1 B/op	       0 allocs/op
BenchmarkTalks-8            	hello
one more     5 line
     200	      5000 ns/op	       0 B/op	       0 allocs/op
BenchmarkMutters-8          	...     300	      6000 ns/op
unfinishedBenchmarkLast-8   	     400	         0.2500 ns/op
BenchmarkQuiet-8            	       7	        11.00 things	       0 B/op	       0 allocs/op
BenchmarkFails-8            	--- FAIL: BenchmarkFails-8
    x_test.go:7: 3	 4 ns/op
BenchmarkBare
BenchmarkNothing-8          	       8	         0 ns/op	         0 wait-ns
PASS
`

// resultsIn returns the results in the output of a test binary, in order.
func resultsIn(output string) (found []Result) {
	s := lineScanner{result: func(l resultLine) { found = append(found, l.parse()) }, other: func([]byte) {}}
	s.write([]byte(output))
	return found
}

func TestParseGoBench(t *testing.T) {
	var got strings.Builder
	for _, b := range resultsIn(printedOutput) {
		fmt.Fprintf(&got, "%s %d", nameOf(b.Name, 8), b.N)
		for _, v := range b.Values {
			fmt.Fprintf(&got, " %s=%.4g", v.Metric, v.Value)
		}
		got.WriteByte('\n')
	}
	const want = `Sort/n-8 1000000 sec/op=1.234e-06 B/op=8 allocs/op=1 B/s=1.25e+07
Own 100 p99-sec=9.9e-08 sec/op=2.5e-06 B/op=1 allocs/op=0
Talks 200 sec/op=5e-06 B/op=0 allocs/op=0
Mutters 300 sec/op=6e-06
Last 400 sec/op=2.5e-10
Quiet 7 B/op=0 allocs/op=0 things=11
Nothing 8 sec/op=0 wait-sec=0
`
	if got.String() != want {
		t.Errorf("got:\n%swant:\n%s", &got, want)
	}
}

func TestGoBenchName(t *testing.T) {
	for _, c := range []struct {
		printed string
		procs   int
		want    string
	}{
		{"Sort/n-2", 1, "Sort/n-2"},
		{"Sort/n-2-2", 2, "Sort/n-2"},
		{"Sort/n-2", 2, "Sort/n"},
		{"Sort-12", 2, "Sort-12"},
	} {
		if got := nameOf(c.printed, c.procs); got != c.want {
			t.Errorf("%s with GOMAXPROCS=%d: %s, want %s", c.printed, c.procs, got, c.want)
		}
	}
}

func FuzzParseGoBench(f *testing.F) {
	f.Add(printedOutput)
	f.Add("BenchmarkX \t 1\t NaN ns/op\t Inf B/op\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, b := range resultsIn(text) {
			seen := map[string]bool{}
			for _, v := range b.Values {
				if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Metric == "" || seen[v.Metric] {
					t.Errorf("%+v of %q", b, text)
				}
				seen[v.Metric] = true
			}
			if b.N < 1 {
				t.Errorf("%+v of %q", b, text)
			}
		}
	})
}
