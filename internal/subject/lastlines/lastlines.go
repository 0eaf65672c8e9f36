// Package lastlines keeps the last lines of what a program wrote.
package lastlines

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
)

const (
	mostLines = 20
	lineWidth = 500 // bytes of a line; the rest is cut off
)

// Lines keeps the last lines of an output and passes everything on. It does not keep lines of the GC trace.
// After a panic it keeps the first lines, not the dump of a thousand goroutines.
type Lines struct {
	next io.Writer // may be nil

	mu    sync.Mutex
	line  []byte // not ended yet
	torn  []byte // a line of the GC trace that other text came into
	lines [][]byte
	room  int // lines that are still kept after a panic
	panic bool
}

// New returns Lines that pass everything on to next.
func New(next io.Writer) *Lines {
	return &Lines{next: next, line: make([]byte, 0, lineWidth), torn: make([]byte, 0, lineWidth)}
}

// Write takes one write(2) of the program, or text as it comes. It allocates nothing in the long run: it is called
// for every few bytes of the GC trace.
func (t *Lines) Write(p []byte) (int, error) {
	t.mu.Lock()
	if t.interrupts(p) {
		t.torn, t.line = append(t.torn[:0], t.line...), t.line[:0]
		t.take(p)
		t.line = append(t.line, t.torn...)
	} else {
		t.take(p)
	}
	t.mu.Unlock()
	if t.next != nil {
		return t.next.Write(p)
	}
	return len(p), nil
}

// interrupts reports whether p is whole lines of the program's own that came between two pieces of a line of the GC
// trace. Without that, a service's last words are lost if it ends in its first collection. The runtime ends such a
// line with a newline alone (runtime/mgc.go); where writes are merged, a few words are before it.
func (t *Lines) interrupts(p []byte) bool {
	return bytes.HasPrefix(t.line, []byte("gc ")) && len(p) > 1 && p[len(p)-1] == '\n' &&
		!bytes.HasSuffix(p, []byte(" P\n")) && !bytes.HasSuffix(p, []byte(" (forced)\n"))
}

func (t *Lines) take(p []byte) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		part := rest
		if i >= 0 {
			part = rest[:i]
		}
		t.line = append(t.line, part[:min(len(part), lineWidth-len(t.line))]...)
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		t.endLine()
	}
}

func (t *Lines) endLine() {
	line := t.line
	t.line = t.line[:0]
	at := dying(line)
	if at > 0 && traceLine(line) { // the runtime writes a trace line in pieces, and this came between two
		line = line[at:]
	}
	if len(line) == 0 || traceLine(line) {
		return
	}
	if dying(line) == 0 {
		t.panic, t.room = true, mostLines*3/4
	}
	if t.panic {
		if t.room == 0 {
			return
		}
		t.room--
	}
	var room []byte // of the oldest line: a service may write one for each request
	if len(t.lines) == mostLines {
		room = t.lines[0][:0]
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, append(room, line...))
}

// dying returns where in a line the message of a dying program begins, -1 if there is none.
func dying(line []byte) int {
	for _, message := range [][]byte{[]byte("panic: "), []byte("fatal error: ")} {
		if i := bytes.Index(line, message); i >= 0 {
			return i
		}
	}
	return -1
}

// traceLine recognizes lines of gctrace and gcpacertrace.
func traceLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("pacer: ")) ||
		bytes.HasPrefix(line, []byte("gc ")) && bytes.Contains(line, []byte("%: ")) ||
		bytes.HasPrefix(line, []byte("gc ")) && bytes.Contains(line, []byte(" ms clock, "))
}

// String returns the kept lines with an indent, tamed.
func (t *Lines) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, line := range t.lines {
		b.WriteString("\n\t" + string(line))
	}
	// Who is killed may leave half a line of the trace, which has no telling mark yet.
	if len(t.line) > 0 && !traceLine(t.line) && !bytes.HasPrefix(t.line, []byte("gc ")) {
		b.WriteString("\n\t" + string(t.line))
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '·' // it may be a terminal's
	}, strings.TrimPrefix(b.String(), "\n"))
}
