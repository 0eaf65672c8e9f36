package lastlines

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
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
	last := New(nil)
	for _, packet := range []string{"gc 1 @0.1s 2%: ", "0.1", "no database (db:5432)\n", "+", "0.2", " ms clock, ", "1 P", "\n", "gc 2 @0.2s 2%: ", "bye\n"} {
		io.WriteString(last, packet)
	}
	if got := last.String(); got != "\tno database (db:5432)\n\tbye" {
		t.Errorf("of lines within lines of the trace, %q is kept", got)
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
