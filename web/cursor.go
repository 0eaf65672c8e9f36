package web

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A cursor goes once through JSON and decodes only what it is asked for. Of a
// summary that is a hundredth; encoding/json would take five times as long for all of
// it, and a list of runs reads hundreds. What is skipped is not checked: whoever
// opens the run reads it properly.
type cursor struct {
	data []byte
	at   int
	err  error // the first; nothing is read after it
}

var errCursor = errors.New("it is no JSON, or cut off")

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err, c.at = err, len(c.data)
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (c *cursor) next() byte {
	for c.at < len(c.data) {
		switch b := c.data[c.at]; b {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// take steps over a byte that has to be next.
func (c *cursor) take(b byte) {
	if c.next() != b {
		c.fail(errCursor)
		return
	}
	c.at++
}

// object calls each for the members of an object. It has to read the value: by
// object, array, decode or skip.
func (c *cursor) object(each func(key string)) {
	c.take('{')
	for first := true; c.err == nil && c.next() != '}'; first = false {
		if !first {
			c.take(',')
		}
		key := ""
		c.decode(&key)
		if c.take(':'); c.err == nil {
			each(key)
		}
	}
	c.take('}')
}

// array calls each for the elements of an array, as object does.
func (c *cursor) array(each func()) {
	c.take('[')
	for first := true; c.err == nil && c.next() != ']'; first = false {
		if !first {
			c.take(',')
		}
		if c.err == nil {
			each()
		}
	}
	c.take(']')
}

// decode reads a value.
func (c *cursor) decode(v any) {
	raw := c.skip()
	if s, ok := v.(*string); ok && len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		*s = string(bytes.ToValidUTF8(raw[1:len(raw)-1], []byte("\uFFFD")))
		return
	}
	if c.err == nil {
		if err := json.Unmarshal(raw, v); err != nil {
			c.fail(err)
		}
	}
}

// skip steps over a value and returns its text.
func (c *cursor) skip() []byte {
	c.next()
	from, depth := c.at, 0
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case '"':
			c.quoted()
		case '{', '[':
			depth++
			c.at++
			continue
		case '}', ']':
			if depth == 0 { // of what is around the value
				return c.value(from)
			}
			depth--
			c.at++
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return c.value(from)
			}
			c.at++
			continue
		default:
			c.at++
			continue
		}
		if depth == 0 {
			return c.value(from)
		}
	}
	c.fail(errCursor)
	return nil
}

func (c *cursor) value(from int) []byte {
	if c.at == from {
		c.fail(errCursor)
		return nil
	}
	return c.data[from:c.at]
}

// quoted steps over a string.
func (c *cursor) quoted() {
	c.at++
	for {
		i := bytes.IndexByte(c.data[c.at:], '"')
		if i < 0 {
			c.fail(errCursor)
			return
		}
		c.at += i + 1
		slashes := 0
		for c.data[c.at-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return
		}
	}
}
