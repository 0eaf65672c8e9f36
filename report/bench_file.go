package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
)

// BenchFile writes results of a Bench in the Go benchmark format: a line for each
// benchmark of each block and setting, such as
//
//	BenchmarkDecode/size=10/rev=main 1000 1.94e-06 sec/op 48 B/op 1 allocs/op
//
// under a line "pkg:" of its package, so that `benchstat -col /rev bench.txt` compares
// the settings. Each number is the mean over
// launches of the median of their samples; the number after the name is the iterations
// of a sample. Benchmarks of one package (the factor
// [dyno.BenchFactor]) have a "*" for what differs in their names, and its level behind.
// What failed, and trials that are not compared, are left out. benchstat takes the
// setting that comes first for the baseline, which is up to the order of rs. It writes
// no goos, goarch or cpu, as results do not say them; who knows may write them before
// it. The error is w's.
func BenchFile(w io.Writer, rs []*dyno.Result) error {
	return benchFile(w, rs, func(b *dyno.Benchmark, s dyno.Setting) string {
		return b.Name + levelKeys(s)
	})
}

// BenchFileOf writes the results of one setting as BenchFile does, but under the names
// that go test prints, without GOMAXPROCS: a baseline to compare other runs with.
func BenchFileOf(w io.Writer, rs []*dyno.Result, setting dyno.Setting) error {
	var of []*dyno.Result
	for _, r := range rs {
		if r.Trial.Setting.String() == setting.String() {
			of = append(of, r)
		}
	}
	return benchFile(w, of, func(b *dyno.Benchmark, s dyno.Setting) string {
		for _, l := range s {
			if l.Factor == dyno.BenchFactor {
				return strings.Replace(b.Name, "*", l.Value, 1)
			}
		}
		return b.Name
	})
}

func benchFile(w io.Writer, rs []*dyno.Result, name func(*dyno.Benchmark, dyno.Setting) string) error {
	var packages []string
	lines, units := map[string]*strings.Builder{}, map[string]bool{}
	var b strings.Builder
	for _, r := range rs {
		if r.Err != "" || r.Trial.For != "" {
			continue
		}
		for i := range r.Benchmarks {
			x := &r.Benchmarks[i]
			values := blockMedians(x)
			if len(values) == 0 {
				continue
			}
			if lines[x.Package] == nil {
				lines[x.Package] = &strings.Builder{}
				packages = append(packages, x.Package)
			}
			to := lines[x.Package]
			fmt.Fprintf(to, "Benchmark%s %d", escapeName(name(x, r.Trial.Setting)), max(x.N, 1))
			for _, v := range values {
				fmt.Fprintf(to, " %s %s", sixDigits(v.Value), escape(v.Metric, ""))
				if better := directionOf(v.Metric); better != "" && !units[v.Metric] {
					units[v.Metric] = true
					fmt.Fprintf(&b, "Unit %s better=%s\n", escape(v.Metric, ""), better)
				}
			}
			to.WriteByte('\n')
		}
	}
	for _, p := range packages {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if p != "" {
			b.WriteString("pkg: " + escape(p, "") + "\n")
		}
		b.WriteString(lines[p].String())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// directionOf is the side on which a unit is better, or "" if nobody knows.
func directionOf(unit string) string {
	m, _ := dyno.MetricByName(unit)
	switch {
	case m.Better > 0 || unit == "B/s":
		return "higher"
	case m.Better < 0:
		return "lower"
	}
	return ""
}

// blockMedians are the values of a benchmark in one block, in the order of its metrics.
func blockMedians(b *dyno.Benchmark) dyno.Values {
	var all dyno.Values
	seen := map[string]bool{}
	for _, samples := range b.Launches {
		for _, sample := range samples {
			for _, v := range sample {
				if seen[v.Metric] {
					continue
				}
				seen[v.Metric] = true
				if x := compare.BlockCenter(b, v.Metric); !math.IsNaN(x) {
					all = append(all, dyno.Value{Metric: v.Metric, Value: x})
				}
			}
		}
	}
	all.Sort()
	return all
}

// sixDigits prints a value to six digits, which is what a timer of nanoseconds has of a
// sample of a millisecond; a whole number, such as of bytes, as it is.
func sixDigits(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// levelKeys is a setting behind a benchmark's name: a key for each factor.
func levelKeys(s dyno.Setting) string {
	return strings.TrimPrefix(benchName("X", s), "BenchmarkX")
}

// escapeName escapes what cannot stand in a name; of what go test prints there is
// nothing, so that the name stays as it is.
func escapeName(name string) string {
	return strings.ReplaceAll(escape(name, ""), "%25", "%")
}
