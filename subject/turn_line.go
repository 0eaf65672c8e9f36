package subject

import (
	"bytes"
	"strconv"
)

const (
	lineMost = 8 << 10 // bytes of a line that are kept: its end, where the numbers are
	failMost = 20      // lines of what a failed benchmark said
)

// results finds the results in the output of a test binary. Package testing writes
// the name of a benchmark and a tab, lets it run, and then writes the numbers;
// anything that the benchmark prints comes in between, with newlines or without.
//
// Note: benchfmt of golang.org/x/perf reads files, where such lines are lost.
type results struct {
	found func() bool       // called for each result; true if it ends a turn
	turn  func(line string) // called with each result that ends one
	other *tail             // of all other lines; of those of the failure, if one failed

	failed bool // a benchmark has failed
	said   int  // lines of the failure so far
	ended  bool // there are no more of them
	line   []byte
	name   []byte // of the benchmark that runs; empty if it is not known
}

// write takes some output.
func (r *results) write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			r.add(b)
			return
		}
		r.add(b[:i])
		r.endLine()
		r.line = r.line[:0]
		b = b[i+1:]
	}
}

// add adds to the line, whose beginning is given up where it is too long.
func (r *results) add(b []byte) {
	if len(r.line)+len(b) > lineMost {
		r.note(r.line)
		r.line = r.line[:copy(r.line, r.line[max(0, len(r.line)-lineMost/2):])]
		for len(b) > lineMost/2 {
			piece := b[:lineMost/2]
			r.note(piece)
			r.line, b = append(r.line[:0], piece...), b[len(piece):]
		}
	}
	r.line = append(r.line, b...)
}

// note remembers the name of a benchmark that has begun in the text.
func (r *results) note(text []byte) {
	if name, _ := benchName(text); name != nil {
		r.name = append(r.name[:0], name...)
	}
}

func (r *results) endLine() {
	if r.failed {
		r.fail()
		return
	}
	name, rest := benchName(r.line)
	if name == nil {
		name, rest = r.name, r.line
	}
	if n, values := numbers(rest); values != nil && len(name) > 0 {
		if r.found() {
			r.turn(string(name) + "\t" + string(n) + "\t" + string(values))
		}
		r.name = r.name[:0]
		return
	}
	r.note(r.line)
	fail := bytes.Index(r.line, []byte("--- FAIL: Benchmark"))
	switch {
	case fail >= 0 && r.line[0] != ' ': // that is a log line
		r.failed = true
		r.other = newTail(nil)
		r.line = append(r.line[:0], r.line[fail:]...)
		r.fail()
	case !bytes.HasPrefix(r.line, []byte("goos: ")) && !bytes.HasPrefix(r.line, []byte("goarch: ")) &&
		!bytes.HasPrefix(r.line, []byte("pkg: ")) && !bytes.HasPrefix(r.line, []byte("cpu: ")):
		r.keep()
	}
}

// fail keeps what the first benchmark that failed has said, below its heading.
func (r *results) fail() {
	if r.said > 0 && (len(r.line) == 0 || r.line[0] != ' ' && r.line[0] != '\t') {
		r.ended = true
	}
	if r.ended || r.said == failMost {
		return
	}
	r.said++
	r.keep()
}

func (r *results) keep() {
	r.other.Write(r.line)
	r.other.Write([]byte{'\n'})
}

// benchName returns the name that package testing has written in the line, and
// what follows its tab; nil if there is none. Something that was printed without
// a newline may come before it.
func benchName(line []byte) (name, rest []byte) {
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte("Benchmark"))
		if i < 0 {
			return nil, nil
		}
		from += i
		end := from + len("Benchmark")
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		tab := end
		for tab < len(line) && line[tab] == ' ' {
			tab++
		}
		if tab < len(line) && line[tab] == '\t' {
			return line[from:end], line[tab+1:]
		}
		from = end
	}
}

// numbers returns the number of iterations and, beginning with the first, all
// values and units at the end of the line; nil if it does not end so. The form
// is "N\tvalue unit\tvalue unit", with spaces before each number; see
// BenchmarkResult.String and https://go.dev/design/14313-benchmark-format.
func numbers(line []byte) (n, values []byte) {
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
		if v, err := strconv.ParseUint(string(n), 10, 63); err != nil || v == 0 {
			return nil, nil
		}
		return n, values
	}
}
