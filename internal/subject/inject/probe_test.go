package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dial starts the probe and returns a client of it.
func dial(t testing.TB) *bufio.ReadWriter {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { dynoProbeServe(l); close(served) }()
	t.Cleanup(func() { l.Close(); <-served })
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
}

// ask returns the body of the answer to an OK command, or its error.
func ask(t testing.TB, rw *bufio.ReadWriter, command string) (string, error) {
	t.Helper()
	fmt.Fprintln(rw, command)
	rw.Flush()
	var all strings.Builder
	for {
		head, err := rw.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		head = strings.TrimSuffix(head, "\n")
		if msg, ok := strings.CutPrefix(head, "error "); ok {
			return "", fmt.Errorf("%s", msg)
		}
		word, size, _ := strings.Cut(head, " ")
		n, err := strconv.Atoi(size)
		if err != nil || word != "ok" && word != "part" {
			t.Fatalf("%s: answer %q", command, head)
		}
		if _, err := io.CopyN(&all, rw, int64(n)); err != nil {
			t.Fatal(err)
		}
		if word == "ok" {
			return all.String(), nil
		}
	}
}

func TestCommands(t *testing.T) {
	rw := dial(t)
	for _, test := range []struct{ command, want string }{
		{"hello", "go " + runtime.Version()},
		{"metrics exact", "\n/gc/heap/allocs:bytes u "},
		{"metrics exact", "\ncpu/user:seconds f "},
		{"metrics exact", "\n/sched/latencies:seconds h"},
		{"metrics brief", "\n/gc/cycles/total:gc-cycles u "},
		{"gc", ""},
		{"free", ""},
		{"profile heap", "\x1f\x8b"},
		{"trace 0.02", "go 1."},
		{"cpu start", ""},
		{"cpu stop", "\x1f\x8b"},
		{"set mutex 7", "0"},
		{"set mutex 0", "7"},
		{"set block 10000", "0"},
		{"set block 0", "10000"},
	} {
		got, err := ask(t, rw, test.command)
		if err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %.200q, %v; want it to have %q", test.command, got, err, test.want)
		}
	}
	for _, test := range []struct{ command, want string }{
		{"set gogc x", "invalid syntax"},
		{"set procs 0", `bad value "0" of procs`},
		{"set pitch 440", "of pitch"},
		{"set gogc", "invalid syntax"},
		{"profile nosuch", `unknown profile "nosuch"`},
		{"profile", `unknown profile ""`},
		{"cpu x", "start or stop"},
		{"cpu stop", "no CPU profile was started"},
		{"trace -1", "seconds"},
		{"set mutex", "invalid syntax"},
		{"set mutex off", "invalid syntax"},
		{"set mutex much", "invalid syntax"},
		{"set nosuch 1", "of nosuch"},
		{"frobnicate", `unknown command "frobnicate"`},
		{"", `unknown command ""`},
	} {
		if _, err := ask(t, rw, test.command); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.command, err, test.want)
		}
	}
	if _, err := ask(t, rw, "hello"); err != nil {
		t.Errorf("the connection does not survive errors: %v", err)
	}
}

// A line, or the end of the connection, ends a trace; the end of the connection
// ends a CPU profile. Nothing goes on in a service that nobody watches.
func TestNothingGoesOn(t *testing.T) {
	first := dial(t)
	fmt.Fprintln(first, "trace 600")
	fmt.Fprintln(first, "stop")
	if text, err := ask(t, first, "hello"); err != nil || !strings.HasPrefix(text, "go 1.") {
		t.Fatalf("trace: %.20q, %v", text, err)
	}
	if text, err := ask(t, first, "metrics brief"); err != nil || !strings.Contains(text, "go "+runtime.Version()) {
		t.Errorf("the answer to hello after it: %.40q, %v", text, err)
	}

	ours, theirs := net.Pipe()
	gone := make(chan struct{})
	go func() { dynoProbeNew().serve(theirs); close(gone) }()
	if _, err := ask(t, bufio.NewReadWriter(bufio.NewReader(ours), bufio.NewWriter(ours)), "cpu start"); err != nil {
		t.Fatal(err)
	}
	ours.Close()
	<-gone
	if _, err := ask(t, dial(t), "cpu start"); err != nil {
		t.Errorf("after the connection went away: %v", err)
	}
}

// Every line of "metrics exact" has a name, a kind and values that parse.
func TestMetricsFormat(t *testing.T) {
	body, err := ask(t, dial(t), "metrics exact")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "time u ") {
		t.Errorf("first line %q", lines[0])
	}
	for _, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[1] == "u":
			_, err = strconv.ParseUint(f[2], 10, 64)
		case len(f) == 3 && f[1] == "f":
			_, err = strconv.ParseFloat(f[2], 64)
		case len(f) >= 2 && f[1] == "h":
			for _, bucket := range f[2:] {
				var lo, hi float64
				var n uint64
				_, err = fmt.Sscanf(strings.ReplaceAll(bucket, ",", " "), "%g %g %d", &lo, &hi, &n)
				if err == nil && (lo >= hi || n == 0) {
					err = fmt.Errorf("bucket %s", bucket)
				}
			}
		default:
			err = fmt.Errorf("%d fields", len(f))
		}
		if err != nil || strings.HasPrefix(line, "/godebug/") {
			t.Errorf("line %q: %v", line, err)
		}
	}
}

// The probe is not to be seen in the service's own allocations.
func TestMetricsAllocateNothing(t *testing.T) {
	c := dynoProbeNew()
	for _, command := range []string{"metrics brief", "metrics exact"} {
		line := []byte(command)
		c.answer(line)
		if n := testing.AllocsPerRun(100, func() { c.body = c.body[:0]; c.answer(line) }); n > 1 {
			t.Errorf("%s allocates %v times", command, n)
		}
	}
	if !bytes.Contains(c.body, []byte("/gc/cycles/total:gc-cycles u ")) {
		t.Error("no metrics")
	}
}

var sink []*[64]byte

// A few allocations are counted at once, not when their span is full: the
// difference of two exact readings is what was allocated between them.
func TestExactCountsAllocations(t *testing.T) {
	rw := dial(t)
	objects := func() int {
		text, err := ask(t, rw, "metrics exact")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(line, "/gc/heap/allocs:objects u "); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		t.Fatal("no count of objects")
		return 0
	}
	objects()
	for _, n := range []int{20, 200, 1000} {
		sink = make([]*[64]byte, 0, n)
		before := objects()
		for range n {
			sink = append(sink, new([64]byte))
		}
		// The test's own reading of the answer allocates some, too.
		if got := objects() - before; got < n || got > n+100 {
			t.Errorf("%d objects were allocated and %d counted", n, got)
		}
	}
}

// When collections ended is told once for each, also of more than the 256 that
// the runtime remembers, and without allocating.
func TestEnds(t *testing.T) {
	c := dynoProbeNew()
	ends := func(after int64) (ns []int64) {
		c.body = c.body[:0]
		if err := c.answer(fmt.Appendf(nil, "gcends %d", after)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(c.body)) {
			var n, at, live int64
			if _, err := fmt.Sscanf(line, "%d %d %d\n", &n, &at, &live); err != nil || n != after+1 {
				t.Fatalf("line %q after cycle %d: %v", line, after, err)
			}
			after, ns = n, append(ns, at)
		}
		return ns
	}
	runtime.GC()
	ends(0)
	before := dynoProbeEnds.last
	for i := range 400 {
		runtime.GC()
		if i%64 == 0 { // as the finalizer does
			dynoProbeEnds.Lock()
			dynoProbeKeepEnds()
			dynoProbeEnds.Unlock()
		}
	}
	got := ends(before)
	if len(got) < 400 {
		t.Errorf("%d ends of 400 collections", len(got))
	}
	if last := got[len(got)-1]; !slices.IsSorted(got) || last != dynoProbeEnds.stats.LastGC.UnixNano() {
		t.Error("not in order, or not up to the last")
	}
	line := []byte("gcends 1")
	if n := testing.AllocsPerRun(100, func() { c.body = c.body[:0]; c.answer(line) }); n > 0 {
		t.Errorf("allocates %v times", n)
	}
	if err := c.answer([]byte("gcends x")); err == nil {
		t.Error("no error")
	}
}

// BenchmarkTick is what the probe does at each collection but for the
// finalizer's registration, BenchmarkKeepEnds what it does at each 64th.
func BenchmarkTick(b *testing.B) {
	for b.Loop() {
		dynoProbeKeepLive()
		dynoProbeTicks++
		if dynoProbeTicks%64 == 0 {
			dynoProbeKeepEnds()
		}
	}
}

func BenchmarkKeepEnds(b *testing.B) {
	for range 300 {
		runtime.GC()
	}
	b.ReportAllocs()
	for b.Loop() {
		dynoProbeEnds.last -= 64
		dynoProbeKeepEnds()
	}
}

func BenchmarkEnds1000(b *testing.B) {
	for i := range 1200 {
		runtime.GC()
		if i%64 == 0 {
			dynoProbeKeepEnds()
		}
	}
	c := dynoProbeNew()
	line := fmt.Appendf(nil, "gcends %d", dynoProbeEnds.last-1000)
	b.ReportAllocs()
	for b.Loop() {
		c.body = c.body[:0]
		c.answer(line)
	}
}

// Each collection adds what it found live.
func TestLiveOfEachCollection(t *testing.T) {
	dynoProbeArm(true)
	if n := collect(3); n < 3 || n > 7 {
		t.Errorf("of 6 collections %d were seen", n)
	}
	if dynoProbeLiveSum.Load()/dynoProbeLiveCount.Load() < 10_000 {
		t.Errorf("live heap of %d bytes", dynoProbeLiveSum.Load()/dynoProbeLiveCount.Load())
	}
	// The latest is told with its number, and to the byte.
	c := dynoProbeNew()
	dynoProbeKeepLive()
	if err := c.answer([]byte("gcends 0")); err != nil {
		t.Fatal(err)
	}
	live := dynoProbeLive[1].Value.Uint64()
	if want := fmt.Sprintf(" %d\n", live); !strings.HasPrefix(lastLine(c.body), fmt.Sprint(dynoProbeLive[0].Value.Uint64(), " ")) || !strings.HasSuffix(lastLine(c.body), want) {
		t.Errorf("last line %q, want cycle %d and%s", lastLine(c.body), dynoProbeLive[0].Value.Uint64(), want)
	}
	if n := testing.AllocsPerRun(100, dynoProbeKeepLive); n > 0 {
		t.Errorf("keeping it allocates %v times", n)
	}
}

// collect runs 2n collections, and says how many were seen: one of each two at least, for the first of two runs the
// finalizer, which the second may find before it is set again.
func collect(n int) uint64 {
	before := dynoProbeLiveCount.Load()
	for range n {
		runtime.GC()
		ran := make(chan bool)
		runtime.SetFinalizer(new(*int), func(**int) { close(ran) }) // one goroutine runs all of them
		runtime.GC()
		<-ran
	}
	return dynoProbeLiveCount.Load() - before
}

func lastLine(b []byte) (last string) {
	for line := range strings.Lines(string(b)) {
		last = line
	}
	return last
}

// What is set takes effect, and the answer is what it was.
func TestSet(t *testing.T) {
	rw := dial(t)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64)) // also of a test that GOMEMLIMIT bounds
	for _, test := range []struct{ command, want string }{
		{"set gogc 37", "100"},
		{"set gogc off", "37"},
		{"set gogc 100", "-1"},
		{"set memlimit 1073741824", "9223372036854775807"},
		{"set memlimit off", "1073741824"},
		{"set procs " + strconv.Itoa(runtime.GOMAXPROCS(0)), strconv.Itoa(runtime.GOMAXPROCS(0))},
	} {
		if got, err := ask(t, rw, test.command); err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.command, got, err, test.want)
		}
	}
}

// Turned off, no collection is read; turned on again, each is, once.
func TestTickOffAndOn(t *testing.T) {
	rw := dial(t)
	set := func(v string) {
		t.Helper()
		if _, err := ask(t, rw, "set tick "+v); err != nil {
			t.Fatal(err)
		}
	}
	set("off")
	collect(1)
	if n := collect(3); n != 0 {
		t.Errorf("%d collections were read while it was off", n)
	}
	set("on")
	set("off")
	set("on")
	if n := collect(3); n < 3 || n > 7 {
		t.Errorf("of 6 collections %d were read", n)
	}
}
