package unwrap

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
)

// messageNames are the fields in which a JSON object of a log has the text of a line: docker's json-file (log), journald
// (MESSAGE), zap, slog and pino (msg), zerolog, logrus and Elastic's schema (message), Google Cloud (textPayload), go test -json (Output).
var messageNames = []string{"log", "MESSAGE", "msg", "message", "textPayload", "Output"}

// deepest is how often a line may be inside of another.
const deepest = 4

// Line returns the innermost text of a line, without its end. A line that is not wrapped is returned as it is. ok is false if it is a
// JSON object without a text.
func Line(line []byte) (inner []byte, ok bool) {
	for range deepest {
		next, object := message(line)
		if !object {
			return line, true
		}
		if next == nil {
			return line, false
		}
		line = bytes.TrimRight(next, "\r\n")
	}
	return line, true
}

// Message returns the text in a JSON object of a log; ok is false if line is none, or has no text.
func Message(line []byte) (text []byte, ok bool) {
	text, _ = message(line)
	return text, text != nil
}

// message is the text in a JSON object; object reports whether the line is one.
func message(line []byte) (text []byte, object bool) {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return nil, false
	}
	for _, name := range messageNames {
		if text, ok := str(fields[name]); ok {
			return text, true
		}
	}
	return nil, true
}

// str is a JSON string, or an array of bytes as journald writes what is not UTF-8.
func str(v json.RawMessage) ([]byte, bool) {
	if len(v) == 0 {
		return nil, false
	}
	switch v[0] {
	case '"':
		var s string
		if json.Unmarshal(v, &s) == nil {
			return []byte(s), true
		}
	case '[':
		var numbers []uint8
		var raw []json.Number
		if json.Unmarshal(v, &raw) != nil {
			return nil, false
		}
		for _, n := range raw {
			x, err := n.Int64()
			if err != nil || x < 0 || x > 255 {
				return nil, false
			}
			numbers = append(numbers, byte(x))
		}
		return numbers, len(numbers) > 0
	}
	return nil, false
}

// Lines returns what is inside of each line of r, and lines that are not wrapped as they are. Pieces of one line are put together
// again: those of docker, which splits lines of more than 16 KiB, and those of the events of go test -json, which belong together by
// package and test. Bytes of r that are no JSON pass through unchanged, in the same order.
func Lines(r io.Reader) io.Reader { return &lines{in: r, pieces: map[string][]byte{}} }

type lines struct {
	in     io.Reader
	err    error
	have   []byte // read, and not yet looked at
	out    []byte // to be returned
	at     int    // in out
	plain  bool   // a line that is no JSON object has begun, and passes through
	pieces map[string][]byte
}

// mostLine is the longest line that is looked into, in bytes.
const mostLine = 1 << 20

func (l *lines) Read(p []byte) (int, error) {
	for l.at == len(l.out) {
		l.out, l.at = l.out[:0], 0
		if l.err != nil {
			if l.flush(); len(l.out) > 0 {
				break
			}
			return 0, l.err
		}
		l.fill(max(len(p), bufferSize))
	}
	n := copy(p, l.out[l.at:])
	l.at += n
	return n, nil
}

// fill reads more, and unwraps the lines that are whole.
func (l *lines) fill(size int) {
	from := len(l.have)
	l.have = append(l.have, make([]byte, size)...)
	n, err := l.in.Read(l.have[from:])
	l.have, l.err = l.have[:from+n], err
	text := l.have
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		begins := !l.plain && text[0] == '{'
		switch {
		case !begins && end == 0:
			l.plain = true
			l.out, text = append(l.out, text...), nil
			continue
		case end == 0 && err == nil && len(text) < mostLine:
			l.have = l.have[:copy(l.have, text)]
			return
		case end == 0:
			end = len(text)
		}
		if begins {
			l.line(text[:end])
		} else {
			l.out = append(l.out, text[:end]...)
		}
		l.plain = text[end-1] != '\n'
		text = text[end:]
	}
	l.have = l.have[:0]
}

// actions are those of go test -json (go doc test2json). An event of another kind is a line of a program.
var actions = []string{"start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "attr", "build-output", "build-fail"}

// line unwraps a line that begins as a JSON object does.
func (l *lines) line(line []byte) {
	var event struct {
		Action, Package, Test string
		Output                *string
		Log                   *string `json:"log"`
		Stream                string  `json:"stream"`
	}
	trimmed := bytes.TrimSpace(line)
	ok := json.Unmarshal(trimmed, &event) == nil // else fields of these names are of other kinds
	switch {
	case ok && slices.Contains(actions, event.Action) && event.Package != "":
		if event.Output != nil {
			l.piece("go test "+event.Package+" "+event.Test, *event.Output)
		}
	case ok && event.Log != nil && !json.Valid(bytes.TrimSpace([]byte(*event.Log))):
		l.piece("docker "+event.Stream, *event.Log)
	default:
		if inner, ok := Line(trimmed); ok && !bytes.Equal(inner, trimmed) {
			line = append(bytes.Clone(inner), '\n')
		}
		l.out = append(l.out, line...)
	}
}

// piece adds a piece of a line, which ends where it has an end.
func (l *lines) piece(of, text string) {
	if before := l.pieces[of]; len(before) > 0 || !strings.HasSuffix(text, "\n") {
		before = append(before, text...)
		l.pieces[of] = before
		if !strings.HasSuffix(text, "\n") && len(before) < mostLine {
			return
		}
		l.out = append(l.out, before...)
		delete(l.pieces, of)
		return
	}
	l.out = append(l.out, text...)
}

// flush gives out the pieces of lines that never ended.
func (l *lines) flush() {
	for _, of := range slices.Sorted(maps.Keys(l.pieces)) {
		l.out = append(append(l.out, l.pieces[of]...), '\n')
	}
	clear(l.pieces)
}
