// Package jsonskip reads the parts of a JSON text that are asked for and skips the
// rest without checking it, several times as fast as encoding/json decodes all.
package jsonskip

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// A Cursor goes once through Data. Skipped values are not checked.
type Cursor struct {
	Data []byte
	At   int   // where the next value is
	Err  error // the first; nothing is read after it
}

// ErrSyntax says that the text is no JSON, or cut off.
var ErrSyntax = errors.New("it is no JSON, or cut off")

// Fail ends the reading with an error.
func (c *Cursor) Fail(err error) {
	if c.Err == nil {
		c.Err, c.At = err, len(c.Data)
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (c *Cursor) next() byte {
	for c.At < len(c.Data) {
		switch b := c.Data[c.At]; b {
		case ' ', '\n', '\r', '\t':
			c.At++
		default:
			return b
		}
	}
	return 0
}

// take steps over a byte that has to be next.
func (c *Cursor) take(b byte) {
	if c.next() != b {
		c.Fail(ErrSyntax)
		return
	}
	c.At++
}

// Object calls each for the members of an object. It has to read the value: by
// Object, Array, Decode or Skip.
func (c *Cursor) Object(each func(key string)) {
	c.take('{')
	for first := true; c.Err == nil && c.next() != '}'; first = false {
		if !first {
			c.take(',')
		}
		key := ""
		c.Decode(&key)
		if c.take(':'); c.Err == nil {
			each(key)
		}
	}
	c.take('}')
}

// Array calls each for the elements of an array, as Object does.
func (c *Cursor) Array(each func()) {
	c.take('[')
	for first := true; c.Err == nil && c.next() != ']'; first = false {
		if !first {
			c.take(',')
		}
		if c.Err == nil {
			each()
		}
	}
	c.take(']')
}

// Decode reads a value into v as json.Unmarshal does.
func (c *Cursor) Decode(v any) {
	raw := c.Skip()
	if s, ok := v.(*string); ok && len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		*s = string(raw[1 : len(raw)-1])
		return
	}
	if c.Err == nil {
		if err := json.Unmarshal(raw, v); err != nil {
			c.Fail(err)
		}
	}
}

// Skip steps over a value and returns its text, nil if it does not end.
func (c *Cursor) Skip() []byte {
	c.next()
	from, depth := c.At, 0
	for c.At < len(c.Data) {
		switch c.Data[c.At] {
		case '"':
			c.quoted()
		case '{', '[':
			depth++
			c.At++
			continue
		case '}', ']':
			if depth == 0 { // of what is around the value
				return c.value(from)
			}
			depth--
			c.At++
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return c.value(from)
			}
			c.At++
			continue
		default:
			c.At++
			continue
		}
		if depth == 0 {
			return c.value(from)
		}
	}
	c.Fail(ErrSyntax)
	return nil
}

func (c *Cursor) value(from int) []byte {
	if c.At == from {
		c.Fail(ErrSyntax)
		return nil
	}
	return c.Data[from:c.At]
}

// quoted steps over a string.
func (c *Cursor) quoted() {
	c.At++
	for {
		i := bytes.IndexByte(c.Data[c.At:], '"')
		if i < 0 {
			c.Fail(ErrSyntax)
			return
		}
		c.At += i + 1
		slashes := 0
		for c.Data[c.At-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return
		}
	}
}
