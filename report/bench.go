package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dynolab/dyno"
)

// Bench writes results in the Go benchmark format
// (https://golang.org/design/14313-benchmark-format), a line for each finished
// trial, such as
//
//	BenchmarkSessions/GOGC=50 6000 0.0104 p99-sec 452771128 rss-peak-B
//
// so that `benchstat -col /GOGC bench.txt` compares the levels of a factor. The
// number after the name is that of the requests, or 1. Failed trials and
// trials without values are left out, and so are values that no comparison
// counts, since benchstat would compare them. It writes no goos or goarch, as results
// do not say them; who knows may write "goos: linux" before it. The error is
// w's.
func Bench(w io.Writer, rs []*dyno.Result, name string) error {
	var b strings.Builder
	units(&b, rs)
	for _, r := range rs {
		var line strings.Builder
		for _, v := range r.Values {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || !dyno.Counts(r, v.Metric) {
				continue
			}
			fmt.Fprintf(&line, " %s %s", strconv.FormatFloat(v.Value, 'f', -1, 64), escape(v.Metric, ""))
		}
		if r.Err != "" || r.Trial.For != "" || line.Len() == 0 {
			continue
		}
		n := int64(1)
		if r.Latency != nil && r.Latency.Count() > 0 {
			n = r.Latency.Count()
		}
		fmt.Fprintf(&b, "%s %d%s\n", benchName(name, r.Trial.Setting), n, line.String())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// units tells benchstat which metrics are better when higher and which when
// lower. Of those that are not compared it is told nothing, and then shows a
// change without a direction.
func units(b *strings.Builder, rs []*dyno.Result) {
	seen := map[string]bool{}
	for _, r := range rs {
		for _, v := range r.Values {
			m, ok := dyno.MetricByName(v.Metric)
			if r.Err != "" || !ok || m.Better == 0 || seen[v.Metric] {
				continue
			}
			seen[v.Metric] = true
			better := "lower"
			if m.Better > 0 {
				better = "higher"
			}
			fmt.Fprintf(b, "Unit %s better=%s\n", escape(v.Metric, ""), better)
		}
	}
	if len(seen) > 0 {
		b.WriteByte('\n')
	}
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
