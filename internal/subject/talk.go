package subject

import (
	"bytes"
	"strings"
)

// A talk takes what the go command writes to standard error, and tells what it does: "compiling PACKAGE",
// which go build -v says with the name alone, or "downloading MODULE VERSION". Names of packages are no
// part of an error, and are left out of what is kept.
type talk struct {
	kept bytes.Buffer
	line []byte
	tell func(step string)
}

func (t *talk) Write(p []byte) (int, error) {
	for _, c := range p {
		if t.line = append(t.line, c); c == '\n' {
			t.end()
		}
	}
	return len(p), nil
}

// end takes a line, also the last if it has no end.
func (t *talk) end() {
	text := strings.TrimSpace(string(t.line))
	switch module, ok := strings.CutPrefix(text, "go: downloading "); {
	case ok:
		t.tell("downloading " + module)
		t.kept.Write(t.line)
	case text != "" && !strings.ContainsAny(text, " \t:#"):
		t.tell("compiling " + text)
	default:
		t.kept.Write(t.line)
	}
	t.line = t.line[:0]
}

func (t *talk) String() string {
	t.end()
	return t.kept.String()
}
