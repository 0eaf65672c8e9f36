package gctrace

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The two expressions are written apart from the grammar, to hold it against.
var (
	gcLineForm = regexp.MustCompile(`^gc (\d+) @([\d.]+)s (\d+)%(?: \(checking for goroutine leaks\))?: ` +
		`([\d.]+)\+([\d.]+)\+([\d.]+) ms clock, ([\d.]+)\+([\d.]+)/([\d.]+)/([\d.]+)\+([\d.]+) ms cpu, ` +
		`(\d+)->(\d+)->(\d+) MB, (\d+) MB goal, (?:(\d+) MB stacks, (\d+) MB globals, )?(\d+) P( \(forced\))?$`)
	pacerLine = regexp.MustCompile(`^pacer: \d+% CPU \(\d+ exp.\) for (\d+)\+(\d+)\+(\d+) B work .* in (\d+) B -> (\d+) B \(∆goal (-?\d+),`)
)

// wantCycles is what Parse should make of a text.
func wantCycles(text string) []Cycle {
	const MiB = 1 << 20
	var cycles []Cycle
	var pacer []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := pacerLine.FindStringSubmatch(line); m != nil {
			pacer = m
		}
		m := gcLineForm.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := func(i int) float64 { v, _ := strconv.ParseFloat(m[i], 64); return v }
		ms := func(x float64) time.Duration { return time.Duration(math.Round(x * 1e6)) }
		c := Cycle{
			N: int(f(1)), Start: ms(1e3 * f(2)), Percent: f(3), SweepTerm: ms(f(4)), Mark: ms(f(5)), MarkTerm: ms(f(6)),
			SweepTermCPU: ms(f(7)), Assist: ms(f(8)), Background: ms(f(9)), Idle: ms(f(10)), MarkTermCPU: ms(f(11)),
			HeapStart: f(12) * MiB, HeapEnd: f(13) * MiB, Live: f(14) * MiB, Goal: f(15) * MiB,
			Procs: int(f(18)), Forced: m[19] != "",
		}
		if m[16] != "" {
			c.Scanned = (f(16) + f(17)) * MiB
		}
		if pacer != nil {
			g := func(i int) float64 { v, _ := strconv.ParseFloat(pacer[i], 64); return v }
			if goal := g(5) - g(6); int(goal)>>20 == int(f(15)) { // the sample has a gap
				c.Paced, c.HeapStart, c.HeapEnd, c.Goal = true, g(4), g(5), goal
			}
			pacer = nil
		}
		cycles = append(cycles, c)
	}
	return cycles
}

const (
	line117  = "gc 5 @0.2s 1%: 0.01+0.5+0.02 ms clock, 0.1+0.2/0.4/0.6+0.1 ms cpu, 4->4->0 MB, 5 MB goal, 8 P\n"
	lineLeak = "gc 7 @1.234s 12%: 0.01+12+0.02 ms clock, 0.1+0.2/0.4/0.6+0.1 ms cpu, 4->4->0 MB, 5 MB goal, 1 MB stacks, 2 MB globals, 16 P (forced)\n"
)

func TestParse(t *testing.T) {
	texts := samples(t)
	texts["go1.17"] = line117
	texts["leaks"] = strings.Replace(lineLeak, "%:", "% (checking for goroutine leaks):", 1)
	for name, text := range texts {
		got, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := wantCycles(text)
		if count := strings.Count("\n"+text, "\ngc "); len(got) != count || len(want) != count {
			t.Fatalf("%s: %d cycles, regexp finds %d, there are %d", name, len(got), len(want), count)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s, cycle %d:\n got %+v\nwant %+v", name, i, got[i], want[i])
			}
		}
	}
}

// The pacer's exact bytes are those that the gc line cuts to MiB.
func TestPacedCycles(t *testing.T) {
	for name, text := range samples(t) {
		cycles, _ := Parse(strings.NewReader(text))
		paced := 0
		var lines []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "gc ") {
				lines = append(lines, line)
			}
		}
		for i, c := range cycles {
			printed := fmt.Sprintf(" %d->%d->%d MB, %d MB goal,", int(c.HeapStart)>>20, int(c.HeapEnd)>>20, int(c.Live)>>20, int(c.Goal)>>20)
			if c.Paced {
				paced++
				if !strings.Contains(lines[i], printed) {
					t.Errorf("%s: %s but the pacer says%s", name, lines[i], printed)
				}
			}
		}
		if paced < 3 {
			t.Errorf("%s: only %d of %d cycles have their pacer line", name, paced, len(cycles))
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	for _, text := range samples(f) {
		f.Add(text)
	}
	f.Add(line117 + lineLeak)
	f.Add(strings.ReplaceAll(line117, "5", "-2") + strings.ReplaceAll(lineLeak, "0.", "NaN"))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			if c.N < 0 || c.Procs < 0 || !(c.Start >= 0) || !(c.CPU() >= 0) || !(c.Live >= 0) || !(c.Goal >= 0) {
				t.Errorf("%+v of %q", c, text)
			}
		}
	})
}

// A probe that does not take the cycles costs no more memory than so many.
func TestCyclesNotTaken(t *testing.T) {
	x := NewSplitter(io.Discard, io.Discard)
	many := bytes.Repeat([]byte(line117), 1000)
	for range 200 {
		x.Write(many)
	}
	if n := len(x.Take(nil)); n > untakenMost || n < untakenMost/2 {
		t.Errorf("%d cycles kept of 200000", n)
	}
}

// GOGC=off has no goal; its largest uint64 would spoil every picture.
func TestNoGoal(t *testing.T) {
	cycles, err := Parse(strings.NewReader(strings.Replace(line117, "5 MB goal", "17592186044415 MB goal", 1)))
	if err != nil || len(cycles) != 1 || cycles[0].Goal != 0 {
		t.Fatalf("%+v, %v", cycles, err)
	}
}
