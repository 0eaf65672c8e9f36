package gclog

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/report/layout"
)

// Explain explains the parts of a gc line, one a line, as Listing 5 of study 002 does. It is an
// error if the line is not whole; else the error is w's.
func Explain(w io.Writer, line string, o layout.Options) error {
	line = strings.TrimSuffix(line, "\n")
	parts, ok := gcParts(line)
	if !ok {
		return fmt.Errorf("explain %q: not a complete gc line", line)
	}
	var b strings.Builder
	b.WriteString(layout.Clean(line) + "\n")
	left := 0
	for _, p := range parts {
		left = max(left, len(p.text))
	}
	indent := strings.Repeat(" ", left+4)
	for _, p := range parts {
		if p.text == "" {
			b.WriteString("\n" + layout.Fold(p.meaning, "", "", o.Columns()))
			continue
		}
		b.WriteString(layout.Fold(p.meaning, fmt.Sprintf("  %-*s  ", left, p.text), indent, o.Columns()))
	}
	b.WriteString("\n" + layout.Fold("MB means MiB (1,048,576 bytes), rounded down: 2 MB is at least 2 and less than 3 MiB. Times have two significant digits. "+
		"GODEBUG=gcpacertrace=1 gives heap sizes in bytes.", "", "", o.Columns()))
	_, err := io.WriteString(w, b.String())
	return err
}

type gcPart struct{ text, meaning string }

var gcLine = regexp.MustCompile(`^gc (.*?) @(.*?)s (.*?)%(.*?): (.*?) ms clock, (.*?) ms cpu, (.*)$`)

func gcParts(line string) (parts []gcPart, ok bool) {
	m := gcLine.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	n, at, percent, leaks, clock, cpu, tail := m[1], m[2], m[3], m[4], m[5], m[6], m[7]
	walls := strings.Split(clock, "+")
	cpus := strings.FieldsFunc(cpu, func(r rune) bool { return r == '+' || r == '/' })
	if len(walls) != 3 && len(walls) != 5 || len(cpus) != len(walls)+2 {
		return nil, false
	}
	add := func(text, format string, args ...any) {
		parts = append(parts, gcPart{text: text, meaning: fmt.Sprintf(format, args...)})
	}
	add("gc "+n, "collection number %s since the process began", n)
	add("@"+at+"s", "it started %s s after the process began", at)
	add(percent+"%", "collections took this share of all CPU time that GOMAXPROCS allowed since the process began, used or not; "+
		"a sum over all collections so far, rounded down, without idle marking")
	if leaks != "" {
		add("(checking …)", "it also looked for goroutines blocked forever, which takes longer")
	}
	phases := gcPhases
	if len(walls) == 3 {
		phases = slices.Concat(gcPhases[:1], gcPhases[3:])
	}
	add("", "Wall clock")
	for i, x := range walls {
		add(x+" ms", "%s", phases[i].clock)
	}
	add("", "CPU time (as the runtime counts it: wall clock time of workers, with waits for a CPU)")
	i := 0
	for _, phase := range phases {
		for _, meaning := range phase.cpu {
			add(cpus[i]+" ms", "%s", meaning)
			i++
		}
	}
	add("", "Memory and other")
	return append(parts, explainSizes(tail)...), true
}

// gcPhases are the phases on the clock, and the parts of the CPU time of each.
var gcPhases = []struct {
	clock string
	cpu   []string
}{
	{"stop the world: all goroutines halt, sweeping finishes, the write barrier is turned on",
		[]string{"that stop × the number of stopped Ps"}},
	{"scanning of stacks and globals, while the program runs (Go 1.5)", []string{"scanning, by one goroutine"}},
	{"waiting for all Ps to turn on the write barrier (Go 1.5)", []string{"the same wait, which takes no CPU time"}},
	{"marking, while the program runs", []string{
		"assists: goroutines that allocate must mark in return before they go on; requests wait for this",
		"background: dedicated mark workers, a quarter of GOMAXPROCS",
		"idle: workers on Ps with nothing else to do; free, and not in the percentage"}},
	{"stop the world: marking ends, the write barrier is turned off",
		[]string{"that stop × the number of stopped Ps"}},
}

// gcSizes are the meanings of what stands behind the phases, by the words behind its number.
var gcSizes = map[string]string{
	"MB goal":    "goal: the heap size that GOGC and GOMEMLIMIT allow at the end of marking",
	"MB stacks":  "scanned goroutine stacks; they count towards the goal",
	"MB globals": "scanned global variables; they count towards the goal",
}

func explainSizes(tail string) (parts []gcPart) {
	heaps := []string{"heap when marking began", "heap when marking ended: the program allocated meanwhile",
		"marked as live: what sweeping leaves, with all that was allocated during marking"}
	for _, field := range strings.Split(tail, ", ") {
		number, what, _ := strings.Cut(field, " ")
		meaning, known := gcSizes[what]
		switch mb, _ := strconv.ParseFloat(number, 64); {
		case what == "MB":
			for i, size := range strings.Split(number, "->") {
				parts = append(parts, gcPart{size + " MB", heaps[min(i, 2)]})
			}
		case strings.HasPrefix(what, "P"):
			parts = append(parts, gcPart{number + " P", "GOMAXPROCS: the number of threads that can run Go code at once"})
			if what != "P" {
				parts = append(parts, gcPart{"(forced)", "runtime.GC or debug.FreeOSMemory asked for it"})
			}
		case what == "MB goal" && mb >= 1<<40:
			parts = append(parts, gcPart{field, "no goal: GOGC is off and there is no memory limit"})
		case known:
			parts = append(parts, gcPart{field, meaning})
		}
	}
	return parts
}
