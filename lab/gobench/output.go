package gobench

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
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
	begun time.Time
	first time.Time // when the first benchmark began; with -test.v
	quiet time.Duration
	timer *time.Timer // is set back whenever something is printed
	lines lineScanner

	results []timedResult
	names   []string               // of benchmarks in the order in which they began, those with sub-benchmarks included
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
		procs: procs, begun: time.Now(), quiet: quiet, timer: time.AfterFunc(quiet, onQuiet),
		of: map[string]timedResult{}, fates: map[string]*fate{},
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
		o.ended = true
	case nameAlone.MatchString(line):
		if len(o.names) == 0 {
			o.first = time.Now()
		}
		o.names = append(o.names, strings.TrimPrefix(line, "Benchmark"))
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
	text := "no result: the benchmark was skipped, or is not there any more"
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
