package published

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errTorn is of text that is not the JSON that is expected.
var errTorn = errors.New("the text is not whole JSON")

// An object reads the members of a JSON object, one after the other. It looks no
// deeper than it must to find where a value ends: package encoding/json goes over a
// page of expvar, of which most is arrays that nobody wants, three times, and that
// was half of what a page cost dyno. A value that it takes may be no JSON.
type object struct {
	text []byte // what is left
	any  bool   // a member was read
}

// newObject begins with the opening brace.
func newObject(text []byte) (object, bool) {
	text = bytes.TrimLeft(text, space)
	if len(text) == 0 || text[0] != '{' {
		return object{}, false
	}
	return object{text: text[1:]}, true
}

const space = " \t\r\n"

// next returns the next member, its value as it is written; no key at the end.
func (o *object) next() (key string, value []byte, err error) {
	o.text = bytes.TrimLeft(o.text, space)
	if len(o.text) > 0 && o.text[0] == '}' {
		return "", nil, nil
	}
	if o.any {
		if !o.has(',') {
			return "", nil, errTorn
		}
	}
	o.any = true
	n := quoted(o.text)
	if n == 0 {
		return "", nil, errTorn
	}
	written := o.text[:n]
	if o.text = o.text[n:]; bytes.IndexByte(written, '\\') < 0 {
		key = string(written[1 : n-1])
	} else if json.Unmarshal(written, &key) != nil {
		return "", nil, errTorn
	}
	if !o.has(':') {
		return "", nil, errTorn
	}
	n = valueEnd(o.text)
	if n == 0 {
		return "", nil, errTorn
	}
	value, o.text = bytes.TrimRight(o.text[:n], space), o.text[n:]
	return key, value, nil
}

// has takes a character and the space around it.
func (o *object) has(c byte) bool {
	o.text = bytes.TrimLeft(o.text, space)
	if len(o.text) == 0 || o.text[0] != c {
		return false
	}
	o.text = bytes.TrimLeft(o.text[1:], space)
	return true
}

// quoted is the length of the string that text begins with, quotes included; 0 if
// there is none.
func quoted(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// valueEnd is where the value that text begins with ends; 0 if it does not.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := quoted(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return 0
}
