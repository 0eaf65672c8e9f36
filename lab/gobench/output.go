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
	failed  map[string][]string    // what was said, by name
	skipped map[string][]string
	said    []string // indented lines since the last benchmark began or ended
	last    map[string][]string
	lastOf  string // whom indented lines are of: the key in last
	ended   bool   // by package testing, not within a benchmark
	err     error  // how the process ended, if not well
}

func newOutput(procs int, quiet time.Duration, onQuiet func()) *output {
	o := &output{
		procs: procs, begun: time.Now(), quiet: quiet, timer: time.AfterFunc(quiet, onQuiet),
		of: map[string]timedResult{}, failed: map[string][]string{}, skipped: map[string][]string{},
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
		o.fate(o.failed, after)
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
		o.fate(o.skipped, strings.TrimPrefix(line, "--- SKIP: Benchmark"))
	case strings.HasPrefix(line, "    "):
		if o.last != nil && len(o.last[o.lastOf]) < saidMost {
			o.last[o.lastOf] = append(o.last[o.lastOf], strings.TrimSpace(line))
		} else if o.last == nil && len(o.said) < saidMost {
			o.said = append(o.said, strings.TrimSpace(line))
		}
	}
}

// fate notes that a benchmark failed or was skipped, and what it said.
func (o *output) fate(to map[string][]string, printed string) {
	o.last, o.lastOf = to, o.named(strings.TrimSpace(printed))
	to[o.lastOf] = o.said
	o.said = nil
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
	for name := range o.failed { // a benchmark runs alone, so there is one
		text = "it failed"
		if said := o.failed[name]; len(said) > 0 {
			text = strings.Join(said, "\n")
		}
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
		failed, bad := o.failed[name]
		skipped, idle := o.skipped[name]
		switch {
		case bad:
			l.Err = cmp.Or(strings.Join(failed, "\n"), "it failed")
		case ran:
			l.take(r)
		case idle:
			l.Err = strings.TrimSuffix("skipped: "+strings.Join(skipped, "\n"), ": ")
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
