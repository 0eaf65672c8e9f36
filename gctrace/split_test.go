package gctrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samples are excerpts of the standard error of a real program, by Go version.
func samples(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/go*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	m := make(map[string]string)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[filepath.Base(f)] = string(data)
	}
	return m
}

// traced are the lines of text that belong to the trace.
func traced(text string) (trace, log []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "gc ") || strings.HasPrefix(line, "pacer: ") {
			trace = append(trace, line)
		} else {
			log = append(log, line)
		}
	}
	return trace, log
}

// packets cuts a trace line where the runtime begins a new write.
func packets(t testing.TB, line string) []string {
	t.Helper()
	var ps []string
	at := 0
	for rest := []byte(line); len(rest) > 0; {
		size, here, _ := current.step(at, rest)
		if size == 0 {
			t.Fatalf("%q is not of the grammar at %q", line, rest)
		}
		ps, rest, at = append(ps, string(rest[:size])), rest[size:], here+1
	}
	return ps
}

// split writes texts to a Splitter and returns what it made of them.
func split(t testing.TB, writes ...string) (trace, log string, cycles []Cycle) {
	t.Helper()
	var l, tr bytes.Buffer
	x := NewSplitter(&l, &tr)
	for _, w := range writes {
		if n, err := io.WriteString(x, w); n != len(w) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", w, n, err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	cycles = x.Take(nil)
	return tr.String(), l.String(), cycles
}

// Log writes that come between two pieces of a trace line, and that a careless
// reader would take for one.
var intruders = []string{
	"level=info msg=\"a request\"\n", "2026/01/02 15:04:05 done\n", "5 apples\n", "+1 vote\n", "+", " ",
	"gc is slow\n", "pacer: none\n", "p", "g", "no newline", "12 monkeys\n13 more\n0.1\n", "\x00\xff\n", ": \n",
	"goroutine 1 [running]:\nmain.main()\n", "%d\n", strings.Repeat("long ", 200) + "\n",
}

func TestTornLines(t *testing.T) {
	for name, text := range samples(t) {
		lines, _ := traced(text)
		for _, line := range lines {
			ps := packets(t, line)
			for i := 1; i < len(ps); i++ {
				for _, intruder := range intruders {
					if intruder == ps[i] {
						continue // exchanged for its like, as Trace says
					}
					writes := slices.Concat(ps[:i], []string{intruder, intruder}, ps[i:])
					trace, log, _ := split(t, writes...)
					if trace != line || log != intruder+intruder {
						t.Fatalf("%s: %q cut after %q by %.40q:\ntrace %q\nlog   %.200q", name, line, ps[:i], intruder, trace, log)
					}
				}
			}
		}
	}
}

// All lines of a sample, each torn at a place drawn by lot, in one stream.
func TestTornStream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, text := range samples(t) {
		lines, rest := traced(text)
		writes := slices.Clone(rest)
		var logged strings.Builder
		logged.WriteString(strings.Join(rest, ""))
		for _, line := range lines {
			for _, p := range packets(t, line) {
				for rnd.IntN(4) == 0 {
					s := fmt.Sprintf("2026/01/02 15:04:05 request %d\n", rnd.IntN(1000))
					writes = append(writes, s)
					logged.WriteString(s)
				}
				writes = append(writes, p)
			}
		}
		trace, log, cycles := split(t, writes...)
		if trace != strings.Join(lines, "") || log != logged.String() {
			t.Errorf("%s: trace and log are not parted:\n%s\n%s", name, trace, log)
		}
		if want := strings.Count("\n"+text, "\ngc "); len(cycles) != want {
			t.Errorf("%s: %d cycles, want %d", name, len(cycles), want)
		}
	}
}

// As an ordinary pipe or a file gives it: nothing is torn, but writes are
// merged and cut.
func TestMergedWrites(t *testing.T) {
	for name, text := range samples(t) {
		text = strings.ReplaceAll(text, "\npacer: sweep", "\nGC forced\npacer: sweep")
		text = strings.ReplaceAll(text, "gc 2 ", "go on\ngc 2 ")
		lines, rest := traced(strings.ReplaceAll(text, "GC forced\n", ""))
		for _, size := range []int{1, 2, 7, 60, 61, 1000, len(text)} {
			var writes []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				writes, rest = append(writes, rest[:n]), rest[n:]
			}
			trace, log, _ := split(t, writes...)
			trace = strings.ReplaceAll(trace, "GC forced\n", "")
			if trace != strings.Join(lines, "") || log != strings.Join(rest, "") {
				t.Fatalf("%s in writes of %d:\ntrace %s\nlog %s", name, size, trace, log)
			}
		}
	}
}

// Torn and merged: lines are recovered where the tear is plain.
func TestMergedAndTorn(t *testing.T) {
	const intruder = "level=info msg=\"a request of 5 bytes\"\n"
	torn, lost := 0, 0
	for _, text := range samples(t) {
		lines, _ := traced(text)
		for _, line := range lines {
			ps := packets(t, line)
			for i := 1; i < len(ps); i++ {
				head, tail := strings.Join(ps[:i], ""), strings.Join(ps[i:], "")
				for _, writes := range [][]string{{head + intruder + tail}, {head, intruder, tail}, {head + intruder, tail}, {head, intruder + tail}} {
					trace, log, _ := split(t, append(writes, "after\n")...)
					torn++
					switch {
					case trace == line && log == intruder+"after\n":
					case trace == "" && len(log) == len(line+intruder+"after\n"):
						lost++
					default:
						t.Fatalf("writes %q:\ntrace %q\nlog %q", writes, trace, log)
					}
				}
			}
		}
	}
	if lost > torn/10 {
		t.Errorf("%d of %d lines were not recovered", lost, torn)
	}
	t.Logf("%d of %d lines were not recovered", lost, torn)
}

// A line of which the rest never comes is log, and the next one is a trace.
func TestAbandonedLine(t *testing.T) {
	line := "gc 7 @0.1s 2%: 0.1+0.2+0.3 ms clock, 0.1+0.2/0.3/0.4+0.5 ms cpu, 4->5->3 MB, 6 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)\n"
	ps := packets(t, line)
	for i := 1; i < len(ps); i++ {
		trace, log, cycles := split(t, slices.Concat(ps[:i], []string{"panic: x\n"}, ps, []string{"bye\n"})...)
		if trace != line || log != "panic: x\n"+strings.Join(ps[:i], "")+"bye\n" || len(cycles) != 1 {
			t.Errorf("after %q: trace %q log %q", ps[:i], trace, log)
		}
	}
	long := strings.Repeat("x", 1<<20) + "\n"
	writes := []string{"gc ", "7"}
	for range mostWithin>>20 + 1 {
		writes = append(writes, long)
	}
	trace, log, _ := split(t, append(writes, " @")...)
	if !strings.Contains(log, "x\ngc 7") || trace != "" {
		t.Errorf("a line was awaited for more than %d bytes", mostWithin)
	}
}

func TestLogLimit(t *testing.T) {
	var log, trace bytes.Buffer
	x := NewSplitter(&log, &trace)
	x.left = 1000
	total := 0
	for i := range 20000 {
		n, _ := fmt.Fprintf(x, "line %d\n", i)
		total += n
	}
	if log.Len() != 1000 {
		t.Errorf("%d bytes of log, the limit is 1000", log.Len())
	}
	x.Close()
	got := log.String()
	want := fmt.Sprintf("[dyno: %d bytes of log left out here]\n", total-1000-lastSize)
	if !strings.Contains(got, want) || !strings.HasSuffix(got, "\nline 19999\n") || len(got) > 1000+lastSize+len(want)+1 {
		t.Errorf("log of %d bytes without %q or its end %q", len(got), want, got[len(got)-40:])
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteNeverFails(t *testing.T) {
	x := NewSplitter(broken{}, broken{})
	for range 3 {
		if n, err := io.WriteString(x, "hello\n"); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := x.Close(); err == nil || err.Error() != "disk full" {
		t.Errorf("Close() = %v, want disk full", err)
	}
}

// A goroutine between two pieces costs the subject nothing, an allocation here
// would cost the load generator much.
func TestNoAllocation(t *testing.T) {
	x := NewSplitter(io.Discard, io.Discard)
	writes := benchWrites(t)
	var cycles []Cycle
	if n := testing.AllocsPerRun(100, func() {
		for _, w := range writes {
			x.Write(w)
		}
		cycles = x.Take(cycles[:0])
	}); n != 0 {
		t.Errorf("%v allocations for %d packets", n, len(writes))
	}
}

func benchWrites(t testing.TB) [][]byte {
	var writes [][]byte
	lines, _ := traced(samples(t)["go1.26.8.txt"])
	for _, line := range lines[:4] { // one cycle
		for i, p := range packets(t, line) {
			writes = append(writes, []byte(p))
			if i == 9 {
				writes = append(writes, []byte("2026/01/02 15:04:05 a line of the log between\n"))
			}
		}
	}
	return writes
}

func BenchmarkPacket(b *testing.B) {
	x := NewSplitter(io.Discard, io.Discard)
	writes := benchWrites(b)
	var cycles []Cycle
	for b.Loop() {
		for _, w := range writes {
			x.Write(w)
		}
		cycles = x.Take(cycles[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(writes)), "ns/packet")
}

// Whatever is written, and however it is cut, no byte is lost or made.
func FuzzTrace(f *testing.F) {
	for _, text := range samples(f) {
		f.Add([]byte(text), uint64(1))
	}
	f.Add([]byte("gc 1 @INFO x\n2.0s gc -+NaN pacer: sweep done at heap size 9MB; "), uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var log, trace bytes.Buffer
		x := NewSplitter(&log, &trace)
		for rest := text; len(rest) > 0; {
			n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(100)))
			x.Write(rest[:n])
			rest = rest[n:]
		}
		x.Close()
		got := slices.Concat(log.Bytes(), trace.Bytes())
		want := slices.Clone(text)
		slices.Sort(got)
		slices.Sort(want)
		if !bytes.Equal(got, want) {
			t.Errorf("wrote %q\nlog %q\ntrace %q", text, log.Bytes(), trace.Bytes())
		}
		if rest := trace.Bytes(); len(rest) > 0 {
			for line := range bytes.Lines(rest) {
				if m := current.follow(0, line, nil); m.outcome != full {
					t.Errorf("trace has %q", line)
				}
			}
		}
	})
}
