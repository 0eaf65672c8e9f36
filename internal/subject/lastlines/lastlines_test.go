package lastlines

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynolab/dyno/gctrace"
)

func TestTail(t *testing.T) {
	var next bytes.Buffer
	w := New(&next)
	all := ""
	for _, s := range []string{
		"gc 1 @0.1s 2%: 0.1+0.2+0.3 ms clock, 1 P\n", "pacer: sweep done\n",
		"one\ntw", "o\n\n", "three",
	} {
		all += s
		io.WriteString(w, s)
	}
	half := New(nil)
	if io.WriteString(half, "one\ngc 3 @0.071"); half.String() != "\tone" {
		t.Errorf("half a line of the trace is kept: %q", half)
	}
	if got, want := w.String(), "\tone\n\ttwo\n\tthree"; got != want || next.String() != all {
		t.Errorf("tail %q, want %q; passed on %q", got, want, &next)
	}
	io.WriteString(w, "\npanic: oh\n")
	for i := range 1000 {
		io.WriteString(w, "goroutine "+strconv.Itoa(i)+"\n")
	}
	if got := w.String(); !strings.Contains(got, "\tpanic: oh\n\tgoroutine 0\n") {
		t.Errorf("the panic is lost in %q", got)
	}
	torn := New(nil)
	if io.WriteString(torn, "gc 3 @0.071s 2%: 0.1+panic: oh\n0.2+0.3 ms clock, 1 P\n"); !strings.HasPrefix(torn.String(), "\tpanic: oh\n") {
		t.Errorf("a panic within a line of the trace is lost in %q", torn)
	}
	for range 2 * mostLines {
		io.WriteString(half, " it had lines\n")
	}
	line := []byte(" GET / 200\n")
	if n := testing.AllocsPerRun(100, func() { half.Write(line) }); n > 0 {
		t.Errorf("a line allocates %v times", n)
	}
	packet := []byte("0.013")
	if n := testing.AllocsPerRun(100, func() { next.Reset(); w.Write(packet) }); n > 0 {
		t.Errorf("a packet allocates %v times", n)
	}
}

// Behind a Splitter no line of the log is lost where it came between two pieces of a line of the trace, or where writes were merged and cut,
// and no piece of the trace is taken for one.
func TestParted(t *testing.T) {
	trace := []string{"gc ", "1", " @", "0.071", "s ", "2", "%: ", "0.013", "+", "0.42", "+", "0.011", " ms clock, ", "0.027", "+", "0.11", "/", "0.21", "/", "0.35", "+", "0.022", " ms cpu, ",
		"4", "->", "4", "->", "1", " MB, ", "4", " MB goal, ", "0", " MB stacks, ", "0", " MB globals, ", "2", " P", "\n"}
	kept := func(writes ...string) string {
		w := New(gctrace.NewSplitter(io.Discard, io.Discard))
		for _, s := range writes {
			io.WriteString(w, s)
		}
		return w.String()
	}
	for i := range len(trace) {
		for _, last := range []string{"no database (db:5432)\n", "cannot listen on port P\n", "no database"} {
			if got, want := kept(append(slices.Clone(trace[:i]), last)...), "\t"+strings.TrimSuffix(last, "\n"); got != want {
				t.Errorf("%q after %d pieces: %q is kept", last, i, got)
			}
		}
		within := append(append(slices.Clone(trace[:i]), "no database (db:5432)\n"), trace[i:]...)
		if got := kept(within...); got != "\tno database (db:5432)" {
			t.Errorf("a line after %d pieces: %q is kept", i, got)
		}
	}
	whole := strings.Join(trace, "")
	stream := "starting\n" + whole + "listening\n" + whole + whole + "no database\n" + whole
	for cut := range len(stream) {
		if got := kept(stream[:cut], stream[cut:]); got != "\tstarting\n\tlistening\n\tno database" {
			t.Errorf("cut at %d: %q is kept", cut, got)
		}
	}
}
