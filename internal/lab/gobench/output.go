package gobench

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchunit"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject/driver"
)

type timedResult struct {
	Result
	at time.Time
}

// An output reads what a test binary prints, as it prints it. With -test.v package testing prints
// each benchmark's name alone in a line when it begins, and what a failed one says before its
// failure, otherwise after.
type output struct {
	procs int // GOMAXPROCS, if it is known
	quiet time.Duration
	timer *time.Timer // is set back whenever something is printed
	lines lineScanner

	results []timedResult
	names   []string               // of benchmarks in the order in which they began, those with sub-benchmarks included
	starts  map[string]time.Time   // when they began
	own     map[string]float64     // seconds of an outermost benchmark without those within it
	outer   string                 // the one that runs
	since   time.Time              // when it last began or went on
	of      map[string]timedResult // by name
	fates   map[string]*fate       // of those that failed or were skipped, by name
	said    []string               // indented lines since the last benchmark began or ended
	last    *fate                  // indented lines belong to it, if not nil
	ended   bool                   // by package testing, not within a benchmark
	err     error                  // how the process ended, if not well
}

type fate struct {
	failed bool // else skipped
	said   []string
}

func newOutput(procs int, quiet time.Duration, onQuiet func()) *output {
	o := &output{
		procs: procs, quiet: quiet, timer: time.AfterFunc(quiet, onQuiet),
		of: map[string]timedResult{}, fates: map[string]*fate{}, starts: map[string]time.Time{}, own: map[string]float64{},
	}
	o.lines = lineScanner{result: o.result, other: o.line}
	return o
}

var nameAlone = regexp.MustCompile(`^Benchmark\S+$`)

func (o *output) Write(p []byte) (int, error) {
	o.timer.Reset(o.quiet)
	o.lines.write(p)
	return len(p), nil
}

func (o *output) close(err error) {
	if o.timer.Stop(); len(o.lines.line) > 0 {
		o.lines.end()
	}
	o.err = err
}

func (o *output) result(l resultLine) {
	t := timedResult{l.parse(), time.Now()}
	o.results = append(o.results, t)
	o.of[o.named(t.Name)] = t
	o.since = t.at
	o.said, o.last = nil, nil
}

// line takes a line that is no result.
func (o *output) line(b []byte) {
	line := string(b)
	if before, after, ok := strings.Cut(line, "--- FAIL: Benchmark"); ok && (before == "" || strings.HasPrefix(before, "Benchmark")) {
		o.fate(after, true)
		return
	}
	switch {
	case line == "PASS" || line == "FAIL":
		o.own[o.outer] += time.Since(o.since).Seconds()
		o.ended = true
	case nameAlone.MatchString(line):
		name := strings.TrimPrefix(line, "Benchmark")
		now := time.Now()
		o.own[o.outer] += now.Sub(o.since).Seconds()
		o.outer, _, _ = strings.Cut(name, "/")
		o.since = now
		o.names, o.starts[name] = append(o.names, name), now
		o.said, o.last = nil, nil
	case strings.HasPrefix(line, "--- SKIP: Benchmark"):
		o.fate(strings.TrimPrefix(line, "--- SKIP: Benchmark"), false)
	case strings.HasPrefix(line, "    "):
		said := &o.said
		if o.last != nil {
			said = &o.last.said
		}
		if len(*said) < saidMost {
			*said = append(*said, strings.TrimSpace(line))
		}
	}
}

// fate notes that a benchmark failed or was skipped, and what it said.
func (o *output) fate(printed string, failed bool) {
	o.last, o.said = &fate{failed, o.said}, nil
	o.fates[o.named(strings.TrimSpace(printed))] = o.last
}

// failed returns the failure of a benchmark that ran alone, or nil.
func (o *output) failed() *fate {
	for _, f := range o.fates {
		if f.failed {
			return f
		}
	}
	return nil
}

// named is a benchmark's name as printed at its beginning, or else without the known GOMAXPROCS.
func (o *output) named(printed string) string {
	if len(o.names) == 0 {
		return nameOf(printed, cmp.Or(o.procs, 1))
	}
	begun := o.names[len(o.names)-1]
	if suffix, ok := strings.CutPrefix(printed, begun+"-"); ok {
		if n, err := strconv.Atoi(suffix); err == nil {
			o.procs = n
			return begun
		}
	}
	if printed == begun && o.procs == 0 {
		o.procs = 1
	}
	return printed
}

func (o *output) why() string {
	text := "no result: the benchmark was skipped or no longer exists"
	if o.err != nil {
		text = o.err.Error()
	}
	if f := o.failed(); f != nil {
		text = cmp.Or(strings.Join(f.said, "\n"), "it failed")
	}
	return text
}

// leaves returns in order the benchmarks that have results of their own, or have none for a reason,
// and one that ended the process.
func (o *output) leaves() (found []*benchmark) {
	for i, name := range o.names {
		if slices.Contains(o.names[:i], name) || slices.ContainsFunc(o.names, func(x string) bool { return strings.HasPrefix(x, name+"/") }) {
			continue
		}
		l := &benchmark{Survey: dyno.Survey{Printed: name}}
		r, ran := o.of[name]
		f := o.fates[name]
		switch {
		case f != nil && f.failed:
			l.Err = cmp.Or(strings.Join(f.said, "\n"), "it failed")
		case ran:
			l.take(r)
			l.Outside = max(0, r.at.Sub(o.starts[name]).Seconds()-float64(l.N)*l.Sec)
			if outer, _, nested := strings.Cut(name, "/"); nested {
				l.around = o.own[outer]
			}
		case f != nil:
			l.Err = strings.TrimSuffix("skipped: "+strings.Join(f.said, "\n"), ": ")
		default:
			continue // what -test.bench means are sub-benchmarks that it does not have, or it is the last
		}
		found = append(found, l)
	}
	if len(o.names) == 0 || o.ended {
		return found
	}
	// The last that began ended the process or, if it was over, the one around it.
	last := o.names[len(o.names)-1]
	if slices.ContainsFunc(found, func(l *benchmark) bool { return l.Printed == last }) {
		i := strings.LastIndex(last, "/")
		if i < 0 {
			return found
		}
		last = last[:i]
	}
	text := "it ended its process"
	if o.err != nil {
		text = o.err.Error()
	}
	return append(found, &benchmark{Survey: dyno.Survey{Printed: last, Err: text}})
}

// A Result is one result that a test binary printed.
type Result struct {
	Name   string      // as printed, without "Benchmark": see nameOf
	N      int64       // iterations, at least 1
	Values dyno.Values // in base units: sec/op, B/s, B/op, allocs/op and the benchmark's own; none is NaN or infinite
}

// totals are figures of a whole process.
type totals struct{ goroutines, collections, gcSec float64 }

func (t totals) since(base totals) totals {
	return totals{t.goroutines - base.goroutines, t.collections - base.collections, t.gcSec - base.gcSec}
}

// parseTotals reads the line that driver.End begins.
func parseTotals(line []byte) (t totals, ok bool) {
	if !bytes.HasPrefix(line, []byte(driver.End+" ")) {
		return t, false
	}
	n, _ := fmt.Sscanf(string(line), driver.End+" %f %f %f", &t.goroutines, &t.collections, &t.gcSec)
	return t, n == 3
}

// nameOf is the name of a benchmark without the "-8" of GOMAXPROCS=8, which package testing appends
// unless it is 1. procs has to be known: a benchmark's own name may end so.
func nameOf(printed string, procs int) string {
	if procs == 1 {
		return printed
	}
	return strings.TrimSuffix(printed, "-"+strconv.Itoa(procs))
}

// A lineScanner finds results in the output of a test binary. Package testing writes a name and a tab, runs
// the benchmark, and then writes the numbers (processBench in testing/benchmark.go). Output of the benchmark
// comes in between. benchfmt of golang.org/x/perf loses such lines.
type lineScanner struct {
	result func(l resultLine)
	other  func(line []byte) // a line that is no result, without its end; valid until it returns
	line   []byte
	name   []byte // of the benchmark that runs; empty if it is not known
}

// A resultLine is a result: a name, iterations, and "value unit" separated by tabs. It is valid
// until the callee returns.
type resultLine struct{ name, n, values []byte }

// lineMost is the number of bytes that are kept of a line's end, which has the numbers.
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
	if !bytes.Contains(line, []byte("Benchmark")) { // as most of a flood, for which an expression takes memory
		return nil, nil
	}
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
		// Text that was printed without a newline may come before the iterations.
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
