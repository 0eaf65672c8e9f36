package gobench

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/dynolab/dyno"
)

// A Result is one result that a test binary printed.
type Result struct {
	Name   string      // as printed, without "Benchmark": see nameOf
	N      int64       // iterations, at least 1
	Values dyno.Values // in base units: sec/op, B/s, B/op, allocs/op and the benchmark's own; none is NaN or infinite
}

// nameOf is the name of a benchmark without the "-8" of GOMAXPROCS=8, which package testing appends
// unless it is 1. procs has to be known: a benchmark's own name may end so.
func nameOf(printed string, procs int) string {
	if procs == 1 {
		return printed
	}
	return strings.TrimSuffix(printed, "-"+strconv.Itoa(procs))
}

// A lineScanner finds the results in the output of a test binary. Package testing writes a name and
// a tab, runs the benchmark, and writes the numbers (processBench in testing/benchmark.go). What
// the benchmark prints comes in between, and benchfmt of golang.org/x/perf loses such lines.
type lineScanner struct {
	result func(l resultLine)
	other  func(line []byte) // a line that is no result, without its end; valid until it returns
	line   []byte
	name   []byte // of the benchmark that runs; empty if it is not known
}

// A resultLine is a result: a name, iterations, and "value unit" separated by tabs. It is valid
// until the callee returns.
type resultLine struct{ name, n, values []byte }

// lineMost is how many bytes of a line's end are kept, where the numbers are.
const lineMost = 8 << 10

func (s *lineScanner) write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.add(b)
			return
		}
		s.add(b[:i])
		s.end()
		b = b[i+1:]
	}
}

// add adds to the line, and gives up the beginning of a long one.
func (s *lineScanner) add(b []byte) {
	for len(s.line)+len(b) > lineMost {
		n := lineMost - len(s.line)
		s.line = append(s.line, b[:n]...)
		s.note(s.line)
		s.line, b = s.line[:copy(s.line, s.line[lineMost/2:])], b[n:]
	}
	s.line = append(s.line, b...)
}

// note remembers the name of a benchmark that begins in the text.
func (s *lineScanner) note(text []byte) {
	if name, _ := nameAndRest(text); name != nil {
		s.name = append(s.name[:0], name...)
	}
}

func (s *lineScanner) end() {
	name, rest := nameAndRest(s.line)
	alone := name != nil // the numbers alone follow the name
	if !alone {
		name, rest = s.name, s.line
	}
	if n, values := numbers(rest, alone); values != nil && len(name) > 0 {
		s.result(resultLine{name, n, values})
		s.name = s.name[:0]
	} else {
		s.note(s.line)
		s.other(bytes.TrimRight(s.line, "\r"))
	}
	s.line = s.line[:0]
}

// nameAndRest returns the name that package testing wrote in the line, perhaps after other text,
// and what follows its tab; nil if absent.
func nameAndRest(line []byte) (name, rest []byte) {
	m := named.FindSubmatchIndex(line)
	if m == nil {
		return nil, nil
	}
	return line[m[2]:m[3]], line[m[1]:]
}

var named = regexp.MustCompile(`(Benchmark[^ \t]*) *\t`)

// numbers returns the iterations and all values and units at the end of the line; nil if it does
// not end so. The form is "N\tvalue unit\tvalue unit", with N as "%8d", or shorter if it must be
// alone; see BenchmarkResult.String and https://go.dev/design/14313-benchmark-format.
func numbers(line []byte, alone bool) (n, values []byte) {
	line = bytes.TrimRight(line, " \r")
	for end := len(line); ; {
		tab := bytes.LastIndexByte(line[:end], '\t')
		field := bytes.TrimLeft(line[tab+1:end], " ")
		if value, unit, ok := bytes.Cut(field, []byte{' '}); ok && tab >= 0 && len(unit) > 0 && !bytes.ContainsAny(unit, " ") {
			if _, err := strconv.ParseFloat(string(value), 64); err == nil {
				values, end = bytes.TrimLeft(line[tab+1:], " "), tab
				continue
			}
		}
		if values == nil {
			return nil, nil
		}
		// What was printed without a newline may come before the iterations.
		n = field[bytes.LastIndexByte(field, ' ')+1:]
		padded := end - len(bytes.TrimRight(line[:end-len(n)], " "))
		if v, err := strconv.ParseUint(string(n), 10, 63); err != nil || v == 0 || padded < 8 && !(alone && len(n) == len(field)) {
			return nil, nil
		}
		return n, values
	}
}

// parse reads the numbers, whose form lineScanner has checked.
func (l resultLine) parse() Result {
	r := Result{Name: strings.TrimPrefix(string(l.name), "Benchmark")}
	r.N, _ = strconv.ParseInt(string(l.n), 10, 64)
	for pair := range strings.SplitSeq(string(l.values), "\t") {
		text, unit, _ := strings.Cut(strings.TrimLeft(pair, " "), " ")
		v, _ := strconv.ParseFloat(text, 64)
		v, unit = benchunit.Tidy(v, unit)
		// A benchmark can report what it likes, but these have no form in JSON.
		if math.IsNaN(v) || math.IsInf(v, 0) || slices.ContainsFunc(r.Values, func(x dyno.Value) bool { return x.Metric == unit }) {
			continue
		}
		r.Values = append(r.Values, dyno.Value{Metric: unit, Value: v})
	}
	r.Values.Sort()
	return r
}
