// Package lastlines keeps the last lines of what a program wrote.
package lastlines

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/dynolab/dyno/gctrace"
)

const (
	mostLines = 20
	lineWidth = 500 // bytes of a line; the rest is cut off
)

// Lines keeps the last lines of an output and passes everything on. It does not keep lines of the GC trace.
// After a panic it keeps the first lines, not the dump of a thousand goroutines.
type Lines struct {
	next   io.Writer // may be nil
	parted bool      // next has taken out the GC trace

	mu    sync.Mutex
	line  []byte // not ended yet
	lines [][]byte
	room  int // lines that are still kept after a panic
	panic bool
}

// New returns Lines that pass everything on to next. If that is a [*gctrace.Splitter], they keep lines of the program's log: the
// runtime writes a line of the trace in pieces, and what a service says last may come between them.
func New(next io.Writer) *Lines {
	t := &Lines{next: next, line: make([]byte, 0, lineWidth)}
	if s, ok := next.(*gctrace.Splitter); ok {
		t.parted = true
		s.Also(t.take)
	}
	return t
}

// Write allocates nothing in the long run: it is called for every few bytes of the GC trace.
func (t *Lines) Write(p []byte) (int, error) {
	if !t.parted {
		t.take(p)
	}
	if t.next != nil {
		return t.next.Write(p)
	}
	return len(p), nil
}

func (t *Lines) take(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
