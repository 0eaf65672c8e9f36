package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	monthFile = "2006-01.jsonl" // layout of the name of a file, by the time of its lines
	mostBytes = 64 << 20        // of a file: more than anybody measures in a month
)

// isLines reports whether a file may have lines: those of a month, or of a ledger that was copied beside it.
func isLines(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, ".")
}

// timeOf returns the time of a line, in UTC. The error says why it is no line.
func timeOf(line []byte) (time.Time, error) {
	if !json.Valid(line) {
		return time.Time{}, errors.New("it is no JSON")
	}
	text := member(line, `"at"`)
	if text == nil {
		return time.Time{}, errors.New(`it has no time (want a JSON object with "at": "2026-11-21T10:00:00Z")`)
	}
	var at time.Time
	if err := at.UnmarshalText(text); err != nil {
		return time.Time{}, fmt.Errorf(`"at" is no time of RFC 3339: %s`, text)
	}
	if at = at.UTC(); at.Year() < 0 || at.Year() > 9999 {
		return time.Time{}, fmt.Errorf(`the year of "at" is none of UTC: %s`, text)
	}
	return at, nil
}

// member returns the first member of an object that is a string without escapes, by its key in quotes. The object is
// valid JSON. Note: encoding/json takes eight times as long, most of a second for all lines of some years.
func member(object []byte, key string) []byte {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	depth, found := 0, false
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if found && depth == 1 {
				return nil // the value is no string
			}
		case '"':
			begin := i
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
			if depth != 1 {
				continue
			}
			if found {
				return object[begin+1 : i]
			}
			rest := bytes.TrimLeft(object[i+1:], " \t\r\n")
			found = rest[0] == ':' && string(object[begin:i+1]) == key
		}
	}
	return nil
}

// union returns the text of a file with more lines, sorted, and how many of them are new. A broken line stays, as a person
// may be able to mend it; it goes to the beginning.
func union(text []byte, more ...[]byte) (merged []byte, added int, err error) {
	type part struct {
		Line
		old bool
	}
	var all []part
	put := func(line []byte, old bool) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			at, _ := timeOf(line)
			all = append(all, part{Line{at, line}, old})
		}
	}
	for line := range bytes.Lines(text) {
		put(line, true)
	}
	for _, line := range more {
		put(line, false)
	}
	slices.SortStableFunc(all, func(a, b part) int { return compareLines(a.Line, b.Line) }) // of equal ones, the old one first
	var b bytes.Buffer
	for i, line := range all {
		if i > 0 && compareLines(line.Line, all[i-1].Line) == 0 {
			continue
		}
		b.Write(line.JSON)
		b.WriteByte('\n')
		if !line.old {
			added++
		}
	}
	if b.Len() > mostBytes {
		return nil, 0, fmt.Errorf("a month would have %d bytes (want at most %d)", b.Len(), mostBytes)
	}
	return b.Bytes(), added, nil
}
