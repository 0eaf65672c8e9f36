package gobench

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/dynolab/dyno"
)

// A Result is one result that a test binary printed.
type Result struct {
	Name   string      // as printed, without "Benchmark": see nameOf
	N      int64       // iterations, at least 1
	Values dyno.Values // in base units: sec/op, B/s, B/op, allocs/op and the benchmark's own; none is NaN or infinite
}

// nameOf is the name of a benchmark without the GOMAXPROCS of its process,
// which package testing appends to it as "-8" unless it is 1. The number has to
// be known, as a benchmark's own name may end in one: Sort/n-8.
func nameOf(printed string, procs int) string {
	if procs == 1 {
		return printed
	}
	return strings.TrimSuffix(printed, "-"+strconv.Itoa(procs))
}

// A lineReader finds results in the output of a test binary line by line, also
// where the benchmark prints. Without -test.v package testing prints the name and a
// tab before a benchmark runs and the rest when it is over (processBench in
// testing/benchmark.go), so that what is printed meanwhile comes between the two.
type lineReader struct {
	name string // whose rest is to come
}

var (
	nameAndTab = regexp.MustCompile(`Benchmark(\S+) *\t`)
	restOfLine = regexp.MustCompile(`( *\d+)\t *\S+ \S+(?:\t.*)?$`)
)

// Line returns the result that ends in the line. Its Name is "" if it was printed
// in a line that the reader did not see.
func (r *lineReader) Line(line string) (b Result, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	if strings.HasPrefix(line, "Benchmark") {
		if b, ok := parseResult(line); ok {
			r.name = ""
			return b, true
		}
	}
	rest := line
	if m := nameAndTab.FindStringSubmatchIndex(line); m != nil {
		r.name, rest = line[m[2]:m[3]], line[m[1]:]
	}
	m := restOfLine.FindStringSubmatchIndex(rest)
	switch {
	case m == nil || m[3]-m[2] < 8: // the iterations are printed as %8d
		return Result{}, false
	case !strings.Contains(rest[m[0]:], " ns/op") && !strings.Contains(rest[m[0]:], " B/op"):
		return Result{}, false // the latter is always there under -test.benchmem
	}
	b, ok = parseResult("Benchmark" + r.name + "\t" + strings.TrimSpace(rest[m[0]:]))
	if ok {
		r.name = ""
	}
	return b, ok
}

func parseResult(line string) (Result, bool) {
	br := benchfmt.NewReader(strings.NewReader(line), "")
	if !br.Scan() {
		return Result{}, false
	}
	res, ok := br.Result().(*benchfmt.Result)
	if !ok || res.Iters < 1 {
		return Result{}, false
	}
	b := Result{Name: res.Name.String(), N: int64(res.Iters)}
	for _, v := range res.Values {
		_, unit := benchunit.Tidy(v.Value, v.Unit) // benchfmt does not where the value is 0
		// A benchmark can report what it likes, but these have no form in JSON.
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || slices.ContainsFunc(b.Values, func(x dyno.Value) bool { return x.Metric == unit }) {
			continue
		}
		b.Values = append(b.Values, dyno.Value{Metric: unit, Value: v.Value})
	}
	b.Values.Sort()
	return b, true
}
