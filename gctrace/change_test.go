package gctrace

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// trace is a log of collections whose goals are those of GOGC, with live heaps of some MiB.
func trace(from int, gogc float64, procs int, lives ...int) string {
	var b strings.Builder
	before := lives[0]
	for i, live := range lives {
		goal := int(float64(before) + float64(before+1)*gogc/100)
		fmt.Fprintf(&b, "gc %d @%d.000s 1%%: 0.073+2.0+0.050 ms clock, 2.3+0.39/11/10+1.6 ms cpu, %d->%d->%d MB, %d MB goal, 0 MB stacks, 0 MB globals, %d P\n",
			from+i, from+i, goal-1, goal, live, goal, procs)
		before = live
	}
	return b.String()
}

// inStep has the lines of two processes in turns.
func inStep(a, b string) string {
	var both strings.Builder
	other := strings.SplitAfter(b, "\n")
	for i, line := range strings.SplitAfter(a, "\n") {
		both.WriteString(line + other[i])
	}
	return both.String()
}

// goalOf is a log whose goals are all the same, as with a memory limit.
func goalOf(mib int, text string) string {
	return regexp.MustCompile(`\d+ MB goal`).ReplaceAllString(text, fmt.Sprint(mib, " MB goal"))
}

func logOf(t *testing.T, text string) *Log {
	t.Helper()
	var l Log
	if _, err := Read(strings.NewReader(text), func(c *Cycle, _ []byte) { l.Add(c) }); err != nil {
		t.Fatal(err)
	}
	return &l
}

// A log says where GOMAXPROCS or GOGC changed in it; live heaps that grow and shrink are no change.
func TestChanges(t *testing.T) {
	steady := []int{40, 41, 45, 60, 80, 70, 50, 40, 42, 44}
	for _, c := range []struct {
		name, text string
		want       []Change
	}{
		{"none", trace(1, 100, 8, steady...) + trace(11, 100, 8, steady...), nil},
		{"GOGC=50", trace(1, 50, 8, steady...) + trace(11, 50, 8, steady...), nil},
		{"GOMAXPROCS", trace(1, 100, 32, steady...) + trace(11, 100, 3, 44, 44, 44, 44), []Change{{N: 11, Procs: true, From: 32, To: 3}}},
		{"GOGC", trace(1, 100, 8, steady...) + trace(11, 400, 8, 44, 44, 44, 44, 44, 44, 44), []Change{{N: 11, From: 100, To: 400}}},
		{"one odd goal", trace(1, 100, 8, steady...) + trace(11, 250, 8, 44, 44) + trace(13, 100, 8, 44, 45, 46, 50), nil},
		{"two processes in step", inStep(trace(1, 100, 8, steady...), trace(1, 100, 4, steady...)), nil},
		{"a memory limit from the start", goalOf(100, trace(1, 100, 8, 40, 41, 42, 40, 41, 42, 60, 60, 60, 60, 60)), nil},
		{"no goals", strings.ReplaceAll(trace(1, 100, 8, steady...), " MB goal", " MB"), nil},
	} {
		l := logOf(t, c.text)
		var got []Change
		for _, p := range l.Processes {
			for _, ch := range p.Changes {
				ch.At = 0
				got = append(got, ch)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// A memory limit makes goals that follow no GOGC.
	var b strings.Builder
	b.WriteString(trace(1, 100, 8, 400, 410, 420, 430, 440, 450, 460))
	for i, live := range []int{1945, 1900, 1930, 1500, 1945, 1200} {
		fmt.Fprintf(&b, "gc %d @%d.000s 19%%: 0.077+2008+0.018 ms clock, 0.23+400/1519/2002+0.054 ms cpu, 1950->1952->%d MB, 1952 MB goal, 30 MB stacks, 0 MB globals, 8 P\n", 8+i, 8+i, live)
	}
	l := logOf(t, b.String())
	if p := l.Processes[0]; p.Changed != 1 || p.Changes[0].N > 10 || p.Changes[0].From != 100 || !math.IsNaN(p.Changes[0].To) {
		t.Errorf("a memory limit: %+v", p.Changes)
	}
}

// Where stops are whole milliseconds the clock is coarse.
func TestCoarse(t *testing.T) {
	const coarse = "gc 28%d @1.2%ds 0%%: %d.0+0+0 ms clock, 0+0/0/0+0 ms cpu, 11->11->6 MB, 12 MB goal, 4 P\n"
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, coarse, i, i, i%2)
	}
	if l := logOf(t, b.String()); !l.Total.Coarse() {
		t.Error("stops of whole milliseconds are no sign of a coarse clock")
	}
	if l := logOf(t, trace(1, 100, 8, 40, 41, 45, 60, 80, 70)); l.Total.Coarse() {
		t.Error("a fine clock is called coarse")
	}
}
