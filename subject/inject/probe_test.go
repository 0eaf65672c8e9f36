package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
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
		{"hello", "go " + runtime.Version() + "\npid "},
		{"metrics", "\n/gc/heap/allocs:bytes u "},
		{"metrics", "\n/sched/latencies:seconds h"},
		{"metrics", "\ncpu/user:seconds f "},
		{"metrics exact", "\n/sched/latencies:seconds h"},
		{"metrics brief", "\n/gc/cycles/total:gc-cycles u "},
		{"gc", ""},
		{"free", ""},
		{"memstats", "\nHeapAlloc "},
		{"gcstats", "\npause "},
		{"profile goroutine 1", "goroutine profile: total "},
		{"profile heap", "\x1f\x8b"},
		{"cpu 0.02", "\x1f\x8b"},
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
		{"profile nosuch", `unknown profile "nosuch"`},
		{"profile", "no name"},
		{"cpu x", "seconds"},
		{"cpu stop", "no CPU profile was started"},
		{"trace -1", "seconds"},
		{"set mutex", "want set NAME VALUE"},
		{"set mutex much", "invalid syntax"},
		{"set nosuch 1", `unknown knob "nosuch"`},
		{"frobnicate", `unknown command "frobnicate"`},
		{"", "no command"},
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

// Every line of "metrics" has a name, a kind and values that parse.
func TestMetricsFormat(t *testing.T) {
	body, err := ask(t, dial(t), "metrics")
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

// Each collection adds what it found live.
func TestLiveOfEachCollection(t *testing.T) {
	dynoProbeTick(&dynoProbeSentinel{})
	before := dynoProbeLiveCount.Load()
	for i := uint64(1); i <= 3; i++ {
		runtime.GC()
		for range 1000 { // until the finalizer has run
			if dynoProbeLiveCount.Load() >= before+i {
				break
			}
			runtime.Gosched()
			time.Sleep(time.Millisecond)
		}
	}
	if n := dynoProbeLiveCount.Load() - before; n < 3 {
		t.Errorf("%d of 3 collections were seen", n)
	}
	if dynoProbeLiveSum.Load()/dynoProbeLiveCount.Load() < 10_000 {
		t.Errorf("live heap of %d bytes", dynoProbeLiveSum.Load()/dynoProbeLiveCount.Load())
	}
}
