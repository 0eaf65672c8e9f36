package progress

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/report/layout"
)

// own are the sequences that dyno itself sends to a terminal: [layout.Paint] and [Line].
var own = []string{"\r\x1b[K", "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"}

// A Tamer stands before standard output and standard error, so that nothing that a subject, a
// plan or a file says does something to the terminal: not its colours, title, clipboard or
// earlier lines. It replaces control characters but for dyno's own.
type Tamer struct {
	mu   sync.Mutex
	to   io.Writer
	own  []string
	rest []byte // a rune or sequence that is not whole yet
}

// Tame lets dyno's own sequences through if w is a terminal.
func Tame(w io.Writer) *Tamer {
	t := &Tamer{to: w}
	if width, color := Terminal(w); width > 0 || color {
		t.own = own
	}
	return t
}

// FileOf returns the file behind a writer, or nil.
func FileOf(w io.Writer) *os.File {
	f, _ := Raw(w).(*os.File)
	return f
}

// Raw is what a writer writes to, for what is no text.
func Raw(w io.Writer) io.Writer {
	if t, ok := w.(*Tamer); ok {
		return t.to
	}
	return w
}

// Write implements io.Writer.
func (t *Tamer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) == 0 && !bytes.ContainsFunc(p, func(r rune) bool { return r == utf8.RuneError || layout.Tamed(r) != r }) {
		return t.to.Write(p)
	}
	in, out := append(t.rest, p...), make([]byte, 0, len(t.rest)+len(p))
	for len(in) > 0 {
		n, whole := t.ours(in)
		if !whole {
			break
		}
		if n > 0 {
			out, in = append(out, in[:n]...), in[n:]
			continue
		}
		r, n := utf8.DecodeRune(in)
		if r == utf8.RuneError && n == 1 && in[0] >= 0xa0 { // below it are the control characters of terminals without UTF-8
			out = append(out, in[0])
		} else if r == utf8.RuneError && n == 1 {
			out = append(out, "·"...)
		} else {
			out = utf8.AppendRune(out, layout.Tamed(r))
		}
		in = in[n:]
	}
	t.rest = bytes.Clone(in)
	_, err := t.to.Write(out)
	return len(p), err
}

// ours returns the length of what the text begins with and is left as it is, 0 if nothing is; whole
// is false if the next bytes decide.
func (t *Tamer) ours(text []byte) (n int, whole bool) {
	switch {
	case bytes.HasPrefix(text, []byte("\r\n")):
		return 2, true
	case string(text) == "\r", !utf8.FullRune(text):
		return 0, false
	}
	for _, s := range t.own {
		if bytes.HasPrefix(text, []byte(s)) {
			return len(s), true
		}
		if strings.HasPrefix(s, string(text[:min(len(text), len(s))])) {
			return 0, false
		}
	}
	return 0, true
}
