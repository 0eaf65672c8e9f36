package export

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

// Bench writes results in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format): a line for each trial of a
// service, and for each benchmark of each block and setting, such as
//
//	BenchmarkSessions/GOGC=50 6000 0.0104 p99-sec 452771128 rss-peak-B
//	BenchmarkDecode/size=10/rev=main 1000 1.94e-06 sec/op 48 B/op 1 allocs/op
//
// so that `benchstat -col /GOGC bench.txt` compares the levels of a factor; benchmarks
// are below a line "pkg:" of their package. The number after the name is that of the
// requests, or of the iterations of a sample. A value of a benchmark is the mean over
// launches of the median of their samples. name is what a trial of a service is called.
//
// What failed and values that no comparison counts are left out, as benchstat would
// compare them. benchstat takes the setting that comes first for the baseline. Results
// do not say goos, goarch and cpu; who knows them may write them before it. The error
// is w's.
func Bench(w io.Writer, rs []*dyno.Result, name string) error {
	return writeBench(w, rs, func(b *dyno.Benchmark, s dyno.Setting) string {
		if b == nil {
			return benchName(name, s)
		}
		return "Benchmark" + escapeName(b.Name) + strings.TrimPrefix(benchName("X", s), "BenchmarkX")
	})
}

// BenchOf writes the benchmarks of one setting as Bench does, but under the names
// that go test prints, without GOMAXPROCS: a baseline to compare other runs with.
func BenchOf(w io.Writer, rs []*dyno.Result, setting dyno.Setting) error {
	of := slices.DeleteFunc(slices.Clone(rs), func(r *dyno.Result) bool { return r.Trial.Setting.String() != setting.String() })
	return writeBench(w, of, func(b *dyno.Benchmark, s dyno.Setting) string {
		for _, l := range s {
			if l.Factor == dyno.BenchFactor {
				return "Benchmark" + escapeName(strings.Replace(b.Name, "*", l.Value, 1))
			}
		}
		return "Benchmark" + escapeName(b.Name)
	})
}

func writeBench(w io.Writer, rs []*dyno.Result, name func(*dyno.Benchmark, dyno.Setting) string) error {
	var b strings.Builder
	var packages []string
	lines, directed := map[string][]string{}, map[string]bool{}
	line := func(pkg, name string, n int64, values dyno.Values, print func(float64) string) {
		if len(values) == 0 {
			return
		}
		if lines[pkg] == nil {
			packages = append(packages, pkg)
		}
		text := fmt.Sprintf("%s %d", name, max(n, 1))
		for _, v := range values {
			text += " " + print(v.Value) + " " + escape(v.Metric, "")
			m, _ := dyno.MetricByName(v.Metric)
			better := map[int]string{-1: "lower", +1: "higher"}[m.Better]
			if v.Metric == "B/s" {
				better = "higher"
			}
			if better != "" && !directed[v.Metric] {
				directed[v.Metric] = true
				fmt.Fprintf(&b, "Unit %s better=%s\n", escape(v.Metric, ""), better)
			}
		}
		lines[pkg] = append(lines[pkg], text+"\n")
	}
	for _, r := range rs {
		if r.Err != "" || r.Trial.For != "" {
			continue
		}
		for i := range r.Benchmarks {
			x := &r.Benchmarks[i]
			line(x.Package, name(x, r.Trial.Setting), x.N, blockMedians(x), SixDigits)
		}
		var counted dyno.Values
		for _, v := range r.Values {
			if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) && dyno.Counts(r, v.Metric) {
				counted = append(counted, v)
			}
		}
		n := int64(1)
		if r.Latency != nil {
			n = r.Latency.Count()
		}
		if counted != nil {
			line("", name(nil, r.Trial.Setting), n, counted, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) })
		}
	}
	for _, p := range packages {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if p != "" {
			b.WriteString("pkg: " + escape(p, "") + "\n")
		}
		b.WriteString(strings.Join(lines[p], ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// blockMedians are the values of a benchmark in one block.
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

// SixDigits prints a value to six digits. A timer of nanoseconds has no more in a sample of a millisecond.
// Whole numbers, such as bytes, are printed in full.
func SixDigits(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// escapeName escapes what cannot stand in a name of a benchmark.
func escapeName(name string) string {
	return strings.ReplaceAll(escape(name, ""), "%25", "%")
}

// benchName is the benchmark's name for a setting: a key for each factor.
func benchName(name string, s dyno.Setting) string {
	name = escape(name, "/")
	if name == "" {
		name = "Dyno"
	}
	r, size := utf8.DecodeRuneInString(name)
	full := "Benchmark" + string(unicode.ToUpper(r)) + name[size:]
	if len(s) == 0 {
		return escapeProcs(full)
	}
	for _, l := range s {
		value := escape(l.Value, `/"`)
		if value == "" {
			value = `""` // no value and an empty one are different settings
		}
		full += "/" + escape(l.Factor, "/=") + "=" + escapeProcs(value)
	}
	return full
}

// escape writes what cannot stand in a field of the format as a percent sign
// and two hexadecimal digits: spaces, controls, broken UTF-8, the percent sign
// itself, and the bytes in also.
func escape(s, also string) string {
	var b strings.Builder
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			size = 1
		}
		if size > 1 && unicode.IsPrint(r) || size == 1 && r > ' ' && r < 0x7f && r != '%' && !strings.ContainsRune(also, r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(s[i : i+size]) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// escapeProcs escapes the dash of a trailing "-8", which would be read as the
// benchmark's GOMAXPROCS.
func escapeProcs(s string) string {
	head := strings.TrimRight(s, "0123456789")
	if len(head) == len(s) || !strings.HasSuffix(head, "-") {
		return s
	}
	return strings.TrimSuffix(head, "-") + "%2D" + s[len(head):]
}
