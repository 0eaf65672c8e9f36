//go:build linux

package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/driver"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func TestMain(m *testing.M) {
	guard.Main()
	code := m.Run()
	if b, err := builder(); err != nil || b.Close() != nil {
		code = 1
	}
	os.Exit(code)
}

var builder = sync.OnceValues(func() (*subject.Builder, error) { return subject.NewBuilder("") })

// benchBinary has the benchmarks of testdata/bench.
func benchBinary(t testing.TB) string {
	t.Helper()
	b, err := builder()
	if err != nil {
		t.Fatal(err)
	}
	ps, err := b.Tests(context.Background(), dyno.Subject{Dir: "testdata/bench"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := b.Link(context.Background(), ps[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func wantError(t testing.TB, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to have %q", err, want)
		}
	}
}

func gone(pid int) bool {
	state := processState(pid)
	return state == "gone" || state == "Z"
}

// ofDriver are the arguments of a process that takes turns.
func ofDriver(more ...string) []string {
	return append([]string{"-test.run=^" + driver.Test + "$", "-test.benchmem"}, more...)
}

func startBench(t testing.TB, o Options) *Process {
	t.Helper()
	o.Args = append(ofDriver(), o.Args...)
	p, err := Start(t.Context(), benchBinary(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// begin begins a benchmark that has no end.
func begin(t testing.TB, p *Process, name string) Batch {
	t.Helper()
	b, err := p.Begin(t.Context(), name, nil, "100x", endlessCount, 1)
	if err != nil {
		t.Fatal(name, err)
	}
	return b
}

// processState is the third field of /proc/PID/stat; see proc_pid_stat(5).
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[0]
}

// A process and its children run in their turns only.
func TestTurns(t *testing.T) {
	p := startBench(t, Options{Env: map[string]string{"GOGC": "off"}})
	var pids []int
	for _, name := range []string{"Small", "Prints", "Forks", "Outer", "Small"} {
		begin(t, p, name)
		pids = append(guard.Descendants(p.tree.PID), p.tree.PID)
		if name == "Forks" && len(pids) < 2 {
			t.Error("no child to be stopped")
		}
		for turn := range 5 {
			for _, pid := range pids {
				// It stops when it gets a CPU for that.
				for late := time.Now().Add(10 * time.Second); processState(pid) != "T" && time.Now().Before(late); {
					runtime.Gosched()
				}
				if s := processState(pid); s != "T" {
					t.Errorf("%s: process %d is in state %s between turns, want T", name, pid, s)
				}
			}
			b, err := p.Turn(t.Context(), 1+turn)
			if err != nil || len(b.Results) != 1+turn || b.Ended {
				t.Fatal(name, b, err)
			}
			r := b.Results[turn]
			if strings.TrimRight(r.Name, "-0123456789") != name || r.N != 100 || len(r.Values) != map[bool]int{false: 3, true: 4}[name == "Prints"] {
				t.Errorf("%+v", r)
			}
		}
		if all, err := p.End(t.Context()); err != nil || all.goroutines < 2 {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
	p.Close()
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("Close left process %d", pid)
		}
	}
	if _, err := p.Turn(t.Context(), 1); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a turn after Close: %v", err)
	}
}

// A benchmark that is not told to go on for ever ends, and what the process did meanwhile is told.
func TestBeginToEnd(t *testing.T) {
	p := startBench(t, Options{})
	before, err := p.Begin(t.Context(), "Small", nil, "1ms", 3, endless)
	if err != nil || !before.Ended || len(before.Results) != 3 || before.Results[2].N < 100 || before.Results[0].at.After(before.Results[2].at) {
		t.Fatalf("%+v, %v", before, err)
	}
	after, err := p.Begin(t.Context(), "Leaks", nil, "1000x", 1, endless)
	did := after.Totals.since(before.Totals)
	if err != nil || !after.Ended || did.goroutines != 6 || did.collections < 2 || did.gcSec <= 0 { // it is called twice
		t.Errorf("%+v, %v", did, err)
	}
	for _, name := range []string{"Skipped", "Nosuch"} {
		if b, err := p.Begin(t.Context(), name, nil, "100x", endlessCount, 1); err != nil || !b.Ended || len(b.Results) > 0 {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
	// In the external package of tests, which has the others of the package under test beside it.
	if b, err := p.Begin(t.Context(), "Outer", nil, "10x", 1, endless); err != nil || len(b.Results) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}

// The benchmarks of a family come one after the other, and one that fails does not end those after it.
func TestFamilyTurns(t *testing.T) {
	for _, fails := range []string{"", "b"} {
		p := startBench(t, Options{Env: map[string]string{"WHY": fails}})
		for range 2 {
			var names []string
			b, err := p.Begin(t.Context(), "Family", []string{"a", "b", "c"}, "10x", endlessCount, 1)
			for err == nil && !b.Ended {
				name := strings.TrimRight(b.Results[0].Name, "-0123456789")
				if len(names) == 0 || names[len(names)-1] != name {
					names = append(names, name)
					if b, err = p.Turn(t.Context(), 3); err != nil || len(b.Results) != 3 || strings.TrimRight(b.Results[2].Name, "-0123456789") != name {
						t.Fatalf("%+v, %v", b, err)
					}
					b, err = p.Next(t.Context())
				} else {
					b, err = p.Turn(t.Context(), 1)
				}
			}
			want := []string{"Family/a", "Family/b", "Family/c"}
			if fails != "" {
				want = []string{"Family/a", "Family/c"}
			}
			if err != nil || !slices.Equal(names, want) {
				t.Errorf("%q, %v", names, err)
			}
			if fails == "" {
				if _, err := p.Begin(t.Context(), "Family", []string{"a", "b", "c"}, "10x", endlessCount, 1); err != nil {
					t.Error(err)
				}
				if _, err := p.End(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		if b, err := p.Begin(t.Context(), "Small", nil, "10x", 1, endless); err != nil || len(b.Results) != 1 {
			t.Errorf("%+v, %v", b, err)
		}
	}
}

func TestBenchPinned(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			last = i
		}
	}
	p := startBench(t, Options{CPUs: []int{last}})
	if cpus, _ := begin(t, p, "Procs").Results[0].Values.Get("cpus"); cpus != 1 {
		t.Errorf("it sees %g CPUs, not one", cpus)
	}
	var its unix.CPUSet
	if err := unix.SchedGetaffinity(p.tree.PID, &its); err != nil || its.Count() != 1 || !its.IsSet(last) {
		t.Errorf("it runs on %v, %v", its, err)
	}
	_, err := Start(t.Context(), benchBinary(t), Options{Args: ofDriver(), CPUs: []int{1000}})
	wantError(t, err, "pin to CPUs [1000]")
}

func TestStartErrors(t *testing.T) {
	for _, test := range []struct {
		name, env string
		wants     []string
	}{
		{"Fails", "so", []string{"benchmark failed", "--- FAIL: BenchmarkFails", "x_test.go:", "it is so"}},
		{"FailsLater", "", []string{"--- FAIL: BenchmarkFailsLater", "later"}},
		{"Panics", "", []string{"exit status 2", "panic: oh"}},
	} {
		p := startBench(t, Options{Env: map[string]string{"WHY": test.env}})
		_, err := p.Begin(t.Context(), test.name, nil, "100x", endlessCount, 1)
		wantError(t, err, test.wants...)
		if strings.Count(err.Error(), "FAIL") > 1 {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	_, err := Start(t.Context(), benchBinary(t), Options{Args: ofDriver("-test.nosuch")})
	wantError(t, err, "exit status 2")
	_, err = Start(t.Context(), benchBinary(t), Options{Args: []string{"-test.run=^$"}}) // as where TestMain does not run tests
	wantError(t, err, "the test binary ran no benchmark", "TestMain")
	_, err = Start(t.Context(), "/nosuch", Options{})
	wantError(t, err, "start benchmark: ", "/nosuch", "no such file")
	if left, _ := filepath.Glob(benchBinary(t) + ".*"); len(left) > 1 { // of the last process, which ends with the test
		t.Errorf("left: %q", left)
	}
}

func TestTurnEnds(t *testing.T) {
	p := startBench(t, Options{})
	begin(t, p, "Small")
	pid := p.tree.PID
	unix.Kill(pid, unix.SIGKILL)
	<-p.tree.Done
	_, err := p.Turn(t.Context(), 1)
	wantError(t, err, "signal: killed")

	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	p = startBench(t, Options{})
	begin(t, p, "Small")
	time.AfterFunc(time.Millisecond, func() { cancel(over) })
	if _, err := p.Turn(ctx, 1e9); err != over || !gone(p.tree.PID) {
		t.Errorf("error %v, want the context's cause and the process gone", err)
	}
	p = startBench(t, Options{})
	if _, err := p.Begin(ctx, "Hangs", nil, "1x", 1, endless); err != over {
		t.Errorf("error %v, want the context's cause", err)
	}
}

func TestBenchFloods(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := startBench(t, Options{})
	if b, err := p.Begin(t.Context(), "Floods", nil, "1x", 4, endless); err != nil || len(b.Results) != 4 || !strings.HasPrefix(b.Results[3].Name, "Floods") {
		t.Errorf("%+v, %v", b, err)
	}
	runtime.ReadMemStats(&after)
	if more := int64(after.TotalAlloc) - int64(before.TotalAlloc); more > 8<<20 {
		t.Errorf("%d bytes for some 64 MiB of output", more)
	}
}

func onceArgs(name string) []string {
	return []string{"-test.run=^$", "-test.bench=^Benchmark" + name + "$", "-test.benchtime=100x"}
}

func TestRunOnce(t *testing.T) {
	var out bytes.Buffer
	status, err := RunOnce(t.Context(), benchBinary(t), Options{Args: onceArgs("Procs"), CPUs: []int{0}}, &out)
	if err != nil || status != "exit status 0" || !strings.Contains(out.String(), "1.000 cpus") {
		t.Errorf("%s, %v: %s", status, err, &out)
	}
	status, err = RunOnce(t.Context(), benchBinary(t), Options{Args: onceArgs("Panics")}, io.Discard)
	wantError(t, err, "exit status 2", "panic: oh")
	if status != "exit status 2" {
		t.Error(status)
	}
	status, err = RunOnce(t.Context(), benchBinary(t), Options{Args: onceArgs("Fails")}, io.Discard)
	wantError(t, err, "exit status 1", "--- FAIL: BenchmarkFails", "it is")
	if status != "exit status 1" {
		t.Error(status)
	}
}

// String is the line without what was printed in between.
func (l resultLine) String() string { return fmt.Sprintf("%s\t%s\t%s", l.name, l.n, l.values) }

func TestResults(t *testing.T) {
	long := strings.Repeat("x", 3*lineMost)
	for _, test := range []struct{ output, want string }{
		{"goos: linux\nBenchmarkX-8   \t     100\t  12.50 ns/op\nPASS\n", "BenchmarkX-8\t100\t12.50 ns/op"},
		{"BenchmarkX \t       1\t  3 ns/op\t 1.5 MB/s\t  7.00 my-unit\t 0 B/op\t 0 allocs/op\n", "BenchmarkX\t1\t3 ns/op\t 1.5 MB/s\t  7.00 my-unit\t 0 B/op\t 0 allocs/op"},
		{"BenchmarkX/a=1,b \tlog line\nmore\n     100\t  12 ns/op\n", "BenchmarkX/a=1,b\t100\t12 ns/op"},
		{"BenchmarkX \tno newline 5     100\t  12 ns/op\n", "BenchmarkX\t100\t12 ns/op"},
		{"before BenchmarkX \t     100\t  12 ns/op\r\n", "BenchmarkX\t100\t12 ns/op"},
		{"BenchmarkX \t" + long + "     100\t  12 ns/op\n", "BenchmarkX\t100\t12 ns/op"},
		{"BenchmarkX \t" + long + "\n     100\t  12 ns/op\n", "BenchmarkX\t100\t12 ns/op"},
		{"Benchmark results of BenchmarkY \tBenchmarkX \t     100\t  +Inf u\n", "BenchmarkY\t100\t+Inf u"},

		{"     100\t  12 ns/op\n", ""},                            // of none
		{"BenchmarkX \t     100\t  12 ns/op", ""},                 // may go on
		{"BenchmarkX \t     100\n", ""},                           // no values
		{"BenchmarkX \t     0\t  12 ns/op\n", ""},                 // no iterations
		{"BenchmarkX took 100\t  12 ns/op\n", ""},                 // no name
		{"BenchmarkX \t     100\t  many ns/op\n100\t3 \n", ""},    // no number, no unit
		{"BenchmarkX \t 1\t2 a\n 1\t2 a\n", "BenchmarkX\t1\t2 a"}, // the second is of none
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			var got []string
			s := lineScanner{result: func(l resultLine) { got = append(got, l.String()) }, other: func([]byte) {}}
			for b := range slices.Chunk([]byte(test.output), piece) {
				s.write(b)
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("%.50q in pieces of %d: %q, want %q", test.output, piece, got, test.want)
			}
		}
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte("BenchmarkX \tlog\n     100\t  12 ns/op\t 0 B/op\n--- FAIL: BenchmarkY\n    no\n"), 3)
	f.Add([]byte("BenchmarkX \t--- FAIL: BenchmarkX\n\n"+strings.Repeat("y", lineMost)+"\n"), 1)
	f.Fuzz(func(t *testing.T, output []byte, piece int) {
		run := func(output []byte, piece int) (lines []string) {
			s := lineScanner{result: func(l resultLine) { lines = append(lines, l.String()) }, other: func([]byte) {}}
			for b := range slices.Chunk(output, piece) {
				s.write(b)
			}
			if len(s.line) > lineMost || len(s.name) > lineMost {
				t.Errorf("it keeps %d and %d bytes", len(s.line), len(s.name))
			}
			return lines
		}
		for _, line := range run(output, max(1, piece%1000)) {
			if again := run([]byte(line+"\n"), 1<<20); !strings.Contains(line, "FAIL") && !slices.Equal(again, []string{line}) {
				t.Errorf("%q reads as %q", line, again)
			}
		}
	})
}

// BenchmarkStart is what a launch costs, with the test binary's own start.
func BenchmarkStart(b *testing.B) {
	path := benchBinary(b)
	for b.Loop() {
		p, err := Start(b.Context(), path, Options{Args: ofDriver(), CPUs: []int{0}})
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

// BenchmarkTurn is what a turn costs, with what package testing does for a result.
func BenchmarkTurn(b *testing.B) {
	p := startBench(b, Options{CPUs: []int{0}})
	begin(b, p, "Small")
	for b.Loop() {
		if _, err := p.Turn(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}
